import type { IncomingMessage } from 'node:http';

/** What both APIs tell about a request once they know who sent it (see `http/server.ts`). */
export interface Entrance {
  /** The caller was looked up and counted. The next request of the same address may come in. */
  readonly known: (request: IncomingMessage) => void;
  /** The key was valid at its last request. More of such requests are looked up at once. */
  readonly recognized: (request: IncomingMessage) => void;
  /**
   * The caller is a stranger or over a limit. Resolves when the refusal may be sent: an address
   * gets only so many of them a second.
   */
  readonly refused: (request: IncomingMessage) => Promise<void> | undefined;
}
