import { useState, type ReactNode } from 'react';
import { useFormat } from '../i18n/format.ts';
import { useTexts } from '../i18n/language.ts';
import { now } from '../lib/clock.ts';
import { Choice, Group } from '../ui/field.tsx';
import type { ApiKey } from './key-state.ts';
import { endOf, EXPIRIES, firstExpiry } from './new-key-values.ts';

/** Lets a person choose after how many days a new key ends; null: never. */
export function Expiry({
  legend,
  fromMs,
  days,
  onChange,
  error = null,
}: {
  readonly legend: string;
  /** When the page was opened: what is sent must end on the day that it shows. */
  readonly fromMs: number;
  readonly days: number | null;
  readonly onChange: (days: number | null) => void;
  readonly error?: string | null;
}) {
  const t = useTexts();
  const format = useFormat();
  return (
    <Group legend={legend} error={error}>
      {EXPIRIES.map((each) => (
        <Choice
          key={each}
          kind="radio"
          name="expiry"
          checked={days === each}
          label={t.keys.expiryDays(each, format.day(endOf(each, fromMs)))}
          onChange={() => onChange(each)}
        />
      ))}
      <Choice
        kind="radio"
        name="expiry"
        checked={days === null}
        label={t.keys.expiryNever}
        hint={t.keys.expiryNeverHint}
        onChange={() => onChange(null)}
      />
    </Group>
  );
}

/**
 * The choice of the end of a new key that takes the place of this one, and what it adds to the
 * call. With the same end, a key that soon ends would be replaced by one that does, too. A key
 * without an end is replaced by another such key.
 */
export function useNextExpiry(apiKey: ApiKey): {
  readonly choice: ReactNode;
  readonly input: { readonly expires_at?: string | null };
} {
  const t = useTexts();
  const [openedMs] = useState(now);
  const [days, setDays] = useState(firstExpiry(apiKey));
  if (apiKey.expires_at === null) return { choice: null, input: {} };
  const expiry = { legend: t.keys.expiryNext, fromMs: openedMs, days, onChange: setDays };
  return { choice: <Expiry {...expiry} />, input: { expires_at: endOf(days, openedMs) } };
}
