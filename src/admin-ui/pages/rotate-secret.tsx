import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTexts } from '../i18n/language.ts';
import { api, client } from '../lib/api.ts';
import { useSecretMutation } from '../lib/once.ts';
import { Confirm } from '../ui/confirm.tsx';
import { SecretDialog } from '../ui/secret.tsx';
import { GraceChoice, GRACES } from './grace.tsx';

const OFFERED = ['hour', 'day', 'week', 'now'] as const;
type Offered = (typeof OFFERED)[number];

/** Replaces the secret of a webhook endpoint. For a while both sign. */
export function RotateSecret({
  endpointId,
  onClose,
}: {
  readonly endpointId: string;
  readonly onClose: () => void;
}) {
  const t = useTexts();
  const cache = useQueryClient();
  const [grace, setGrace] = useState<Offered>('day');
  const rotate = useSecretMutation({
    send: client.v1.webhooks.rotateSecret.mutate,
    onSuccess: () => cache.invalidateQueries(api.v1.webhooks.pathFilter()),
  });
  if (rotate.data)
    return (
      <SecretDialog
        title={t.webhooks.secretTitle}
        hint={t.webhooks.secretHint}
        secret={rotate.data.secret ?? ''}
        stored={t.webhooks.secretStored}
        whyNot={t.webhooks.secretWhyNot}
        onDone={onClose}
      />
    );
  return (
    <Confirm
      title={t.webhooks.rotate}
      hint={t.webhooks.rotateHint}
      action={t.webhooks.rotate}
      look="main"
      mutation={rotate}
      onConfirm={() => rotate.mutate({ endpoint_id: endpointId, grace_s: GRACES[grace] })}
      onClose={onClose}
    >
      <GraceChoice
        legend={t.webhooks.rotateGrace}
        offered={OFFERED}
        chosen={grace}
        onChoose={setGrace}
      />
    </Confirm>
  );
}
