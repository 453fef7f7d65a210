import { useId, useState, type ReactNode } from 'react';
import { useFormat } from '../i18n/format.ts';
import { searchedText } from '../i18n/formats.ts';
import { useTexts } from '../i18n/language.ts';
import { useSettler } from '../lib/settled.ts';
import { useOfShown } from '../lib/shown.ts';
import { Button } from './button.tsx';
import { Field } from './field.tsx';
import { typedFilter, withChosen } from './filter-values.ts';

/**
 * The filters of a list, which most pages keep in the address. A button takes all of them back.
 * Says how many rows match, to who hears the page, too.
 */
export function FilterBar<Search extends object>({
  search,
  navigate,
  shown,
  total,
  reached = null,
  page = '',
  children,
}: {
  readonly search: Search;
  readonly navigate: (to: { search: Partial<Search>; replace: true }) => unknown;
  /** How many rows are shown; undefined while those that are asked for are still to come. */
  readonly shown: number | undefined;
  /** How many there are in all, if that is known. */
  readonly total?: number | undefined;
  /** How far a search has looked, if it can look further. */
  readonly reached?: string | null;
  /** Which page of the rows is shown, where they are in pages. */
  readonly page?: string | undefined;
  readonly children: (search: Search, set: (change: Partial<Search>) => void) => ReactNode;
}) {
  const t = useTexts();
  const show = (wanted: Partial<Search>) => void navigate({ search: wanted, replace: true });
  return (
    <div className="filters" role="search" aria-label={t.common.filters}>
      {children(search, (change) => show({ ...search, ...change }))}
      {Object.keys(search).length > 0 && (
        <Button look="quiet" onClick={() => show({})}>
          {t.common.reset}
        </Button>
      )}
      <Shown
        count={shown}
        total={total}
        reached={reached}
        of={JSON.stringify([search, page, reached])}
      />
    </div>
  );
}

/** Says how many rows are shown as soon as they are, and again if other rows are as many. */
function Shown({
  count,
  total,
  reached,
  of,
}: {
  readonly count: number | undefined;
  readonly total: number | undefined;
  readonly reached: string | null;
  readonly of: string;
}) {
  const t = useTexts();
  const format = useFormat();
  const isWaiting = count === undefined;
  const known = useOfShown(count, isWaiting);
  const rows = useOfShown(of, isWaiting);
  return (
    <p className="hint shown" role="status">
      {/* Only a text that is new in the document is said. That there are none is seen anyway. */}
      <span key={rows} className={known === 0 ? 'visually-hidden' : undefined}>
        {known !== undefined &&
          (total === undefined || total <= known
            ? t.common.shown(known)
            : t.common.shownOf(format.number(known), format.number(total)))}
        {/* It stands below the rows. */}
        {known !== undefined && reached !== null && (
          <span className="visually-hidden">. {searchedText(t, format, reached)}</span>
        )}
      </span>
    </p>
  );
}

/** A choice of one value or of all. */
export function Filter<Value extends string>({
  label,
  value,
  options,
  isRequired = false,
  onChange,
}: {
  readonly label: string;
  readonly value: Value | undefined;
  readonly options: readonly (readonly [Value, string])[];
  /** Whether one value must be chosen. */
  readonly isRequired?: boolean;
  readonly onChange: (value: Value | undefined) => void;
}) {
  const t = useTexts();
  // The address may hold what is gone. The list is of that, and not of all.
  const offered = withChosen(options, value);
  const [, chosen] = offered.find(([one]) => one === value) ?? ['', t.common.all];
  return (
    <Field label={label} size={chosen.length}>
      {(props) => (
        <select
          {...props}
          value={value ?? ''}
          onChange={({ currentTarget }) =>
            onChange(options.find(([one]) => one === currentTarget.value)?.[0])
          }
        >
          {!isRequired && <option value="">{t.common.all}</option>}
          {offered.map(([one, text]) => (
            <option key={one} value={one}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** How long after the last key a text counts. */
const SETTLED_MS = 250;

/** A text to search for. It counts a moment after the last key, and at once by Enter. */
export function TextFilter({
  label,
  value = '',
  placeholder,
  suggestions = [],
  onChange,
}: {
  readonly label: string;
  readonly value: string | undefined;
  readonly placeholder: string;
  readonly suggestions?: readonly string[];
  readonly onChange: (value: string | undefined) => void;
}) {
  const listId = useId();
  const [draft, setDraft] = useState<string | null>(null);
  const count = (text: string | null) => {
    const typed = typedFilter(text, value);
    if (typed) onChange(typed.value);
  };
  const settling = useSettler(SETTLED_MS, count);
  const commit = () => {
    settling.cancel();
    count(draft);
  };
  return (
    <Field label={label}>
      {(props) => (
        <>
          <input
            {...props}
            type="search"
            list={suggestions.length > 0 ? listId : undefined}
            value={draft ?? value}
            placeholder={placeholder}
            autoComplete="off"
            spellCheck={false}
            onChange={({ currentTarget }) => {
              setDraft(currentTarget.value);
              settling.put(currentTarget.value);
            }}
            onBlur={() => {
              commit();
              setDraft(null);
            }}
            onKeyDown={(event) => {
              if (event.key === 'Enter') commit();
            }}
          />
          {suggestions.length > 0 && (
            <datalist id={listId}>
              {suggestions.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  );
}
