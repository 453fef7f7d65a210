/**
 * One call of the API: it is repeated until there is a response that repeating would not change.
 *  * Every call may be repeated, because a POST carries one `Idempotency-Key` in all attempts.
 *  * Which outcomes are repeated, and when, is in `retries.ts`.
 *  * A DELETE whose first attempt had no known outcome, and whose next one is a 404, has worked.
 */
import { API_PATH } from './base-url.ts';
import { isObject, isProblem, reasonOf } from './error-texts.ts';
import { ApiError, ConnectionError, type Problem } from './errors.ts';
import { deprecationOf, type Hooks, type ResponseInfo } from './hooks.ts';
import { isWorthRepeating, UNAVAILABLE, wait, waitMsOf, type RetryBudget } from './retries.ts';
import { retryAfterSOf } from './retry-after.ts';
import { withTimeLimit } from './time-limit.ts';

const TIMEOUT_MS = 30_000;
const RETRIES = 4;

/** How a client calls the API. */
export interface ClientOptions extends Hooks {
  /**
   * `svck_live_…`, or `svck_test_…` for the sandbox. Keep it out of browsers: who has it can do all
   * that its scopes allow.
   */
  readonly apiKey: string;
  /** For instance `https://api.example.com/api/public/v1`. */
  readonly baseUrl: string;
  /** Of titles and catalog labels. Default: `en`. */
  readonly language?: 'de' | 'en';
  /** How many times a call is repeated at most. Default: 4. */
  readonly maxRetries?: number;
  /**
   * How many repetitions all calls of the client have together while the API does not respond, or
   * with 5xx. Ten successes give one back. Without any left, calls fail at their first error.
   * Default: 100.
   */
  readonly retryBudget?: number;
  /** How long an attempt may take, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number;
  /**
   * How long a call may take in all, with its repetitions and waits, in milliseconds. A wait that
   * would last longer is not begun: the error is thrown at once. Default: no limit.
   */
  readonly totalTimeoutMs?: number;
  /**
   * Told once of each parameter that the API does not know and has ignored. Default:
   * `console.warn`.
   */
  readonly warn?: (message: string) => void;
  /**
   * Instead of the global one, for instance with a proxy. One that has a `Request` of its own, as
   * that of the package `undici`, takes the URL and the parts:
   * `(request, parts) => fetch(request.url, { ...parts, dispatcher })`.
   */
  readonly fetch?: (request: Request, parts: RequestParts) => Promise<FetchedResponse>;
}

/** What a `Request` was made of, beside its URL. */
export interface RequestParts {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly redirect: 'manual';
  readonly signal: AbortSignal;
}

/** What the client needs of a `Response`, whosever it is. */
export interface FetchedResponse {
  readonly ok: boolean;
  readonly status: number;
  readonly headers: Pick<Headers, 'get' | 'has'>;
  text(): Promise<string>;
}

/** Of one call. */
export interface RequestOptions {
  /** Ends the call, and the waits between its attempts. */
  readonly signal?: AbortSignal;
  /** Of a POST. Default: a new UUID. Store it with the action to repeat it after a crash. */
  readonly idempotencyKey?: string;
  /** As that of the client, which is called first, for this call alone. */
  readonly onResponse?: (response: ResponseInfo) => void;
}

/** A call that is ready to be sent, any number of times. */
export interface PreparedCall {
  readonly method: string;
  /** Method and path, with the names of its parameters. */
  readonly operation: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; null without a body. */
  readonly body: string | null;
}

/** What the calls of a client share. */
export interface Session {
  readonly options: ClientOptions;
  readonly budget: RetryBudget;
  /** The operations whose end was told to `onDeprecation`. */
  readonly announced: Set<string>;
  /** What `warn` was told. */
  readonly warned: Set<string>;
}

interface Outcome {
  /** null without one. */
  readonly response: Response | null;
  /** The parsed body. */
  readonly body: unknown;
  /** null: it is a success. */
  readonly error: ApiError | ConnectionError | null;
}

