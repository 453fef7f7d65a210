/** What a call of the API can throw. */
import type { components } from './operations.ts';
import { textOf } from './error-texts.ts';

/** The body of a refusal, as in RFC 9457. */
export type Problem = components['schemas']['Problem'];

/** The codes that this version knows, and any other text: later versions may add codes. */
export type ProblemCode = Problem['code'];

/** The API refused the call. Match on `code`: it never changes and is never translated. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** The HTTP status. */
  readonly status: number;
  readonly code: ProblemCode;
  /** Name it when you contact support. It is in the text of the error, too. */
  readonly requestId: string;
  readonly problem: Problem;
  /** Of the response. */
  readonly headers: Headers;

  constructor(problem: Problem, headers: Headers = new Headers()) {
    super(textOf(problem));
    this.status = problem.status;
    this.code = problem.code;
    this.requestId = problem.request_id;
    this.problem = problem;
    this.headers = headers;
  }
}

/**
 * There was no response that the client understands: no connection, a timeout, or something between
 * that is not the API. Whether the call acted is not known. `cause` says more.
 */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  /** Of a response that is none of the API; null without a response. */
  readonly status: number | null;

  constructor(message: string, options: { readonly cause?: unknown; readonly status?: number }) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.status = options.status ?? null;
  }
}
