import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { Button } from '../ui/button.tsx';
import { FormProblem } from '../ui/field.tsx';
import { useExplanation } from './delivery-table.tsx';

const LOOK_EVERY_MS = 700;

/** Sends a test event to an endpoint and shows its outcome as soon as it is known. */
export function WebhookTest({ endpointId }: { readonly endpointId: string }) {
  const t = useTexts();
  const format = useFormat();
  const explain = useExplanation();
  const cache = useQueryClient();
  const test = useMutation(api.v1.webhooks.testEndpoint.mutationOptions());
  const deliveryId = test.data?.delivery_id;
  const outcome = useQuery({
    ...api.admin.deliveries.get.queryOptions({ delivery_id: deliveryId ?? '' }),
    enabled: deliveryId !== undefined,
    refetchInterval: ({ state }) => (state.data && state.data.attempt > 0 ? false : LOOK_EVERY_MS),
  });
  const delivery = outcome.data;
  const isOver = delivery !== undefined && delivery.attempt > 0;
  useEffect(() => {
    // What stands below shows the test as it ended.
    if (isOver) void cache.invalidateQueries(api.admin.deliveries.pathFilter());
  }, [cache, isOver, deliveryId]);
  const isWaiting = test.isPending || (deliveryId !== undefined && !isOver);
  const arrived = delivery?.status === 'ok';
  return (
    <div className="test">
      <Button busy={isWaiting} onClick={() => test.mutate({ endpoint_id: endpointId })}>
        {t.webhooks.test}
      </Button>
      <FormProblem error={test.error} />
      <div role="status" className="test-outcome">
        {isWaiting && t.webhooks.testing}
        {isOver && (
          <p className={arrived ? 'notice good' : 'notice bad'}>
            {arrived
              ? t.webhooks.testArrived(format.number(delivery.response_ms ?? 0))
              : `${t.webhooks.testFailed} ${explain(delivery).what}`}
            <Link to="/deliveries/$deliveryId" params={{ deliveryId: delivery.id }}>
              {t.common.details}
            </Link>
          </p>
        )}
      </div>
    </div>
  );
}
