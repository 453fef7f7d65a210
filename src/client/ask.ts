/** How the command reads the document of the API, or says why it cannot. */
import { isProblem, reasonOf, textOf } from './error-texts.ts';
import * as errors from './errors.ts';
import { withTimeLimit } from './time-limit.ts';

const TIMEOUT_MS = 30_000;

/** The command cannot go on. Its message is for the terminal. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
}

/** What the terminal is told of an error that a client has thrown. Any other error stays. */
export function refusalOf(error: unknown): unknown {
  if (error instanceof errors.ApiError) return new ApiError(`The API refused: ${error.message}`);
  if (error instanceof errors.ConnectionError)
    return new ApiError(`${error.message} Is --api-url right?`);
  return error;
}

type Body = Readonly<Record<string, unknown>>;

/** Reads one JSON object, without a key. Throws an {@link ApiError}. */
export async function ask(
  url: string,
  {
    timeoutMs = TIMEOUT_MS,
    signal,
  }: { readonly timeoutMs?: number; readonly signal?: AbortSignal },
): Promise<Body> {
  const { response, text } = await get(url, timeoutMs, signal);
  const { ok, status } = response;
  const body = parse(text);
  if (status === 429 || status >= 500) throw new ApiError(`The API responded with ${status}`);
  if (status >= 300 && status < 400)
    throw new ApiError(`The API is not at ${url}, which leads elsewhere (${status}).`);
  const noneOfIt = `The response of ${url} is none of the API; its status is ${status}`;
  if (isProblem(body, status)) throw new ApiError(`The API refused: ${textOf(body)}`);
  // A wrong address, which asking again does not change.
  if (!ok) throw new ApiError(`${noneOfIt}. Is --api-url right?`);
  if (body === null) throw new ApiError(noneOfIt);
  return body;
}

async function get(
  url: string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<{ readonly response: Response; readonly text: string }> {
  try {
    return await withTimeLimit(timeoutMs, signal, async (ended) => {
      const response = await fetch(url, { redirect: 'manual', signal: ended });
      return { response, text: await response.text() };
    });
  } catch (error) {
    throw new ApiError(`The API does not answer (${reasonOf(error)})`);
  }
}

/** null: it is no object, so it is none of the API. */
function parse(text: string): Body | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Body) : null;
  } catch {
    // A gateway's page.
    return null;
  }
}
