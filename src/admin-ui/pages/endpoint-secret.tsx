import { useMutation, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { SecretDialog } from '../ui/secret.tsx';

/** Shows a new secret of a webhook endpoint, once. */
export function EndpointSecret({
  issued: { id, secret = '' },
  onDone,
  children,
}: {
  readonly issued: {
    readonly id: string;
    readonly secret?: string | undefined;
  };
  readonly onDone: () => void;
  readonly children?: ReactNode;
}) {
  const t = useTexts();
  const cache = useQueryClient();
  const confirm = useMutation(
    api.admin.webhooks.confirmStored.mutationOptions({
      onSuccess: async () => {
        await cache.invalidateQueries(api.admin.deliveries.health.pathFilter());
      },
    }),
  );
  return (
    <SecretDialog
      title={t.webhooks.secretTitle}
      hint={t.webhooks.secretHint}
      secret={secret}
      stored={t.webhooks.secretStored}
      whyNot={t.webhooks.secretWhyNot}
      // Not if the dialog is gone by then: the reader is elsewhere.
      onDone={() => confirm.mutate({ endpoint_id: id, secret }, { onSuccess: onDone })}
      onClose={onDone}
      busy={confirm.isPending}
      error={confirm.error}
    >
      {children}
    </SecretDialog>
  );
}
