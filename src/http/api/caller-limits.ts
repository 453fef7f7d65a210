import type { IncomingMessage } from 'node:http';

/**
 * What both APIs tell the limits of addresses (`http/concurrency-limit.ts`, `http/throttle.ts`)
 * about the caller of a request.
 */
export interface CallerLimits {
  /** The caller was looked up and counted: the next request of the same address may come in. */
  readonly authenticated: (request: IncomingMessage) => void;
  /** The key was valid at its last request: more of such requests may be looked up at once. */
  readonly recognized: (request: IncomingMessage) => void;
  /**
   * The caller is a stranger or over a limit. Resolves when the refusal may be sent: an address
   * gets only so many of them a second. `calls`: how many it refuses, if they came as one request.
   */
  readonly refused: (request: IncomingMessage, calls?: number) => Promise<void> | undefined;
}
