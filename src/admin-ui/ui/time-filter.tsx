import { useMemo, useState } from 'react';
import { useTexts } from '../i18n/language.ts';
import { PASTS, timesOf, type Times, type TimeSearch } from '../lib/search.ts';
import { Field } from './field.tsx';
import { Filter } from './filter.tsx';
import { fromLocal, isBackwards, timesChosen, toLocal } from './moments.ts';

/** The times that a filter means. A past time is counted from when it was chosen. */
export function useTimes({ past, since, until }: TimeSearch): Times {
  // Not anew with each rendering: it is a part of the query.
  return useMemo(() => timesOf({ past, since, until }), [past, since, until]);
}

/** A choice of how far back a list goes, or of its first and last moment. */
export function TimeFilter({
  value,
  isRequired = false,
  onChange,
}: {
  readonly value: TimeSearch;
  readonly isRequired?: boolean;
  readonly onChange: (value: TimeSearch) => void;
}) {
  const t = useTexts();
  const { past, since, until } = value;
  return (
    <>
      <Filter
        label={t.times.label}
        value={past}
        isRequired={isRequired}
        options={PASTS.map((one) => [one, t.times.pasts[one]])}
        onChange={(chosen) => onChange(timesChosen(chosen))}
      />
      {past === 'custom' && (
        <>
          <Moment
            label={t.times.since}
            value={since}
            onChange={(moment) => onChange({ ...value, since: moment })}
          />
          <Moment
            label={t.times.until}
            value={until}
            error={isBackwards(value) ? t.times.backwards : null}
            onChange={(moment) => onChange({ ...value, until: moment })}
          />
        </>
      )}
    </>
  );
}

/** A date and a time of day, in the time zone of the reader. `value` is an ISO moment. */
function Moment({
  label,
  value,
  error,
  onChange,
}: {
  readonly label: string;
  readonly value: string | undefined;
  readonly error?: string | null;
  readonly onChange: (value: string | undefined) => void;
}) {
  // While a year is typed, the field has years such as 2 and 202. They do not count.
  const [draft, setDraft] = useState<string | null>(null);
  return (
    <Field label={label} error={error}>
      {(props) => (
        <input
          {...props}
          type="datetime-local"
          min="2000-01-01T00:00"
          max="9999-12-31T23:59"
          value={draft ?? toLocal(value)}
          onChange={({ currentTarget }) => {
            setDraft(currentTarget.value);
            if (!currentTarget.validity.valid) return;
            onChange(fromLocal(currentTarget.value));
          }}
          onBlur={() => setDraft(null)}
        />
      )}
    </Field>
  );
}
