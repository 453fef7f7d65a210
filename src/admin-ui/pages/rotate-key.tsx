import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTexts } from '../i18n/language.ts';
import { api, client } from '../lib/api.ts';
import { useSecretMutation } from '../lib/once.ts';
import { Actions, Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { FormProblem } from '../ui/field.tsx';
import { useNextExpiry } from './expiry.tsx';
import { GraceChoice } from './grace.tsx';
import { firstGrace, GRACES, gracesUntil } from './graces.ts';
import { KeySecret } from './key-secret.tsx';
import { nameOfKey } from './key-name.ts';
import { wasNeverSeen, type ApiKey } from './key-state.ts';

const OFFERED = ['hour', 'day', 'week', 'month', 'now'] as const;
type Offered = (typeof OFFERED)[number];

/** Replaces a key by a new one, with a choice of how long the old one still works. */
export function RotateKey({
  apiKey,
  onClose,
}: {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
}) {
  const t = useTexts();
  const cache = useQueryClient();
  const [grace, setGrace] = useState<Offered>(
    firstGrace(gracesUntil(OFFERED, apiKey.expires_at), wasNeverSeen(apiKey)),
  );
  const next = useNextExpiry(apiKey);
  const rotate = useSecretMutation({
    send: client.admin.apiKeys.rotate.mutate,
    onSuccess: () => cache.invalidateQueries(api.admin.apiKeys.pathFilter()),
  });
  if (rotate.data) return <KeySecret issued={rotate.data} onDone={onClose} />;
  return (
    <Dialog title={t.keys.rotateTitle(nameOfKey(t, apiKey.name))} onClose={onClose}>
      <p>{wasNeverSeen(apiKey) ? t.keys.neverStoredHint : t.keys.rotateHint}</p>
      <GraceChoice
        legend={t.keys.grace}
        offered={OFFERED}
        chosen={grace}
        endsAt={apiKey.expires_at}
        onChoose={setGrace}
      />
      {next.choice}
      <FormProblem error={rotate.error} />
      <Actions>
        <Button onClick={onClose}>{t.common.cancel}</Button>
        <Button
          look="main"
          busy={rotate.isPending}
          onClick={() =>
            rotate.mutate({ key_id: apiKey.id, grace_s: GRACES[grace], ...next.input })
          }
        >
          {t.keys.rotateNow}
        </Button>
      </Actions>
    </Dialog>
  );
}
