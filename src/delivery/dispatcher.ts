/**
 * The delivery loop of one worker. It makes deliveries from events, claims deliveries, attempts
 * them and writes the results:
 *
 *   event committed → fan-out: a delivery for each subscriber, claimed at once while there is room
 *   tick → claims of lost workers released; endpoints with something due found
 *   claim → endpoint queue → attempt → result, in batches → ok, or the time of the next attempt
 *
 * Life cycle (`LoopState.mode`): running → draining → stopped.
 *  * While running, *rounds* do what needs the database, one round at a time, for as long as there
 *    is anything to do (rounds.ts). Rounds start at a tick (every half second), at `wake` (a job
 *    reports a new event), and when attempts end and queues have room again. Attempts run beside
 *    the rounds, and results are written beside both.
 *  * Draining begins with `stop`: no more rounds, no more launches. What waits in the queues is
 *    released, attempts in flight end, and their results are written.
 *
 * The row in the database is the truth. What is in memory is a claim on it, and a tick or a job is
 * only a wake-up: losing one costs half a second.
 *
 * A worker that dies loses its advisory lock with its session. The others release its claims at
 * their next tick, so a kill costs half a second, too. If the answer to a claim is lost, the worker
 * releases the claims that it does not know of. Both can lead to a second delivery, but never to a
 * lost one.
 */
import type { TeamKey } from '../core/team-key.ts';
import type { Db } from '../db/client.ts';
import type { Database } from '../db/connections/database.ts';
import { holdSessionLock } from '../db/connections/session-lock.ts';
import { forgetEvents, WORKER_LOCK_CLASS } from './claim-store.ts';
import { TICK_MS, enter, newLoop, type DispatcherOptions, type Loop } from './loop.ts';
import { drainResults, writePostponed } from './results.ts';
import { keysInHand, releaseUnused, startRounds } from './rounds.ts';
import type { EndpointRef } from './waiting-store.ts';

/** A running delivery loop. */
export interface Dispatcher {
  /** Looks at once for new events, and for requested attempts unless there are only events. */
  wake(what: 'events' | 'all'): void;
  /** Looks for everything at once. */
  tick(): void;
  /** The deliveries that it has in hand. */
  inHand(): readonly TeamKey[];
  /** How many deliveries are in flight, how many wait, and how many of both slow endpoints hold. */
  stats(): { inFlight: number; slow: number; queued: number };
  /** The endpoints whose own limit holds their deliveries back. */
  atLimit(): readonly EndpointRef[];
  /**
   * Releases what is not attempted yet, lets attempts in flight end, and writes their results.
   * Never rejects.
   */
  stop(): Promise<void>;
}

const DRAIN_CHECK_MS = 10;

/** The delivery loops of one worker: one, or one for each shard of a distributed database. */
export interface Loops extends Dispatcher {
  /** The database as seen from each shard; none if it is not distributed. */
  databases(): readonly Db[];
}

/** What a worker's loops need. The caller closes the database and the sender after `stop`. */
export interface LoopsOptions extends Omit<DispatcherOptions, 'db' | 'beside' | 'lock'> {
  readonly databaseUrl: string;
  readonly db: Database;
}

/** Starts the loop of a worker, with a lock that shows other workers that this one is alive. */
export async function startLoop(options: LoopsOptions): Promise<Loops> {
  const lock = await holdSessionLock(options.databaseUrl, WORKER_LOCK_CLASS);
  const beside = options.db.forCaller({ share: 'beside the rounds', background: true });
  const dispatcher = startDispatcher({ ...options, beside, lock });
  const stop = async (): Promise<void> => {
    await dispatcher.stop();
    await lock.close();
  };
  return { ...dispatcher, stop, databases: () => [] };
}

/** Starts the loop. The caller closes the database, the lock and the sender after `stop`. */
export function startDispatcher(options: DispatcherOptions): Dispatcher {
  const loop = newLoop(options, startRounds);
  const { state, queues } = loop;
  const { clock } = options;
  const endTicks = clock.every(options.tickMs ?? TICK_MS, () => tick(loop));
  let stopped: Promise<void> | null = null;
  startRounds(loop);
  return {
    wake: (what) => {
      state.wanted.add('events');
      if (what === 'all') state.wanted.add('requested');
      startRounds(loop);
    },
    tick: () => tick(loop),
    inHand: () => keysInHand(loop),
    stats: () => queues.stats(),
    atLimit: () => queues.atLimit(clock.monotonicMs()),
    stop: () => {
      endTicks();
      stopped ??= drain(loop);
      return stopped;
    },
  };
}

function tick(loop: Loop): void {
  const { options, queues, state } = loop;
  for (const wanted of ['events', 'requested', 'tick'] as const) state.wanted.add(wanted);
  queues.noticeSlow(options.clock.monotonicMs());
  startRounds(loop);
  writePostponed(loop);
}

async function drain(loop: Loop): Promise<void> {
  const { options, queues, state } = loop;
  enter(loop, 'draining');
  await state.running.get('rounds');
  try {
    await releaseUnused(loop, Infinity);
  } catch (error) {
    // Other workers release these claims when this worker's lock ends.
    options.logger.warn({ err: error }, 'claims could not be released');
  }
  while (queues.stats().inFlight > 0) await options.clock.wait(DRAIN_CHECK_MS);
  await drainResults(loop);
  await Promise.all(state.running.values());
  await forgetEvents(options.db, options.lock.number).catch((error: unknown) =>
    // Other workers do it when this worker's lock ends.
    options.logger.warn({ err: error }, 'events could not be forgotten'),
  );
  enter(loop, 'stopped');
}
