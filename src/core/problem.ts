import { z } from 'zod';
import type { Localized } from './language.ts';
import type { Limit } from './limits.ts';
import { PROBLEM_HELP } from './problem-help.ts';
import type { Scope } from './scopes.ts';

/** Every problem code with its HTTP status and its title in German and English. */
const CATALOGUE = {
  bad_request: [400, 'Ungültige Anfrage', 'Bad request'],
  unauthorized: [401, 'Nicht autorisiert', 'Unauthorized'],
  forbidden: [403, 'Nicht erlaubt', 'Forbidden'],
  insufficient_scope: [403, 'Berechtigung fehlt', 'Insufficient scope'],
  privacy_restricted: [403, 'Durch Datenschutz eingeschränkt', 'Restricted by privacy settings'],
  api_disabled: [403, 'API nicht verfügbar für dieses Team', 'API disabled for this team'],
  vorgabe_gesperrt: [403, 'Durch eine Vorgabe gesperrt', 'Blocked by policy'],
  not_found: [404, 'Nicht gefunden', 'Not found'],
  conflict: [409, 'Konflikt', 'Conflict'],
  seat_limit_reached: [409, 'Alle Plätze sind belegt', 'Seat limit reached'],
  last_admin: [409, 'Letzter Admin', 'Last admin'],
  owner: [409, 'Inhaber des Teams', 'Team owner'],
  precondition_failed: [412, 'Inzwischen geändert', 'Precondition failed'],
  validation_error: [422, 'Ungültige Eingabe', 'Validation error'],
  idempotency_mismatch: [422, 'Idempotency-Key schon anders verwendet', 'Idempotency key reused'],
  kombination_ungueltig: [422, 'Ungültige Kombination', 'Invalid combination'],
  batch_refused: [422, 'Einträge abgelehnt', 'Batch refused'],
  rate_limited: [429, 'Zu viele Anfragen', 'Rate limited'],
  internal: [500, 'Interner Fehler', 'Internal error'],
  unavailable: [503, 'Vorübergehend nicht verfügbar', 'Temporarily unavailable'],
} as const satisfies Record<
  keyof typeof PROBLEM_HELP,
  readonly [status: number, de: string, en: string]
>;

export type ProblemCode = keyof typeof CATALOGUE;

/** The codes that every operation can respond with. */
export const COMMON_CODES: readonly ProblemCode[] = [
  'unauthorized',
  'api_disabled',
  'validation_error',
  'rate_limited',
  'internal',
  'unavailable',
];

interface Problem {
  readonly status: number;
  readonly title: Localized;
  readonly cause: Localized;
  readonly remedy: Localized;
}

/**
 * The status and the texts of every problem code. Error responses, the OpenAPI document and the
 * page /docs/errors are made from it.
 */
export const PROBLEMS = Object.fromEntries(
  (Object.keys(CATALOGUE) as ProblemCode[]).map((code) => {
    const [status, de, en] = CATALOGUE[code];
    return [code, { status, title: { de, en }, ...PROBLEM_HELP[code] }];
  }),
) as Readonly<Record<ProblemCode, Problem>>;

/** A fault in the input of a request. `path` is for instance `body.title` or `query.limit`. */
export interface FieldError {
  readonly path: string;
  readonly message: string;
  readonly code: string;
}

/** A value that a rule has refused. `reason` is a code for programs. */
export interface RefusedValue {
  readonly field: string;
  readonly detail: string;
  readonly reason: string;
}

/** An entry of a batch that was refused. `core/problem-shapes.ts` has the shape of its problem. */
export interface RefusedEntry {
  readonly index: number;
  readonly problem: Readonly<Record<string, unknown>>;
}

interface Diagnostic {
  /** An explanation in English, for developers. Responses with status 500 or 503 have none. */
  readonly detail?: string;
}

/** The fields that a problem may have in addition to the common ones. Others have only `detail`. */
interface ProblemFields {
  bad_request: Diagnostic & { readonly status?: number };
  insufficient_scope: Diagnostic & { readonly required_scope: Scope };
  /** `field` is the name of the id in the body of the request. */
  not_found: Diagnostic & { readonly field?: string };
  /**
   * A response has `errors` in any case, and `field` and `detail` if there is one fault only.
   * Without `errors`, its entries are made of the values that rules have refused. `more_errors`:
   * there are more than `errors` lists.
   */
  validation_error:
    | (Diagnostic & {
        readonly errors: readonly FieldError[];
        readonly field?: string;
        readonly more_errors?: true;
      })
    | RefusedValue
    | { readonly refused: readonly RefusedValue[] };
  /**
   * `retry_after`, in seconds, only if it passes by itself: while a call with the same
   * Idempotency-Key, or another reset of the sandbox, is running, or if a process with a newer
   * APP_SECRET may answer. It may name the value that collides.
   */
  conflict: (Diagnostic & { readonly retry_after?: number }) | RefusedValue;
  kombination_ungueltig: Diagnostic & { readonly dimension: string; readonly id?: string };
  /** Of a batch that does all or nothing: the entries that are wrong. */
  batch_refused: Diagnostic & { readonly entries: readonly RefusedEntry[] };
  rate_limited: Diagnostic & { readonly retry_after: number };
  internal: Record<never, never>;
  unavailable: Record<never, never>;
}

