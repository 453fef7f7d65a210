/**
 * Lets the requests of each address in by turns, so that one address that sends thousands at once
 * is served as fast as before, but nobody else waits behind all of them.
 *
 * A request holds a place of its address until its caller is known and counted, or it was
 * answered. The place is free at the next turn of the event loop: so a request that is answered at
 * once, without waiting for anything, takes its turn like the others.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createLine, type Line } from '../core/line.ts';

export interface Gate {
  /** Calls `next` when it is the request's turn; never, if its client has gone before that. */
  readonly enter: (
    address: string,
    request: IncomingMessage,
    response: ServerResponse,
    next: () => void,
  ) => void;
  /** The caller is known: the place is free for the next one of its address. */
  readonly known: (request: IncomingMessage) => void;
}

/** Few enough that a turn of the event loop stays short, and many enough to fill a round trip. */
const PLACES_PER_ADDRESS = 16;
/**
 * A place is given to the next one after this time. Otherwise, while the database is silent, each
 * request would wait for all the time limits of those before it.
 */
const PLACE_MAX_MS = 200;

interface Address {
  taken: number;
  readonly waiting: Line<Waiting>;
}

interface Waiting {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly next: () => void;
}

export function createGate(placeMaxMs = PLACE_MAX_MS): Gate {
  const addresses = new Map<string, Address>();
  const places = new WeakMap<IncomingMessage, () => void>();

  const letIn = (name: string, address: Address, { request, response, next }: Waiting): void => {
    address.taken += 1;
    const release = (): void => {
      if (!places.delete(request)) return;
      clearTimeout(limit);
      setImmediate(leave, name, address);
    };
    const limit = setTimeout(release, placeMaxMs);
    places.set(request, release);
    // A response that waits behind another one gets no event if the connection ends.
    request.once('close', release);
    response.once('close', release);
    next();
  };
  const leave = (name: string, address: Address): void => {
    address.taken -= 1;
    for (let waiting = address.waiting.shift(); waiting; waiting = address.waiting.shift()) {
      if (waiting.request.socket.destroyed) continue;
      letIn(name, address, waiting);
      return;
    }
    if (address.taken === 0) addresses.delete(name);
  };
  return {
    enter: (name, request, response, next) => {
      if (request.socket.destroyed) return;
      const address = addresses.get(name) ?? { taken: 0, waiting: createLine() };
      addresses.set(name, address);
      if (address.taken < PLACES_PER_ADDRESS) letIn(name, address, { request, response, next });
      else address.waiting.join({ request, response, next });
    },
    known: (request) => places.get(request)?.(),
  };
}
