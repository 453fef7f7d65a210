import { TRPCError } from '@trpc/server';
import { z } from 'zod';
import { LANGUAGES, type Language, type Localized } from '../../core/language.ts';
import { PROBLEMS, ProblemError, type ProblemCode, type RefusedValue } from '../../core/problem.ts';
import { isUnavailable } from '../../db/errors.ts';
import type { RestFacts } from '../../trpc/operation.ts';

/** The body of an error (RFC 9457). */
export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly request_id: string;
  readonly [field: string]: unknown;
}

/** What is known about the route of a request: it says where a value was. */
type Route = Pick<RestFacts, 'method' | 'path'> & Partial<Pick<RestFacts, 'causes'>>;

/**
 * What tRPC itself refuses before it calls a procedure: an unknown procedure, a wrong method, a
 * body that is not JSON or too large.
 */
const TRPC_STATUSES: Partial<Record<TRPCError['code'], number>> = {
  NOT_FOUND: 404,
  PARSE_ERROR: 400,
  BAD_REQUEST: 400,
  METHOD_NOT_SUPPORTED: 405,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
};

/**
 * Turns any error into a problem. Both APIs use only this function for it. An unexpected error
 * becomes `internal`; the caller logs it.
 */
export function toProblem(error: unknown, route: Route | null): ProblemError {
  if (error instanceof ProblemError) return error;
  if (error instanceof z.ZodError) return validationError(error, route);
  if (error instanceof TRPCError) {
    // A bad *output* is an INTERNAL_SERVER_ERROR whose cause is a ZodError too. It is our fault,
    // not the caller's.
    const isOutput =
      error.code === 'INTERNAL_SERVER_ERROR' && error.message.startsWith('Output validation');
    const problem = isOutput || !error.cause ? null : toProblem(error.cause, route);
    if (problem && problem.code !== 'internal') return problem;
    const status = TRPC_STATUSES[error.code];
    if (status === 404) return new ProblemError('not_found');
    if (status !== undefined) return new ProblemError('bad_request', { status });
    if (problem) return problem;
  }
  return new ProblemError(isUnavailable(error) ? 'unavailable' : 'internal');
}

/**
 * Makes the body of a problem. `type` links to the code's section of the errors page. `route` is
 * null in the tRPC API.
 */
export function problemBody(
  problem: ProblemError,
  context: { publicUrl: string; language: Language; requestId: string; route: Route | null },
): ProblemBody {
  const { status: _status, ...fields } = problem.fields;
  return {
    type: `${context.publicUrl}/docs/errors#${problem.code}`,
    title: PROBLEMS[problem.code].title[context.language],
    status: problem.status,
    code: problem.code,
    request_id: context.requestId,
    ...explain(problem.code, context.route),
    ...withErrors(fields, context.route),
  };
}

/**
 * The language of a kept problem. undefined: its title was another one when it was kept, or its
 * code is one of another version.
 */
export function languageOf(body: string): Language | undefined {
  const { title, code } = JSON.parse(body) as { title: string; code: string };
  const known: Readonly<Partial<Record<string, { title: Localized }>>> = PROBLEMS;
  return LANGUAGES.find((language) => known[code]?.title[language] === title);
}

/** The codes whose problems say what to do, unless the place that throws them says more. */
const EXPLAINED: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  'privacy_restricted',
  'api_disabled',
  'not_found',
  'seat_limit_reached',
  'last_admin',
  'precondition_failed',
  'owner',
  'idempotency_mismatch',
  'batch_refused',
]);

/**
 * The `detail` of a problem that brings none: what the code means for the operation, and what to
 * do. It is made of nothing but the code and the route, so it tells nothing about an id.
 */
function explain(code: ProblemCode, route: Route | null): { readonly detail?: string } {
  if (!EXPLAINED.has(code)) return {};
  const { cause, remedy } = PROBLEMS[code];
  // It is no Markdown.
  return { detail: `${route?.causes?.[code] ?? cause.en} ${remedy.en}`.replaceAll('`', '') };
}

/** Whether the team has too many requests in progress: an `unavailable` without a cause. */
export function isTeamBusy(error: unknown): boolean {
  return error instanceof ProblemError && error.code === 'unavailable' && error.cause === undefined;
}

/** Whether the operator should read of the error. */
export function isOurFault(error: unknown, { status }: ProblemError): boolean {
  return status >= 500 && !isTeamBusy(error);
}

