import type { z } from 'zod';
import { PROBLEMS, type ProblemCode } from '../../core/problem.ts';
import type { explainedRequest, loggedRequest } from './schema.ts';
import type { RequestRow } from './store.ts';

/** A call as the API shows it. */
export function toRequest({ errors, ...row }: RequestRow): z.input<typeof loggedRequest> {
  return { ...row, errors: errors === null ? null : [...errors] };
}

/** A call as an admin sees it, with its error in words. */
export function toExplainedRequest(row: RequestRow): z.input<typeof explainedRequest> {
  return { ...toRequest(row), help: helpFor(row.error_code) };
}

function helpFor(code: string | null): z.input<typeof explainedRequest>['help'] {
  if (code === null || !Object.hasOwn(PROBLEMS, code)) return null;
  const { title, cause, remedy } = PROBLEMS[code as ProblemCode];
  return { title, cause, remedy };
}
