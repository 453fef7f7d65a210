import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTexts } from '../i18n/language.ts';
import { api, client } from '../lib/api.ts';
import { useSecretMutation } from '../lib/once.ts';
import { Confirm } from '../ui/confirm.tsx';
import { EndpointSecret } from './endpoint-secret.tsx';
import { isSecretUseless } from './endpoint-changes.ts';
import type { Endpoint } from './endpoint-name.ts';
import { GraceChoice } from './grace.tsx';
import { firstGrace, GRACES } from './graces.ts';

const OFFERED = ['hour', 'day', 'week', 'now'] as const;
type Offered = (typeof OFFERED)[number];

/** Replaces the secret of a webhook endpoint. For a while both sign, unless nobody has the old. */
export function RotateSecret({
  endpoint,
  isUnstored,
  onClose,
}: {
  readonly endpoint: Endpoint;
  /** Nobody has confirmed that they have stored the present secret. */
  readonly isUnstored: boolean;
  readonly onClose: () => void;
}) {
  const t = useTexts();
  const cache = useQueryClient();
  const [chosen, setChosen] = useState<Offered>();
  // Somebody may store the secret while this is open.
  const grace = chosen ?? firstGrace(OFFERED, isSecretUseless(endpoint, isUnstored));
  const rotate = useSecretMutation({
    send: client.v1.webhooks.rotateSecret.mutate,
    onSuccess: () =>
      Promise.all([
        cache.invalidateQueries(api.v1.webhooks.pathFilter()),
        cache.invalidateQueries(api.admin.deliveries.health.pathFilter()),
      ]),
  });
  if (rotate.data) return <EndpointSecret issued={rotate.data} onDone={onClose} />;
  return (
    <Confirm
      title={t.webhooks.rotate}
      hint={isUnstored ? t.webhooks.unstoredHint : t.webhooks.rotateHint}
      action={t.webhooks.rotate}
      look="main"
      mutation={rotate}
      onConfirm={() => rotate.mutate({ endpoint_id: endpoint.id, grace_s: GRACES[grace] })}
      onClose={onClose}
    >
      <GraceChoice
        legend={t.webhooks.rotateGrace}
        offered={OFFERED}
        chosen={grace}
        onChoose={setChosen}
      />
    </Confirm>
  );
}
