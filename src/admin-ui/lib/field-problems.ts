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

/** The problems that are shown at none of the `fields`. */
export function problemsElsewhere(
  problem: Pick<Problem, 'fields'>,
  fields: readonly string[],
): readonly FieldProblem[] {
  return problem.fields.filter(({ field }) => !fields.includes(field));
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