/** Returns the body of the success. Throws an {@link ApiError} or {@link ConnectionError}. */
export async function send(
  call: PreparedCall,
  session: Session,
  requestOptions: RequestOptions,
): Promise<unknown> {
  const { options, budget } = session;
  const { maxRetries = RETRIES, timeoutMs = TIMEOUT_MS, totalTimeoutMs = Infinity } = options;
  const { signal } = requestOptions;
  const endsAt = performance.now() + totalTimeoutMs;
  let isUncertain = false;
  let unavailable = 0;
  for (let attempt = 0; ; attempt += 1) {
    const leftMs = Math.max(Math.ceil(endsAt - performance.now()), 1);
    const outcome = await withTimeLimit(Math.min(timeoutMs, leftMs), signal, (ended) =>
      attemptOnce(call, options, ended, signal),
    );
    const { response, error } = outcome;
    // Outside of the attempt: what a hook throws is no failure of the connection.
    if (response !== null) tell(call, response, attempt, session, requestOptions);
    if (error === null) {
      budget.giveBack();
      return outcome.body;
    }
    if (isUncertain && call.method === 'DELETE' && isStatus(error, 404)) return { ok: true };
    const retryAfterS = response === null ? null : retryAfterSOf(response);
    if (attempt >= maxRetries || !isWorthRepeating(error, retryAfterS, attempt)) throw error;
    const progress = { attempt, unavailable, leftMs: endsAt - performance.now() };
    const waitMs = waitMsOf(error, retryAfterS, progress);
    if (error.status === UNAVAILABLE) unavailable += 1;
    if (performance.now() + waitMs >= endsAt || !budget.take(error)) throw error;
    isUncertain ||= !(error instanceof ApiError) || error.status >= 500;
    options.onRetry?.({ operation: call.operation, error, attempt: attempt + 2, waitMs });
    await wait(waitMs, signal);
  }
}

async function attemptOnce(
  { url, method, headers, body }: PreparedCall,
  { fetch = (request) => globalThis.fetch(request) }: ClientOptions,
  ended: AbortSignal,
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  // The API has none. Following one would make a GET of a POST, and take its answer for it, or
  // send the key to another address than the caller has named.
  const redirect = 'manual';
  const parts: RequestParts = { method, headers, body, redirect, signal: ended };
  // What makes no request is a wrong call and no outage, so it is thrown as it is.
  const request = new Request(url, parts);
  // Without the query: a filter may be about a person, and errors are logged.
  const where = `${method} ${url.replace(/\?.*/, '')}`;
  try {
    // One of another implementation differs from the global one in its types only.
    const response = (await fetch(request, parts)) as Response;
    const text = await response.text();
    const parsed = parse(text);
    if (response.ok && isObject(parsed)) return { response, body: parsed, error: null };
    return { response, body: parsed, error: errorOf(where, response, parsed) };
  } catch (cause) {
    signal?.throwIfAborted();
    const error = new ConnectionError(`No response of ${where} (${reasonOf(cause)}).`, { cause });
    return { response: null, body: null, error };
  }
}

/** A gateway before the API may respond with a page, or JSON of its own, instead of a problem. */
function errorOf(
  where: string,
  { status, headers }: Response,
  body: unknown,
): ApiError | ConnectionError {
  if (isProblem(body, status)) return new ApiError(body as Problem, headers);
  const hint = status < 500 ? ` Is the base URL right? Most end with ${API_PATH}.` : '';
  return new ConnectionError(
    `The response of ${where} is none of the API; its status is ${status}.${hint}`,
    { status },
  );
}

function tell(
  { operation }: PreparedCall,
  { status, headers }: Response,
  attempt: number,
  session: Session,
  { onResponse }: RequestOptions,
): void {
  const { options, announced } = session;
  const info = { operation, status, headers, attempt: attempt + 1 };
  options.onResponse?.(info);
  onResponse?.(info);
  warnOfIgnored(operation, headers, session);
  if (options.onDeprecation === undefined || announced.has(operation)) return;
  const deprecation = deprecationOf(operation, headers);
  if (deprecation === null) return;
  announced.add(operation);
  options.onDeprecation(deprecation);
}

/** The names are those that the program itself sends, so few. More are not remembered. */
const WARNED_MAX = 1_000;

function warnOfIgnored(operation: string, headers: Headers, { options, warned }: Session): void {
  const { warn = (message) => console.warn(message) } = options;
  for (const name of headers.get('svc-ignored-parameters')?.split(', ') ?? []) {
    const message = `${operation} does not know the parameter ${name} and ignores it.`;
    if (warned.has(message) || warned.size >= WARNED_MAX) continue;
    warned.add(message);
    warn(message);
  }
}

function isStatus(error: ApiError | ConnectionError, status: number): boolean {
  return error instanceof ApiError && error.status === status;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
