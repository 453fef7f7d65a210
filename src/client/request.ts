/**
 * One call of the API: it is repeated until there is a response that repeating would not change.
 *  * Every call may be repeated, because a POST carries one `Idempotency-Key` in all attempts.
 *  * Repeated are: no response, a 429, a 503, a 500 (once), and the 409 of a call that is still
 *    running. `Retry-After` says how long to wait; without it the waits grow.
 *  * A DELETE whose first attempt had no known outcome, and whose next one is a 404, has worked.
 */
import { ApiError, ConnectionError, type Problem } from './errors.ts';
import { retryAfterSOf } from './retry-after.ts';

const TIMEOUT_MS = 30_000;
const RETRIES = 4;
const FIRST_WAIT_MS = 500;
const WAIT_MAX_MS = 8_000;
/** A longer `Retry-After` is left to the caller, as that of the invitations of an hour. */
const RETRY_AFTER_MAX_S = 60;

/** How a client calls the API. */
export interface ClientOptions {
  /** `svck_live_…`. Keep it out of browsers: who has it can do all that its scopes allow. */
  readonly apiKey: string;
  /** For instance `https://api.example.com/api/public/v1`. */
  readonly baseUrl: string;
  /** Of titles and catalog labels. Default: `en`. */
  readonly language?: 'de' | 'en';
  /** How many times a call is repeated at most. Default: 4. */
  readonly maxRetries?: number;
  /** How long an attempt may take, in milliseconds. Default: 30,000. */
  readonly timeoutMs?: number;
  /**
   * Told once of each parameter that the API does not know and has ignored. Default:
   * `console.warn`.
   */
  readonly warn?: (message: string) => void;
  /** Instead of the global one, for instance with a proxy. */
  readonly fetch?: (request: Request) => Promise<Response>;
}

/** Of one call. */
export interface RequestOptions {
  /** Ends the call, and the waits between its attempts. */
  readonly signal?: AbortSignal;
  /** Of a POST. Default: a new UUID. Store it with the action to repeat it after a crash. */
  readonly idempotencyKey?: string;
}

/** A call that is ready to be sent, any number of times. */
export interface PreparedCall {
  readonly method: string;
  /** The path with the names of its parameters. */
  readonly route: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; null without a body. */
  readonly body: string | null;
}

/** How a client calls, and what it has warned of. */
export interface Sender extends ClientOptions {
  readonly warned: Set<string>;
}

interface Outcome {
  /** The parsed body; null if there was no response. */
  readonly body: unknown;
  /** null: it is a success. */
  readonly error: ApiError | ConnectionError | null;
  /** In seconds; null if the API does not say. */
  readonly retryAfterS: number | null;
}

/** Returns the body of the success. Throws an {@link ApiError} or {@link ConnectionError}. */
export async function send(
  call: PreparedCall,
  client: Sender,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const { maxRetries = RETRIES } = client;
  let isUncertain = false;
  for (let attempt = 0; ; attempt += 1) {
    const outcome = await attemptOnce(call, client, signal);
    const { error } = outcome;
    if (error === null) return outcome.body;
    if (isUncertain && call.method === 'DELETE' && isStatus(error, 404)) return { ok: true };
    if (attempt >= maxRetries || !isWorthRepeating(outcome, attempt)) throw error;
    isUncertain ||= !(error instanceof ApiError) || error.status >= 500;
    await wait(waitMsOf(outcome, attempt), signal);
  }
}

async function attemptOnce(
  call: PreparedCall,
  client: Sender,
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  const { url, method, headers, body } = call;
  const { timeoutMs = TIMEOUT_MS, fetch = globalThis.fetch } = client;
  const timeout = AbortSignal.timeout(timeoutMs);
  const signals = signal === undefined ? [timeout] : [timeout, signal];
  try {
    // The API has none. Following one would make a GET of a POST, and take its answer for it, or
    // send the key to another address than the caller has named.
    const redirect = 'manual';
    const ended = AbortSignal.any(signals);
    const request = new Request(url, { method, headers, body, redirect, signal: ended });
    const response = await fetch(request);
    const text = await response.text();
    warnOfIgnored(response, call, client);
    const retryAfterS = retryAfterSOf(response);
    const parsed = parse(text);
    if (response.ok && parsed !== undefined) return { body: parsed, error: null, retryAfterS };
    return { body: parsed, error: errorOf(response, parsed), retryAfterS };
  } catch (cause) {
    signal?.throwIfAborted();
    const error = new ConnectionError(`No response of ${method} ${url}.`, { cause });
    return { body: null, error, retryAfterS: null };
  }
}

/** The names are those that the program itself sends, so few. More are not remembered. */
const WARNED_MAX = 1_000;

function warnOfIgnored(
  { headers }: Response,
  { method, route }: PreparedCall,
  { warned, warn = (message) => console.warn(message) }: Sender,
): void {
  for (const name of headers.get('svc-ignored-parameters')?.split(', ') ?? []) {
    const message = `${method} ${route} does not know the parameter ${name} and ignores it.`;
    if (warned.has(message) || warned.size >= WARNED_MAX) continue;
    warned.add(message);
    warn(message);
  }
}

/** A gateway before the API may respond with a page instead of a problem. */
function errorOf({ status }: Response, body: unknown): ApiError | ConnectionError {
  const isProblem = typeof body === 'object' && body !== null && 'code' in body;
  if (isProblem && status >= 400) return new ApiError(body as Problem);
  return new ConnectionError(`The response is none of the API; its status is ${status}.`);
}

function isWorthRepeating({ error, retryAfterS }: Outcome, attempt: number): boolean {
  if (retryAfterS !== null && retryAfterS > RETRY_AFTER_MAX_S) return false;
  if (!(error instanceof ApiError)) return true;
  if (error.status === 500) return attempt === 0;
  if (error.status === 409) return retryAfterS !== null;
  return error.status === 429 || error.status === 503;
}

/** Clients that were refused together must not come back together. */
function waitMsOf({ retryAfterS }: Outcome, attempt: number): number {
  const growing = Math.min(FIRST_WAIT_MS * 2 ** attempt, WAIT_MAX_MS);
  const random = growing * (0.5 + Math.random() / 2);
  return retryAfterS === null ? random : retryAfterS * 1000 + random / 4;
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- as fetch does
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
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
