import type { IncomingMessage, Server } from 'node:http';
import { systemClock, type Clock } from '../core/clock.ts';
import { createLine } from '../core/line.ts';
import { closeAfterLast, trackExchanges } from './connections.ts';
import type { Listening } from './listening.ts';

/** A little less than the 15 s of a stop, because closing the database takes time, too. */
const DRAIN_MS = 14_000;
/** Connections stay open for this long, for requests that were sent before listening stopped. */
const GRACE_MS = 1_000;

/** Counts the requests in flight, so that the server can stop without losing one. */
export interface Requests {
  /** From now on each connection ends with the last answer that it owes. */
  closeConnections(): void;
  /** Resolves when no request is in flight. */
  done(): Promise<void>;
}

/**
 * Tracks the requests of a server. Node's own count is not enough: to Node, a connection that never
 * sent a byte is busy, so a spare connection of a browser would delay the stop.
 */
export function trackRequests(server: Server): Requests {
  const inFlight = createLine<IncomingMessage>();
  let isClosing = false;
  let onDone = (): void => undefined;
  const exchangesOf = trackExchanges(server, (request) => {
    const leave = inFlight.join(request);
    if (isClosing) closeAfterLast(exchangesOf(request.socket));
    return () => {
      leave();
      if (inFlight.size() === 0) onDone();
    };
  });
  return {
    closeConnections: () => {
      isClosing = true;
      for (const { socket } of inFlight) closeAfterLast(exchangesOf(socket));
    },
    done: () =>
      new Promise((resolve) => {
        onDone = resolve;
        if (inFlight.size() === 0) resolve();
      }),
  };
}

/**
 * Stops listening and lets the requests in flight finish, for at most `DRAIN_MS`.
 * Connections stay open for `GRACE_MS`, for requests that clients have just sent, and meanwhile
 * the last response of each tells its client to close it, including those of `/readyz`.
 */
export async function drain(
  server: Server,
  listening: Listening,
  requests: Requests,
  clock: Pick<Clock, 'wait'> = systemClock,
): Promise<void> {
  const closed = listening.close();
  requests.closeConnections();
  const finished = clock.wait(GRACE_MS).then(() => requests.done());
  await Promise.race([closed, finished, clock.wait(DRAIN_MS)]);
  server.closeAllConnections();
  await closed;
}
