import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTexts } from '../i18n/language.ts';
import { api, type RouterInputs, type RouterOutputs } from '../lib/api.ts';
import { optimistic } from '../lib/optimistic.ts';
import { announce } from '../ui/notice.tsx';
import { withStatus } from './endpoint-changes.ts';

type EndpointList = RouterOutputs['v1']['webhooks']['listEndpoints'];
type Change = RouterInputs['v1']['webhooks']['updateEndpoint'];

/** Pauses an endpoint, or activates it. */
export function useStatusChange() {
  const t = useTexts();
  const cache = useQueryClient();
  return useMutation(
    api.v1.webhooks.updateEndpoint.mutationOptions({
      ...optimistic(
        () => api.v1.webhooks.listEndpoints.queryKey({}),
        (list: EndpointList, { endpoint_id, status }: Change): EndpointList =>
          withStatus(list, endpoint_id, status),
        () => announce(t.common.undone),
      ),
      onSuccess: (_saved, { status }) => {
        announce(status === 'active' ? t.webhooks.reactivated : t.webhooks.paused);
        void cache.invalidateQueries(api.admin.deliveries.pathFilter());
      },
    }),
  );
}
