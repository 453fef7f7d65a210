/** What is said about the fields of a form, and where: see `ui/field.tsx`. */
import type { Texts } from '../i18n/en.ts';
import type { PageLanguage } from '../i18n/languages.ts';
import type { FieldProblem, Problem } from './problem.ts';

/** The codes of a value that has the wrong form: those of the service's schemas. */
const OF_FORM = new Set(['custom', 'invalid_type', 'invalid_value', 'too_small', 'too_big']);

/** Says in the reader's language what is wrong with a value. The service says it in English. */
export function reasonOf(
  { field, code, message }: FieldProblem,
  t: Pick<Texts, 'reasons' | 'fieldReasons' | 'otherReason'>,
  language: PageLanguage,
): string {
  const own = (OF_FORM.has(code) ? t.fieldReasons[field] : undefined) ?? t.reasons[code];
  return own ?? (language === 'en' ? message : t.otherReason);
}

/** The codes that name a field, although no entry in it is at fault: limits and outages. */
const NO_FAULT = new Set([
  'too_many_keys',
  'too_many_endpoints',
  'too_many_connections',
  'crm_unreachable',
]);

const isFault = ({ code }: FieldProblem): boolean => !NO_FAULT.has(code);

/** What is wrong with the value of a field. */
export function problemAt(
  problem: Pick<Problem, 'fields'>,
  field: string,
): FieldProblem | undefined {
  return problem.fields.find((one) => one.field === field && isFault(one));
}

/** The problems that are shown at none of the `fields`. */
export function problemsElsewhere(
  problem: Pick<Problem, 'fields'>,
  fields: readonly string[],
): readonly FieldProblem[] {
  return problem.fields.filter((one) => !isFault(one) || !fields.includes(one.field));
}

/** Whether an entry may be at fault. If none is, the reasons alone say what happened. */
export function mayBeEntry({ fields }: Pick<Problem, 'fields'>): boolean {
  return fields.length === 0 || fields.some(isFault);
}

/** The error of the change that was tried last, where several can be made in one place. */
export function lastError(
  ...changes: readonly { readonly error: unknown; readonly submittedAt: number }[]
): unknown {
  return changes.toSorted((a, b) => b.submittedAt - a.submittedAt)[0]?.error;
}

/** The id to quote to support; null: there is none, or the fault is the reader's. */
export function idForSupport({
  requestId,
  code,
}: Pick<Problem, 'requestId' | 'code'>): string | null {
  return code === 'validation_error' ? null : requestId;
}
