import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { api } from '../lib/api.ts';
import { Actions, Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Choice, FormProblem, Group } from '../ui/field.tsx';
import { KeySecret } from './key-secret.tsx';
import type { ApiKey } from './key-state.ts';

const HOUR_S = 3600;
const GRACES = {
  hour: HOUR_S,
  day: 24 * HOUR_S,
  week: 7 * 24 * HOUR_S,
  month: 30 * 24 * HOUR_S,
  now: 0,
} as const;
type Grace = keyof typeof GRACES;

/** Replaces a key by a new one, with a choice of how long the old one still works. */
export function RotateKey({
  apiKey,
  onClose,
}: {
  readonly apiKey: ApiKey;
  readonly onClose: () => void;
}) {
  const t = useTexts();
  const format = useFormat();
  const cache = useQueryClient();
  const [grace, setGrace] = useState<Grace>('day');
  const rotate = useMutation(
    api.admin.apiKeys.rotate.mutationOptions({
      onSuccess: () => cache.invalidateQueries(api.admin.apiKeys.pathFilter()),
    }),
  );
  if (rotate.data) return <KeySecret secret={rotate.data.key} onDone={onClose} />;
  const labelOf = (name: Grace): string => {
    const end = new Date(Date.now() + GRACES[name] * 1000).toISOString();
    const label = t.keys.graces[name];
    return name === 'now' ? label : t.keys.graceUntil(label, format.moment(end));
  };
  return (
    <Dialog title={t.keys.rotateTitle(apiKey.name)} onClose={onClose}>
      <p>{t.keys.rotateHint}</p>
      <Group legend={t.keys.grace}>
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
      <FormProblem error={rotate.error} />
      <Actions>
        <Button
          look="main"
          busy={rotate.isPending}
          onClick={() => rotate.mutate({ key_id: apiKey.id, grace_s: GRACES[grace] })}
        >
          {t.keys.rotateNow}
        </Button>
        <Button onClick={onClose}>{t.common.cancel}</Button>
      </Actions>
    </Dialog>
  );
}
