import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type ReactNode } from 'react';
import { useTexts } from '../i18n/language.ts';
import { api, client } from '../lib/api.ts';
import { contentOf, hashOf } from '../lib/sealing.ts';
import { SecretDialog } from '../ui/secret.tsx';
import { HandOver } from './hand-over.tsx';

/** Shows a new secret of a webhook endpoint, once. */
export function EndpointSecret({
  issued: { id, url, secret = '' },
  onDone,
  children,
}: {
  readonly issued: {
    readonly id: string;
    readonly url: string;
    readonly secret?: string | undefined;
  };
  readonly onDone: () => void;
  readonly children?: ReactNode;
}) {
  const t = useTexts();
  const cache = useQueryClient();
  const [isHandedOver, setHandedOver] = useState(false);
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
      isHandedOver={isHandedOver}
    >
      {children}
      {secret !== '' && (
        <HandOver
          kind="endpoint"
          content={contentOf({ url, secret })}
          create={async (link) =>
            client.admin.endpointHandovers.create.mutate({
              ...link,
              endpoint_id: id,
              secret_hash: await hashOf(secret),
            })
          }
          onHandedOver={setHandedOver}
        />
      )}
    </SecretDialog>
  );
}
