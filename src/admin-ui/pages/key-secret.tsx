import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { tellEvent } from '../lib/host-port.ts';
import { SERVICE_PATH } from '../lib/shell.ts';
import { SandboxNote } from '../ui/band.tsx';
import { Copyable, SecretDialog } from '../ui/secret.tsx';

/** Shows a new API key, once. */
export function KeySecret({
  issued: { id, key: secret = '' },
  onDone,
}: {
  readonly issued: {
    readonly id: string;
    readonly key?: string | undefined;
  };
  readonly onDone: () => void;
}) {
  const t = useTexts();
  const cache = useQueryClient();
  const confirm = useMutation(
    api.admin.apiKeys.confirmStored.mutationOptions({
      onSuccess: async () => {
        await cache.invalidateQueries(api.admin.apiKeys.pathFilter());
      },
    }),
  );
  useEffect(() => tellEvent('key_created'), []);
  const url = `${window.location.origin}${SERVICE_PATH}/api/public/v1/me`;
  const curl = `curl -H 'Authorization: Bearer ${secret}' ${url}`;
  return (
    <SecretDialog
      title={t.keys.secretTitle}
      hint={t.keys.secretHint}
      secret={secret}
      stored={t.keys.secretStored}
      whyNot={t.keys.secretWhyNot}
      // Not if the dialog is gone by then: the reader is elsewhere.
      onDone={() => confirm.mutate({ key_id: id }, { onSuccess: onDone })}
      onClose={onDone}
      busy={confirm.isPending}
      error={confirm.error}
    >
      <SandboxNote>{t.sandbox.keysNote}</SandboxNote>
      <details>
        <summary>{t.keys.secretTry}</summary>
        <Copyable text={curl} label={t.keys.secretTry} />
      </details>
    </SecretDialog>
  );
}
