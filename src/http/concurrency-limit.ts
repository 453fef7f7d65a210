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
import { createLine, type Line } from '../core/line.ts';

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

interface Address {
  taken: number;
  takenByRecognized: number;
  readonly waiting: Line<Waiting>;
}

/** What a request holds. */
interface Place {
  readonly leave: () => void;
  /** Moves to a place for recognized requests, if there is one. */
  readonly move: () => void;
}

interface Waiting {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly next: () => void;
}

export function createConcurrencyLimit(
  placeMaxMs = PLACE_MAX_MS,
  clock: Pick<Clock, 'after'> = systemClock,
): ConcurrencyLimit {
  const addresses = new Map<string, Address>();
  const places = new WeakMap<IncomingMessage, Place>();

  const letIn = (name: string, address: Address, { request, response, next }: Waiting): void => {
    address.taken += 1;
    let isRecognized = false;
    const leave = (): void => {
      if (!places.delete(request)) return;
      endLimit();
      if (!isRecognized) {
        setImmediate(letNextIn, name, address);
        return;
      }
      address.takenByRecognized -= 1;
      forgetEmpty(name, address);
    };
    const move = (): void => {
      if (isRecognized || address.takenByRecognized === PLACES_OF_RECOGNIZED) return;
      isRecognized = true;
      address.takenByRecognized += 1;
      setImmediate(letNextIn, name, address);
    };
    const endLimit = clock.after(placeMaxMs, leave);
    places.set(request, { leave, move });
    // A response that waits behind another one gets no event if the connection ends.
    request.once('close', leave);
    response.once('close', leave);
    next();
  };
  const letNextIn = (name: string, address: Address): void => {
    address.taken -= 1;
    for (let waiting = address.waiting.shift(); waiting; waiting = address.waiting.shift()) {
      if (waiting.request.socket.destroyed) continue;
      letIn(name, address, waiting);
      return;
    }
    forgetEmpty(name, address);
  };
  const forgetEmpty = (name: string, { taken, takenByRecognized }: Address): void => {
    if (taken === 0 && takenByRecognized === 0) addresses.delete(name);
  };
  return {
    enter: (name, request, response, next) => {
      if (request.socket.destroyed) return;
      const address = addresses.get(name) ?? {
        taken: 0,
        takenByRecognized: 0,
        waiting: createLine(),
      };
      addresses.set(name, address);
      if (address.taken < PLACES_PER_ADDRESS) letIn(name, address, { request, response, next });
      else address.waiting.join({ request, response, next });
    },
    release: (request) => places.get(request)?.leave(),
    recognize: (request) => places.get(request)?.move(),
  };
}
