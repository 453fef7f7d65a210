/**
 * Runs the single statements of callers, those outside transactions.
 *
 * Quick ones are pipelined on a few shared connections: a list request costs a third less processor
 * time than with a connection of its own. A slow statement there would delay those behind it, so
 * the server cancels it after `quickMs`. Nothing of it has happened, so it is run again on a
 * connection of its own, with the usual time limit. Its team counts as slow for a minute, and its
 * statements use such connections directly.
 */
import type pg from 'pg';
import type { Clock } from '../../core/clock.ts';
import type { ObserveRefusal } from '../../core/limits.ts';
import { hungUp, waitsWithoutLimit, type Caller } from '../caller.ts';
import { isCancelled, isConnectionBroken } from '../errors.ts';
import { senderOn, type Sender } from '../wire/query-group.ts';
import { cancelOnHangUp } from './hang-up.ts';
import type { ConnectionPool } from './pool.ts';
import { openNodeConnections } from './shared-connections.ts';
import { createTeamPlaces, halfOf } from './team-places.ts';
import type { BeginWait } from './waits.ts';
import type { Watchdog } from './watchdog.ts';

/** Sends a statement. May be called a second time, on another connection. */
export type Send<T> = (sender: Sender) => Promise<T>;

export interface SingleStatements {
  run<T>(caller: Caller, send: Send<T>): Promise<T>;
  /** Whether a statement of this caller would begin at once, on a shared connection. */
  readonly hasRoom: (caller: Caller) => boolean;
  /** How many wait because of the concurrency limits. */
  waiting(): { readonly statements: number; readonly slowStatements: number };
  close(): Promise<void>;
}

/** How long a team counts as slow after a slow statement. */
const SLOW_FOR_MS = 60_000;
/** The most statements in flight: on each shared connection, and of a team on all of them. */
const DEPTH = 32;
const QUICK_PER_TEAM = 4;

export function openSingleStatements({
  connections,
  watchdog,
  quickMs,
  quick,
  slow,
  observeRefusal,
  beginWait,
  clock,
}: {
  readonly connections: ConnectionPool;
  readonly watchdog: Watchdog;
  /** How long a statement may take on a shared connection. */
  readonly quickMs: number;
  /** The number of shared connections. */
  readonly quick: number;
  /** The number of connections for slow statements. */
  readonly slow: number;
  readonly observeRefusal: ObserveRefusal | undefined;
  readonly beginWait: BeginWait;
  readonly clock: Clock;
}): SingleStatements {
  const { grow } = connections;
  const shared = openNodeConnections({ connect: () => connections.connect(quickMs), grow }, quick);
  const quickQueue = createTeamPlaces({
    places: quick * DEPTH,
    perTeam: QUICK_PER_TEAM,
    observeRefusal,
    clock,
  });
  const slowQueue = createTeamPlaces({
    places: slow,
    perTeam: halfOf(slow),
    observeRefusal,
    clock,
  });
  const slowTeams = createSlowTeams(clock);
  const runQuick = <T>(caller: Caller, send: Send<T>, endWait: () => void): Promise<T> =>
    shared.run(caller.node ?? null, (client) => {
      endWait();
      return runLimited({ connections, watchdog, ms: quickMs }, client, send);
    });
  const runSlow = async <T>(caller: Caller, send: Send<T>): Promise<T> => {
    const endWait = beginWait('slow_statement');
    const leave = await slowQueue.enter(caller);
    try {
      const client = await connections.connect();
      endWait();
      return await runAlone({ connections, watchdog, client, clock }, caller, send);
    } finally {
      leave();
    }
  };
  const isSlow = ({ share }: Caller): boolean => share !== null && slowTeams.has(share);
  return {
    run: async (caller, send) => {
      if (waitsWithoutLimit(caller) || isSlow(caller)) return runSlow(caller, send);
      const endWait = beginWait('statement');
      const leave = await quickQueue.enter(caller);
      try {
        // While it waited, another statement of its team may have been slow.
        if (!isSlow(caller)) return await runQuick(caller, send, endWait);
      } catch (error) {
        if (!isCancelled(error)) throw error;
        if (caller.share !== null) slowTeams.add(caller.share);
      } finally {
        leave();
      }
      return runSlow(caller, send);
    },
    hasRoom: (caller) => !isSlow(caller) && quickQueue.hasRoom(caller),
    waiting: () => ({ statements: quickQueue.waiting(), slowStatements: slowQueue.waiting() }),
    close: () => shared.close(),
  };
}

interface Limits {
  readonly connections: ConnectionPool;
  readonly watchdog: Watchdog;
  readonly ms?: number;
}

/**
 * Runs a statement on a connection of its own, and releases that. Cancels the statement when the
 * caller hangs up.
 */
async function runAlone<T>(
  { client, clock, ...limits }: Limits & { readonly client: pg.PoolClient; readonly clock: Clock },
  { signal }: Caller,
  send: Send<T>,
): Promise<T> {
  const settle = cancelOnHangUp(client, clock, signal);
  let broken = false;
  try {
    return await runLimited(limits, client, send);
  } catch (error) {
    broken = isConnectionBroken(error);
    throw signal?.aborted ? hungUp() : error;
  } finally {
    const isUsable = await settle();
    client.release(broken || !isUsable);
  }
}

/**
 * Runs a single statement so that the server limits its time to `ms`, on any connection. Without
 * `ms` it is the process's limit.
 */
export function runLimited<T>(
  { connections, watchdog, ms }: Limits,
  client: pg.PoolClient,
  send: Send<T>,
): Promise<T> {
  return watchdog.guard(client, send(senderOn(client, connections.limitsFor(client, ms))));
}

/** Remembers which teams have had a slow statement lately. */
function createSlowTeams(clock: Clock): {
  has(teamId: string): boolean;
  add(teamId: string): void;
} {
  const until = new Map<string, number>();
  return {
    has: (teamId) => {
      const end = until.get(teamId);
      if (end === undefined) return false;
      if (clock.monotonicMs() < end) return true;
      until.delete(teamId);
      return false;
    },
    add: (teamId) => {
      // The oldest go first, so that the map stays small.
      until.delete(teamId);
      until.set(teamId, clock.monotonicMs() + SLOW_FOR_MS);
      for (const [id, end] of until) {
        if (clock.monotonicMs() < end) return;
        until.delete(id);
      }
    },
  };
}
