/**
 * Reads the bodies of requests, within limits that hold for the whole process: what has come of
 * large bodies shares a room (`body-room.ts`), and the event loop takes large bodies one at a time,
 * from one owner after the other, so that other requests are served in between.
 */
import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock, type Clock } from '../../core/clock.ts';
import { createFairQueue } from '../../core/fair-queue.ts';
import { findRawJsonFault } from '../../core/json.ts';
import type { ObserveRefusal } from '../../core/limits.ts';
import { ProblemError } from '../../core/problem.ts';
import { createBodyRoom } from './body-room.ts';
import {
  BODY_MAX_BYTES,
  decodeText,
  hasBody,
  isTyped,
  parseJson,
  readBytes,
  refuseBody,
  requireJson,
  SMALL_BYTES,
} from './request-body.ts';

/** How many bytes of large bodies the process holds at most, and how many of one owner. */
const TOTAL_MAX_BYTES = 32 * BODY_MAX_BYTES;
const OWNER_MAX_BYTES = 4 * BODY_MAX_BYTES;

/** What the limits measure time with. */
type BodyClock = Pick<Clock, 'monotonicMs' | 'every' | 'wait'>;

/**
 * `owner` is who shares a limit: a team, or a service of the host application. Both functions
 * resolve with undefined if there is no body. They throw `bad_request` (400, 413 or 415),
 * `unavailable` for a slow body while others wait for room, or a `ZodError` for a body that cannot
 * be parsed or holds too many values.
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

export function createBodies(
  observeRefusal: ObserveRefusal,
  clock: BodyClock = systemClock,
): Bodies {
  const limits = { totalMaxBytes: TOTAL_MAX_BYTES, ownerMaxBytes: OWNER_MAX_BYTES };
  const enter = createBodyRoom(limits, clock);
  const turn = createTurns(clock);
  const readAll = async (request: IncomingMessage, owner: string): Promise<Buffer> => {
    const reading = readBytes(request, owner, enter);
    try {
      const bytes = await reading.bytes;
      if (bytes.length > SMALL_BYTES) await turn(owner);
      return bytes;
    } finally {
      reading.end();
    }
  };
  const receive = async (request: IncomingMessage, owner: string): Promise<Buffer> => {
    try {
      if (isTyped(request)) requireJson(request);
      const bytes = await readAll(request, owner);
      if (bytes.length > 0) requireJson(request);
      return bytes;
    } catch (error) {
      if (error instanceof ProblemError && error.limit) observeRefusal(error.limit, owner);
      throw error;
    }
  };
  const readText = async (request: IncomingMessage, owner: string): Promise<string | undefined> => {
    if (!hasBody(request)) return undefined;
    const bytes = await receive(request, owner);
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

/**
 * Returns a function that yields: each call resolves in a turn of the event loop of its own. Owners
 * take turns, so nobody waits for more than one body of each other owner. After each turn there is
 * a pause that lasts as long as its work, so that other requests get half of the time, however many
 * large bodies wait.
 */
function createTurns(clock: BodyClock): (owner: string) => Promise<void> {
  const turns = createFairQueue({ places: 1, perOwner: 1 });
  const serve = async (begin: () => void, leave: () => void): Promise<void> => {
    await nextTurn();
    const began = clock.monotonicMs();
    begin();
    await nextTurn();
    await clock.wait(clock.monotonicMs() - began);
    leave();
  };
  return (owner) =>
    new Promise((begin) => void turns.enter({ owner, admit: (leave) => void serve(begin, leave) }));
}
