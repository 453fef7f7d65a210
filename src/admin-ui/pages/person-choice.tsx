import { useQuery } from '@tanstack/react-query';
import { useDeferredValue, useEffect, useId, useState } from 'react';
import { useTexts } from '../i18n/language.ts';
import { whileUnknown } from '../lib/queries.ts';
import { Field } from '../ui/field.tsx';
import { nameOf, personTyped } from './member-name.ts';
import { membersFound, NOBODY_YET } from './members-found.ts';

const OFFERED = 20;

/**
 * Chooses one person of the team, however large it is: the service searches for what is typed, and
 * the browser offers what it has found. Empty: nobody, which `none` stands for.
 */
export function PersonChoice({
  label,
  none,
  onChange,
}: {
  readonly label: string;
  readonly none: string;
  /** Must be the same function in each render. undefined: nobody; null: not chosen yet. */
  readonly onChange: (memberId: string | undefined | null) => void;
}) {
  const t = useTexts();
  const listId = useId();
  const [text, setText] = useState('');
  const typed = text.trim();
  const wanted = useDeferredValue(typed) || undefined;
  const found = useQuery(membersFound(wanted, OFFERED));
  const { data: people, next_cursor: next } = whileUnknown(found, NOBODY_YET);
  const isNobody = wanted !== undefined && !found.isPlaceholderData && people.length === 0;
  const nobody = next === null ? t.members.nobody : t.members.nobodySoFar;
  // What is typed becomes a choice when the service has found it.
  const choice = personTyped(typed, people);
  useEffect(() => onChange(choice), [choice, onChange]);
  return (
    <Field
      label={label}
      hint={t.members.choose}
      error={isNobody && found.isSuccess ? nobody : null}
    >
      {(props) => (
        <>
          <input
            {...props}
            type="search"
            list={listId}
            value={text}
            placeholder={none}
            autoComplete="off"
            spellCheck={false}
            onChange={({ currentTarget }) => setText(currentTarget.value)}
          />
          <datalist id={listId}>
            {people.map((one) => (
              <option key={one.id} value={nameOf(one)} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}
