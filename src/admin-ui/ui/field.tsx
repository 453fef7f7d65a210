import {
  useEffect,
  useId,
  useRef,
  type CSSProperties,
  type ReactNode,
  type RefObject,
} from 'react';
import { useLanguage, useTexts } from '../i18n/language.ts';
import { useSaid } from '../lib/failed-reads.ts';
import {
  idForSupport,
  mayBeEntry,
  problemAt,
  problemsElsewhere,
  reasonOf,
} from '../lib/field-problems.ts';
import { problemOf, type FieldProblem, type Problem } from '../lib/problem.ts';

/** As many characters as half of a small screen has room for. */
const SHORT = 15;

/** What the control of a field must have. */
export interface ControlProps {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': true | undefined;
}

/** A label, a control, a hint, and what is wrong with the value. */
export function Field({
  label,
  hint,
  error,
  size = 0,
  children,
}: {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error?: string | null | undefined;
  /** How many characters it has to have room for, if it can. */
  readonly size?: number;
  readonly children: (props: ControlProps) => ReactNode;
}) {
  const id = useId();
  const box = useRef<HTMLDivElement>(null);
  useFirstWrong(box, error);
  const describedBy = [hint ? `${id}-hint` : '', error ? `${id}-error` : ''].join(' ').trim();
  return (
    <div
      className="field"
      ref={box}
      data-wrong={error ? true : undefined}
      data-long={size > SHORT || undefined}
      style={{ '--size': size } as CSSProperties}
    >
      <label htmlFor={id}>{label}</label>
      {hint && (
        <p id={`${id}-hint`} className="hint">
          {hint}
        </p>
      )}
      {children({
        id,
        'aria-describedby': describedBy || undefined,
        'aria-invalid': error ? true : undefined,
      })}
      {error && (
        <p id={`${id}-error`} className="error">
          {error}
        </p>
      )}
    </div>
  );
}

/** Gives the focus to the field whose value is wrong, the first one if there are several. */
function useFirstWrong(box: RefObject<HTMLElement | null>, error: string | null | undefined): void {
  useEffect(() => {
    const first = box.current?.closest('form, dialog')?.querySelector('[data-wrong]');
    if (!error || !first || first !== box.current) return;
    first.querySelector<HTMLElement>('input, select, textarea')?.focus();
  }, [box, error]);
}

/** Several controls with one question. */
export function Group({
  legend,
  error,
  children,
}: {
  readonly legend: string;
  readonly error?: string | null | undefined;
  readonly children: ReactNode;
}) {
  const box = useRef<HTMLFieldSetElement>(null);
  useFirstWrong(box, error);
  return (
    <fieldset className="group" ref={box} data-wrong={error ? true : undefined}>
      <legend>{legend}</legend>
      {children}
      {error && (
        <p className="error" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}

/** A check box or radio button with its label. */
export function Choice({
  kind,
  name,
  checked,
  onChange,
  label,
  hint,
}: {
  readonly kind: 'checkbox' | 'radio';
  readonly name?: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly label: ReactNode;
  readonly hint?: ReactNode;
}) {
  return (
    <label className="choice">
      <input
        type={kind}
        name={name}
        checked={checked}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>
        {label}
        {hint && <small>{hint}</small>}
      </span>
    </label>
  );
}

/** Says in the reader's language what is wrong with a value. The service says it in English. */
function useReason(): (problem: FieldProblem) => string {
  const t = useTexts();
  const language = useLanguage();
  return (problem) => reasonOf(problem, t, language);
}

/** Returns what the service says is wrong with a field, in words, or null. */
export function useFieldErrors(error: unknown): (field: string) => string | null {
  const toReason = useReason();
  const problem = error ? problemOf(error) : null;
  return (field) => {
    const found = problem && problemAt(problem, field);
    return found ? toReason(found) : null;
  };
}

/**
 * What went wrong with a change, unless it is shown at one of the `fields`. It comes into view: it
 * may stand above a long list, or below a long form.
 */
export function FormProblem({
  error,
  fields = [],
}: {
  readonly error: unknown;
  readonly fields?: readonly string[];
}) {
  const t = useTexts();
  const toReason = useReason();
  const ref = useRef<HTMLDivElement>(null);
  useSaid(error);
  useEffect(() => {
    // Browsers return a promise, which would be taken for a way to clean up.
    ref.current?.scrollIntoView({ block: 'nearest' });
  }, [error]);
  if (!error) return null;
  const problem = problemOf(error);
  const others = problemsElsewhere(problem, fields);
  return (
    <div ref={ref} role="alert" className="notice bad">
      {mayBeEntry(problem) && <p>{t.problems[problem.code]}</p>}
      {others.map((other) => (
        <p key={other.field}>{toReason(other)}</p>
      ))}
      <RequestId problem={problem} />
    </div>
  );
}

/** The id to quote to support, for what is not the reader's fault. */
export function RequestId({ problem }: { readonly problem: Problem }) {
  const t = useTexts();
  const id = idForSupport(problem);
  return id !== null && <p className="hint">{t.common.requestId(id)}</p>;
}
