/** What a program can be told of its calls. An error that a hook throws ends the call. */
import type { ApiError, ConnectionError } from './errors.ts';

/** A response of the API, or of something before it. */
export interface ResponseInfo {
  /** As the documentation names it, for instance `GET /users/{member_id}`. */
  readonly operation: string;
  readonly status: number;
  /** For instance `x-request-id`, `ratelimit-remaining`. */
  readonly headers: Headers;
  /** 1 for the first attempt of the call. */
  readonly attempt: number;
}

/** A call is about to be repeated. */
export interface RetryInfo {
  readonly operation: string;
  /** What the last attempt got. */
  readonly error: ApiError | ConnectionError;
  /** The number of the attempt that follows. The first repetition is 2. */
  readonly attempt: number;
  /** How long the client waits before it, in milliseconds. */
  readonly waitMs: number;
}

/** The operation will end. */
export interface DeprecationInfo {
  readonly operation: string;
  /** From then on it should not be used; null if the header is not understood. */
  readonly since: Date | null;
  /** From then on it may be gone; null if that is not said. */
  readonly sunset: Date | null;
  /** The page that says what to use instead; null if there is none. */
  readonly link: string | null;
}

export interface Hooks {
  /** Called for each response, those that are repeated and those of every page of a list too. */
  readonly onResponse?: (response: ResponseInfo) => void;
  readonly onRetry?: (retry: RetryInfo) => void;
  /** Called once for each operation whose responses say that it will end. */
  readonly onDeprecation?: (deprecation: DeprecationInfo) => void;
}

/** Returns what the headers `Deprecation`, `Sunset` and `Link` say; null without the first. */
export function deprecationOf(operation: string, headers: Headers): DeprecationInfo | null {
  const since = headers.get('deprecation');
  if (since === null) return null;
  const [, seconds] = /^@(-?\d+)$/.exec(since) ?? [];
  const [, link = null] =
    /<([^>]*)>[^,]*;\s*rel="?deprecation"?/.exec(headers.get('link') ?? '') ?? [];
  return {
    operation,
    since: seconds === undefined ? null : timeOf(Number(seconds) * 1000),
    sunset: timeOf(Date.parse(headers.get('sunset') ?? '')),
    link,
  };
}

function timeOf(ms: number): Date | null {
  const time = new Date(ms);
  return Number.isNaN(time.getTime()) ? null : time;
}
