/**
 * Reads the bodies of requests, within limits that hold for the whole process: a team that sends
 * many large bodies at once waits for its own, and the event loop takes large bodies one at a time,
 * so that other requests are served in between.
 */
import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { findRawJsonFault } from '../../core/json.ts';
import {
  BODY_MAX_BYTES,
  decodeText,
  hasBody,
  incompleteBody,
  isBodySmall,
  lengthOf,
  parseJson,
  readBytes,
  refuseBody,
  requireJson,
} from './request-body.ts';

/** How many bytes of large bodies the process holds at most, and how many of one owner. */
const TOTAL_MAX_BYTES = 32 * BODY_MAX_BYTES;
const OWNER_MAX_BYTES = 4 * BODY_MAX_BYTES;

/**
 * `owner` is who shares a limit: a team, or a service of the host application. Both functions
 * resolve with undefined if there is no body. They throw `bad_request` (400, 413 or 415), or a
 * `ZodError` for a body that cannot be parsed or holds too many values.
 */
export interface Bodies {
  /**
   * Reads and parses JSON. Unlike the usual parsers, it refuses malformed UTF-8 instead of
   * repairing it, so that what is stored is what was sent.
   */
  readonly readJson: (request: IncomingMessage, owner: string) => Promise<unknown>;
  /** Reads JSON, but leaves the parsing, and the errors of its syntax, to the caller. */
  readonly readText: (request: IncomingMessage, owner: string) => Promise<string | undefined>;
}

export function createBodies(): Bodies {
  const take = createBudget();
  const turn = createTurns();
  const readLarge = async (request: IncomingMessage, owner: string): Promise<Buffer> => {
    const giveBack = await take(request, owner, lengthOf(request) ?? BODY_MAX_BYTES);
    try {
      const bytes = await readBytes(request);
      await turn();
      return bytes;
    } finally {
      giveBack();
    }
  };
  const readText = async (request: IncomingMessage, owner: string): Promise<string | undefined> => {
    if (!hasBody(request)) return undefined;
    requireJson(request);
    const bytes = await (isBodySmall(request) ? readBytes(request) : readLarge(request, owner));
    if (bytes.length === 0) return undefined;
    const fault = findRawJsonFault(bytes);
    if (fault) throw refuseBody(fault.message, fault.code);
    return decodeText(bytes);
  };
  return {
    readText,
    readJson: async (request, owner) => {
      const text = await readText(request, owner);
      return text === undefined ? undefined : parseJson(text);
    },
  };
}

interface Waiting {
  readonly owner: string;
  readonly bytes: number;
  readonly begin: () => void;
}

/**
 * Returns the function that resolves when there is room for the bytes of a body, with the function
 * that gives the room back. Rejects if the client goes before that.
 */
function createBudget() {
  const held = new Map<string, number>();
  const waiting = new Set<Waiting>();
  let total = 0;
  const heldBy = (owner: string): number => held.get(owner) ?? 0;
  const add = (owner: string, bytes: number): void => {
    total += bytes;
    if (heldBy(owner) + bytes === 0) held.delete(owner);
    else held.set(owner, heldBy(owner) + bytes);
  };
  const beginAll = (): void => {
    for (const next of waiting) {
      if (total + next.bytes > TOTAL_MAX_BYTES) return;
      if (heldBy(next.owner) + next.bytes > OWNER_MAX_BYTES) continue;
      waiting.delete(next);
      add(next.owner, next.bytes);
      next.begin();
    }
  };
  return (request: IncomingMessage, owner: string, bytes: number): Promise<() => void> =>
    new Promise((resolve, reject) => {
      const giveBack = (): void => {
        add(owner, -bytes);
        beginAll();
      };
      const begin = (): void => {
        request.off('close', leave);
        resolve(giveBack);
      };
      const next: Waiting = { owner, bytes, begin };
      const leave = (): void => {
        waiting.delete(next);
        reject(incompleteBody());
      };
      waiting.add(next);
      request.once('close', leave);
      if (request.destroyed) leave();
      else beginAll();
    });
}

/**
 * Returns the function that resolves in a turn of the event loop that no other large body has. The
 * next turn comes after a pause as long as the work of the last one: however many large bodies
 * wait, half of the time belongs to other requests.
 */
function createTurns(): () => Promise<void> {
  let last = Promise.resolve();
  const pause = async (): Promise<void> => {
    const began = performance.now();
    await nextTurn();
    await delay(performance.now() - began);
  };
  return () => {
    const turn = last.then(() => nextTurn());
    last = turn.then(pause);
    return turn;
  };
}
