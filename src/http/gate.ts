/**
 * Lets the requests of each address in by turns, so that one address that sends thousands at once
 * is served as fast as before, but nobody else waits behind all of them.
 *
 * A request holds a place of its address until its caller is known and counted, or it was
 * answered. The place is free at the next turn of the event loop: so a request that is answered at
 * once, without waiting for anything, takes its turn like the others.
 *
 * A caller that is recognized, by a key that was valid at its last request, moves to one of the
 * places that are only for such callers, and the first one is free at the next turn. They are more,
 * because one statement looks up all of them that wait.
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
  /** The key was valid at its last request: moves to a place for such callers, if one is free. */
  readonly recognized: (request: IncomingMessage) => void;
}

/** Few enough that a turn of the event loop stays short, and many enough to fill a round trip. */
const PLACES_PER_ADDRESS = 16;
/** More places, beside those. Nobody waits for one of them. */
const PLACES_OF_RECOGNIZED = 64;
/**
 * A place is given to the next one after this time. Otherwise, while the database is silent, each
 * request would wait for all the time limits of those before it.
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
  /** To one for recognized callers, if there is one. */
  readonly move: () => void;
}

interface Waiting {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly next: () => void;
}

export function createGate(placeMaxMs = PLACE_MAX_MS): Gate {
  const addresses = new Map<string, Address>();
  const places = new WeakMap<IncomingMessage, Place>();

  const letIn = (name: string, address: Address, { request, response, next }: Waiting): void => {
    address.taken += 1;
    let isRecognized = false;
    const leave = (): void => {
      if (!places.delete(request)) return;
      clearTimeout(limit);
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
    const limit = setTimeout(leave, placeMaxMs);
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
    known: (request) => places.get(request)?.leave(),
    recognized: (request) => places.get(request)?.move(),
  };
}
