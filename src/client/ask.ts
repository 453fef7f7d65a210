/** How the command asks the API: one request, whose answer is JSON, or an error to print. */
import { reasonOf, textOf, type ShownProblem } from './error-texts.ts';
import { retryAfterSOf } from './retry-after.ts';

const TIMEOUT_MS = 30_000;
/** However long the API asks to wait, the command looks again after an hour. */
const WAIT_MAX_S = 3600;

/** The command cannot go on. Its message is for the terminal. */
export class ApiError extends Error {
  override readonly name: string = 'ApiError';
}

/** The API cannot answer now. */
export class Unavailable extends ApiError {
  /** What the API asks for; null if it does not say. */
  readonly waitMs: number | null;

  constructor(message: string, waitMs: number | null = null) {
    super(message);
    this.waitMs = waitMs;
  }
}

export interface Answer {
  readonly body: Readonly<Record<string, unknown>>;
  /** The time of the API: the clock of this machine may be wrong. */
  readonly date: Date;
}

/**
 * Throws {@link Unavailable} for what another try may change: no answer, half of one, one of a
 * gateway, 429, 5xx. Throws another {@link ApiError} for a refusal, and for a redirect.
 */
export async function ask(
  url: string,
  {
    headers = {},
    post,
    timeoutMs = TIMEOUT_MS,
    signal,
  }: {
    readonly headers?: Readonly<Record<string, string>>;
    /** What is posted as JSON. Without it, the request is a GET. */
    readonly post?: object;
    readonly timeoutMs?: number;
    readonly signal?: AbortSignal;
  },
): Promise<Answer> {
  const init: RequestInit =
    post === undefined
      ? { headers }
      : {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify(post),
        };
  const { response, text } = await exchange(url, init, timeoutMs, signal);
  const { ok, status } = response;
  const body = parse(text);
  if (status === 429 || status >= 500) {
    const seconds = retryAfterSOf(response);
    const waitS = seconds === null ? null : Math.min(Math.max(seconds, 1), WAIT_MAX_S);
    throw new Unavailable(`The API responded with ${status}`, waitS === null ? null : waitS * 1000);
  }
  // The key goes to the address that was named, and to no other one.
  if (status >= 300 && status < 400)
    throw new ApiError(`The API is not at ${url}, which leads elsewhere (${status}).`);
  const noneOfIt = `The response of ${url} is none of the API; its status is ${status}`;
  if (!ok && isProblem(body)) throw new ApiError(`The API refused: ${textOf(body)}`);
  // A wrong address, which asking again does not change.
  if (!ok) throw new ApiError(`${noneOfIt}. Is --api-url right?`);
  if (body === null) throw new Unavailable(noneOfIt);
  return { body, date: new Date(response.headers.get('date') ?? Date.now()) };
}

function isProblem(body: Answer['body'] | null): body is Answer['body'] & ShownProblem {
  return typeof body?.['code'] === 'string' && typeof body['status'] === 'number';
}

async function exchange(
  url: string,
  init: RequestInit,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<{ readonly response: Response; readonly text: string }> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const signals = signal === undefined ? [timeout] : [timeout, signal];
  try {
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      signal: AbortSignal.any(signals),
    });
    return { response, text: await response.text() };
  } catch (error) {
    throw new Unavailable(`The API does not answer (${reasonOf(error)})`);
  }
}

/** null: it is no object, so it is none of the API. */
function parse(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    // A gateway's page.
    return null;
  }
}
