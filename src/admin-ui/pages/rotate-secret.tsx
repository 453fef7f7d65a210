import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { Choice, Group } from '../ui/field.tsx';
import { Confirm } from '../ui/confirm.tsx';
import { SecretDialog } from '../ui/secret.tsx';

const HOUR_S = 3600;
const GRACES = { hour: HOUR_S, day: 24 * HOUR_S, week: 7 * 24 * HOUR_S, now: 0 } as const;
type Grace = keyof typeof GRACES;

/** Replaces the secret of a webhook endpoint. For a while both sign. */
export function RotateSecret({
  endpointId,
  onClose,
}: {
  readonly endpointId: string;
  readonly onClose: () => void;
}) {
  const t = useTexts();
  const format = useFormat();
  const cache = useQueryClient();
  const [grace, setGrace] = useState<Grace>('day');
  const rotate = useMutation(
    api.v1.webhooks.rotateSecret.mutationOptions({
      onSuccess: () => cache.invalidateQueries(api.v1.webhooks.pathFilter()),
    }),
  );
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
  const labelOf = (name: Grace): string => {
    const end = new Date(Date.now() + GRACES[name] * 1000).toISOString();
    const label = t.keys.graces[name];
    return name === 'now' ? label : t.keys.graceUntil(label, format.moment(end));
  };
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
      <Group legend={t.webhooks.rotateGrace}>
        {(Object.keys(GRACES) as Grace[]).map((name) => (
          <Choice
            key={name}
            kind="radio"
            name="grace"
            checked={grace === name}
            label={labelOf(name)}
            onChange={() => setGrace(name)}
          />
        ))}
      </Group>
    </Confirm>
  );
}