export type FieldsOf<C extends ProblemCode> = C extends keyof ProblemFields
  ? ProblemFields[C]
  : Diagnostic;

type FieldArguments<C extends ProblemCode> =
  Record<never, never> extends FieldsOf<C> ? [fields?: FieldsOf<C>] : [fields: FieldsOf<C>];

/** The only error that features throw on purpose. The APIs answer with its code and fields. */
export class ProblemError extends Error {
  readonly code: ProblemCode;
  readonly fields: Readonly<Record<string, unknown>>;
  /** The limit that refuses (`overLimit`). Logs and metrics have it, and no answer. */
  limit: Limit | null = null;
  /** The same call may succeed in a moment (`passing`): no `Idempotency-Key` keeps the refusal. */
  passes = false;
  /** What the call has written stays (`leaving`): its transaction commits, and then it refuses. */
  leaves = false;

  constructor(
    ...[code, fields]: { [C in ProblemCode]: [code: C, ...FieldArguments<C>] }[ProblemCode]
  ) {
    super(code);
    this.name = 'ProblemError';
    this.code = code;
    this.fields = { ...fields };
  }

  /** The HTTP status of the code. `bad_request` can have another one, such as 413. */
  get status(): number {
    return typeof this.fields['status'] === 'number'
      ? this.fields['status']
      : PROBLEMS[this.code].status;
  }
}

/** Notes which limit refuses. Returns the same problem. */
export function overLimit(limit: Limit, problem: ProblemError): ProblemError {
  problem.limit = limit;
  return problem;
}

/** Notes that the refusal is one of the moment. Returns the same problem. */
export function passing(problem: ProblemError): ProblemError {
  problem.passes = true;
  return problem;
}

/** Notes that what the refused call has written stays. Returns the same problem. */
export function leaving(problem: ProblemError): ProblemError {
  problem.leaves = true;
  return problem;
}

/**
 * The problem for something that does not exist or that belongs to another team. It takes no
 * argument, so that the response never tells the two cases apart.
 */
export function notFound(): ProblemError {
  return new ProblemError('not_found');
}

/**
 * Like {@link notFound}, for an id in the body of a request. It takes the name of the field and
 * nothing about the id, for the same reason.
 */
export function unknownId(field: string): ProblemError {
  return new ProblemError('not_found', { field });
}

/** The problem for a key that lacks a scope. */
export function insufficientScope(scope: Scope): ProblemError {
  return new ProblemError('insufficient_scope', {
    required_scope: scope,
    detail:
      `The key lacks the scope ${scope}. ` +
      'Create a new key with it in the app: the scopes of a key are fixed.',
  });
}

/**
 * The problem for a value that has the right shape but that the application refuses. `reason` is a
 * code for programs.
 */
export function invalidField(field: string, detail: string, reason = 'refused'): ProblemError {
  return new ProblemError('validation_error', { field, detail, reason });
}

/**
 * Runs all checks of the values of one request, and returns their results. If one refuses, throws
 * its error; if several do, one `validation_error` that names all of their values. Throws any other
 * error at once.
 */
export function checkAll<const Checks extends readonly (() => unknown)[]>(
  ...checks: Checks
): { readonly [I in keyof Checks]: ReturnType<Checks[I]> } {
  const errors: ProblemError[] = [];
  const results = checks.map((check) => {
    try {
      return check();
    } catch (error) {
      errors.push(requireRefusal(error));
      return undefined;
    }
  });
  const [first, ...others] = errors;
  if (first && others.length === 0) throw first;
  if (first) throw new ProblemError('validation_error', { refused: errors.flatMap(refusedIn) });
  return results as { readonly [I in keyof Checks]: ReturnType<Checks[I]> };
}

/** Throws an error that is not about values. */
function requireRefusal(error: unknown): ProblemError {
  if (!(error instanceof ProblemError) || refusedIn(error).length === 0) throw error;
  return error;
}

function refusedIn({ code, fields }: ProblemError): readonly RefusedValue[] {
  if (code !== 'validation_error') return [];
  const { field, detail, reason, refused } = fields as Partial<RefusedValue> & {
    readonly refused?: readonly RefusedValue[];
  };
  if (refused) return refused;
  return field === undefined || detail === undefined || reason === undefined
    ? []
    : [{ field, detail, reason }];
}

/**
 * The error for input that a schema cannot check, in the form of a schema's own errors. `path` has
 * the steps to the place. It is a `ZodRealError`: zod's plain one is no `Error`, so tRPC wraps it.
 */
export function invalidInput(
  path: readonly (string | number)[],
  message: string,
  code: string,
): z.ZodError {
  const issue = { code: 'custom', path: [...path], message, params: { code }, input: undefined };
  return new z.ZodRealError([issue as z.core.$ZodIssue]);
}
