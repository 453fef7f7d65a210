/**
 * A concurrency limit for each address. An address that sends thousands of requests at once is
 * served as fast as before, but other addresses do not wait behind them.
 *
 * A request holds a place of its address until its caller is authenticated and counted, or it was
 * answered. The place becomes free in the next turn of the event loop, so that requests that are
 * answered without any waiting do not starve the others.
 *
 * A request whose key was valid at its last request moves to a place for such requests, which makes
 * the first place free. There are more of those, because one statement authenticates many of them.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { systemClock, type Clock } from '../core/clock.ts';
import { createFairQueue } from '../core/fair-queue.ts';

export interface ConcurrencyLimit {
  /** Calls `next` when the request gets a place; never, if its client has gone before that. */
  readonly enter: (
    address: string,
    request: IncomingMessage,
    response: ServerResponse,
    next: () => void,
  ) => void;
  /** The caller is authenticated: the next request of its address may come in. */
  readonly release: (request: IncomingMessage) => void;
  /** The key was valid at its last request: moves to a place for such requests, if one is free. */
  readonly recognize: (request: IncomingMessage) => void;
}

/** Few enough for short turns of the event loop, and enough to use each round trip. */
const PLACES_PER_ADDRESS = 16;
/** Additional places for requests with a recently valid key. No request waits for one. */
const PLACES_OF_RECOGNIZED = 64;
/**
 * A request gives up its place after this time. Otherwise, while the database does not answer, each
 * request would wait for the time limits of all those before it.
 */
const PLACE_MAX_MS = 200;

/** What a request holds. */
interface Place {
  readonly leave: () => void;
  /** Moves to a place for recognized requests, if there is one. */
  readonly move: () => void;
}

export function createConcurrencyLimit(
  placeMaxMs = PLACE_MAX_MS,
  clock: Pick<Clock, 'after'> = systemClock,
): ConcurrencyLimit {
  const queue = createFairQueue({ places: Infinity, perOwner: PLACES_PER_ADDRESS });
  const recognized = createFairQueue({ places: Infinity, perOwner: PLACES_OF_RECOGNIZED });
  const places = new WeakMap<IncomingMessage, Place>();

  const hold = (address: string, request: IncomingMessage, leaveQueue: () => void): Place => {
    const leaveLater = (): void => void setImmediate(leaveQueue);
    let leavePlace = leaveLater;
    const endLimit = clock.after(placeMaxMs, () => place.leave());
    const place: Place = {
      leave: () => {
        if (!places.delete(request)) return;
        endLimit();
        leavePlace();
      },
      move: () => {
        if (leavePlace !== leaveLater || !recognized.hasRoom({ owner: address })) return;
        recognized.enter({ owner: address, admit: (leave) => (leavePlace = leave) });
        leaveLater();
      },
    };
    return place;
  };
  return {
    enter: (address, request, response, next) => {
      if (request.socket.destroyed) return;
      const admit = (leaveQueue: () => void): void => {
        const place = hold(address, request, leaveQueue);
        places.set(request, place);
        // A response that waits behind another one gets no event if the connection ends.
        request.once('close', place.leave);
        response.once('close', place.leave);
        next();
      };
      queue.enter({ owner: address, admit, isGone: () => request.socket.destroyed });
    },
    release: (request) => places.get(request)?.leave(),
    recognize: (request) => places.get(request)?.move(),
  };
}
