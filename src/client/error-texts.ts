/** Errors as text for people. The command has it too, which knows no types of the API. */

/** What the text needs of a problem. */
export interface ShownProblem {
  readonly status: number;
  readonly code: string;
  readonly title: string;
  readonly request_id: string;
  readonly detail?: string;
  readonly field?: string;
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
  readonly more_errors?: boolean;
}

/**
 * Whether a body is a problem of the API. A gateway before it may answer with JSON of its own,
 * which has a `code` or a `status`, too.
 */
export function isProblem(body: unknown, httpStatus: number): body is ShownProblem {
  if (httpStatus < 400 || !isObject(body)) return false;
  const { status, code, request_id, errors = [] } = body;
  return (
    status === httpStatus &&
    typeof code === 'string' &&
    typeof request_id === 'string' &&
    Array.isArray(errors) &&
    errors.every(isObject)
  );
}

/** Whether it is a JSON object, and neither null nor a list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A problem in one line: `422 validation_error: body.email: … (request 0192…)`. */
export function textOf(problem: ShownProblem): string {
  const { status, code, errors = [], more_errors, field, request_id } = problem;
  const what = problem.detail ?? problem.title;
  const faults = errors.map(({ path, message }) => `${path}: ${message}`);
  if (more_errors) faults.push('…');
  const only = field === undefined ? what : `${field}: ${what}`;
  const text = faults.length > 0 ? faults.join('; ') : only;
  return `${status} ${code}: ${text} (request ${request_id})`;
}

/** `ECONNREFUSED`, or what the error says. */
export function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error;
  if (name === 'TimeoutError') return 'no answer';
  const { code, message: why } = (cause ?? {}) as { readonly code?: string; message?: string };
  return code ?? why ?? message;
}