/** How long a client should wait after a 503. */
const UNAVAILABLE_RETRY_AFTER_S = 2;

/** The seconds of the header `Retry-After`, or null if the problem has none. */
export function retryAfterOf({ code, fields }: ProblemError): number | null {
  if (code === 'unavailable') return UNAVAILABLE_RETRY_AFTER_S;
  return typeof fields['retry_after'] === 'number' ? fields['retry_after'] : null;
}

/** Makes the entries of `errors` for what rules have refused. A schema's errors have them. */
function withErrors(
  fields: Readonly<Record<string, unknown>>,
  route: Route | null,
): Readonly<Record<string, unknown>> {
  const { field, detail, reason, refused } = fields;
  if (Array.isArray(refused)) {
    const errors = (refused as RefusedValue[]).map((one) => ({
      path: locate([one.field], route),
      message: one.detail,
      code: one.reason,
    }));
    return { errors };
  }
  if (typeof field !== 'string' || reason === undefined) return fields;
  return {
    errors: [{ path: locate([field], route), message: detail, code: reason }],
    field,
    detail,
  };
}

/** How many faults an answer lists. `more_errors` says that there are others. */
const ERRORS_MAX = 20;
const NAME_MAX_CHARACTERS = 100;

/** A fault in the input. `path` has the steps to it, without where the input came from. */
interface Fault {
  readonly path: readonly PropertyKey[];
  readonly message: string;
  readonly code: string;
}

/**
 * Turns zod's issues into a problem, with the first fault of each place. Each path begins with
 * where the value was: `path.`, `query.` or `body.`. A single one is in `field` and `detail`, too;
 * one of the body as a whole has no `field`.
 */
function validationError(error: z.ZodError, route: Route | null): ProblemError {
  // zod goes on after a wrong type: an empty list is no text, and is too short besides.
  const byPlace = new Map<string, Fault>();
  for (const fault of faultsOf(error)) {
    const place = locate(fault.path, route);
    if (byPlace.has(place)) continue;
    if (byPlace.size === ERRORS_MAX) return validationErrors(byPlace, { more_errors: true });
    byPlace.set(place, fault);
  }
  const [only, ...others] = byPlace.values();
  if (!only || others.length > 0) return validationErrors(byPlace, {});
  const { path, message: detail } = only;
  const field = String((path[0] === '' ? path[1] : path[0]) ?? '');
  return validationErrors(byPlace, field === '' ? { detail } : { field: shorten(field), detail });
}

function validationErrors(
  byPlace: ReadonlyMap<string, Fault>,
  others: { readonly field?: string; readonly detail?: string; readonly more_errors?: true },
): ProblemError {
  const errors = [...byPlace].map(([path, fault]) => ({ ...fault, path }));
  return new ProblemError('validation_error', { errors, ...others });
}

/** Each misspelt field is a fault of its own. */
function* faultsOf({ issues }: z.ZodError): Generator<Fault> {
  for (const issue of issues) {
    if (issue.code === 'unrecognized_keys') {
      for (const key of issue.keys) {
        const message = `Unknown field: ${shorten(key)}`;
        yield { path: [...issue.path, key], message, code: issue.code };
      }
      continue;
    }
    const code =
      issue.code === 'custom' && typeof issue.params?.['code'] === 'string'
        ? issue.params['code']
        : issue.code;
    yield { path: issue.path, message: issue.message, code };
  }
}

/** A name of the caller's in an answer: an answer stays short, whatever was sent. */
function shorten(name: PropertyKey): string {
  const text = String(name);
  return text.length <= NAME_MAX_CHARACTERS
    ? text
    : `${text.slice(0, NAME_MAX_CHARACTERS).toWellFormed()}…`;
}

function locate(path: readonly PropertyKey[], route: Route | null): string {
  // An empty first step marks a body field that has the name of a path parameter.
  const isInBody = path[0] === '' && path.length > 1;
  const steps = path.slice(isInBody ? 1 : 0).map(shorten);
  if (!route) return ['input', ...steps].join('.');
  if (!isInBody && steps[0] !== undefined && route.path.includes(`{${steps[0]}}`))
    return ['path', ...steps].join('.');
  const place = route.method === 'GET' || route.method === 'DELETE' ? 'query' : 'body';
  return [place, ...steps].join('.');
}
