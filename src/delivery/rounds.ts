/** The part of the loop that uses the database: rounds, one at a time, while there is work. */
import type { TeamKey } from '../core/team-key.ts';
import { accept, launch } from './attempts.ts';
import {
  claimDue,
  forgetEvents,
  releaseClaims,
  releaseDead,
  releaseForgotten,
  type ReleasedClaim,
} from './claim-store.ts';
import type { EndpointQueue } from './endpoint-queue.ts';
import { fanOut, lookAtAll, mayFanOut } from './fan-out.ts';
import { runBeside, type Loop } from './loop.ts';
import { hasSearch, noticeWorkers, search, searchAll } from './search.ts';
import { waitsAs } from './waiting-store.ts';
import type { Db } from '../db/client.ts';
import {
  analyzeGrown,
  givePlaces,
  hasUnplaced,
  takeUnplaced,
  type NumberedEvent,
  type UnplacedEvent,
} from './beside-store.ts';

const RETRY_MS = 250;
/**
 * A claim that is older is released instead of attempted: the endpoint may have been paused or
 * deleted since.
 */
const CLAIM_STALE_MS = 1_000;
const FORGOTTEN_EVERY_TICKS = 10;

/** Launches what is ready. Starts rounds unless they run already, or there is nothing to do. */
export function startRounds(loop: Loop): void {
  const { state } = loop;
  launch(loop);
  if (state.running.has('rounds') || !hasWork(loop)) return;
  const rounds = runRounds(loop).finally(() => {
    state.running.delete('rounds');
    // There may be new work since the last round.
    startRounds(loop);
  });
  state.running.set('rounds', rounds);
}

function hasWork(loop: Loop): boolean {
  const { mode, wanted } = loop.state;
  if (mode !== 'running') return false;
  if (wanted.has('tick') || loop.queues.canClaim()) return true;
  return mayFanOut(loop) || hasSearch(loop);
}

async function runRounds(loop: Loop): Promise<void> {
  const { state, options } = loop;
  const { wanted } = state;
  let hasLock = true;
  while (hasWork(loop)) {
    if (!(await options.lock.isHeld())) {
      const err = options.lock.fault();
      if (hasLock) options.logger.warn({ err }, 'the delivery loop waits: it has no lock');
      hasLock = false;
      await options.clock.wait(RETRY_MS);
      continue;
    }
    hasLock = true;
    const tick = wanted.delete('tick');
    try {
      await round(loop, tick);
    } catch (error) {
      options.logger.warn({ err: error }, 'the delivery loop could not use the database');
      for (const one of ['recovery', 'events', 'tick'] as const) wanted.add(one);
      // What it has taken to claim is not noted any more.
      searchAll(loop);
      await options.clock.wait(RETRY_MS);
    }
  }
}

async function round(loop: Loop, isTick: boolean): Promise<void> {
  const { options, state } = loop;
  if (isTick) {
    lookAtAll(loop);
    await noticeWorkers(loop);
    await recover(loop);
    state.ticks += 1;
    if (state.unwritten.size > 0) analyze(loop);
    await releaseUnused(loop, options.clock.monotonicMs() - CLAIM_STALE_MS);
  }
  if (mayFanOut(loop)) accept(loop, await fanOut(loop));
  await search(loop, isTick);
  await claim(loop);
  if (isTick) placeEvents(loop);
}

/** Claims due deliveries of the endpoints that are known to have some, and launches what it can. */
async function claim(loop: Loop): Promise<void> {
  const { options, queues } = loop;
  const { db, lock, clock } = options;
  const byStatus = Map.groupBy(queues.takeShares(queues.capacity()), ({ status }) => status);
  for (const [status, shares] of byStatus) {
    const rows = await claimDue(db, status, { worker: lock.number, shares, now: clock.now() });
    const claimed = new Map<EndpointQueue, number>();
    for (const { team_id, endpoint_id } of rows) {
      const queue = queues.queueOf(team_id, endpoint_id);
      claimed.set(queue, (claimed.get(queue) ?? 0) + 1);
    }
    accept(loop, rows);
    // If the claim filled a whole share, there may be more.
    for (const { queue, room } of shares)
      if (claimed.get(queue) === room) queues.setMore(queue, status);
  }
}

/**
 * Releases the claims that no worker has in hand: lost ones of this worker and those of dead ones.
 */
async function recover(loop: Loop): Promise<void> {
  const { options, queues, state } = loop;
  const { db, lock } = options;
  queues.forgetIdle();
  const released: ReleasedClaim[] = [];
  const isDue = state.ticks % FORGOTTEN_EVERY_TICKS === 0;
  // Before anything is awaited: what is in doubt from then on is for the next time.
  const isThorough = state.wanted.delete('recovery') || isDue;
  if (isThorough) {
    const inHand = [...keysInHand(loop), ...(options.oneOfMany?.inHandOfAll() ?? [])];
    released.push(...(await releaseForgotten(db, lock.number, inHand)));
  }
  released.push(...(await releaseDead(db)));
  if (state.wanted.delete('forgetEvents') || isThorough) {
    if (keysInHand(loop).length > 0) state.wanted.add('forgetEvents');
    await forgetEvents(db, lock.number);
  }
  for (const row of released)
    queues.setMore(queues.queueOf(row.team_id, row.endpoint_id), waitsAs(row));
}

/** Returns the keys of the deliveries that wait in the queues, or whose result is not written. */
export function keysInHand({ queues, state }: Loop): TeamKey[] {
  return [...state.unwritten, ...queues.waitingKeys()];
}

/** Releases what was claimed before `sinceMs`, and what slow endpoints cannot use now. */
export async function releaseUnused(loop: Loop, sinceMs: number): Promise<void> {
  const { options, queues, state } = loop;
  const unused = queues.withdraw(sinceMs);
  if (unused.length === 0) return;
  if (!(await releaseClaims(options.db, options.lock.number, unused))) state.wanted.add('recovery');
}

/** Keeps plans right. */
function analyze(loop: Loop): void {
  if (!loop.options.oneOfMany) runBeside(loop, 'analyze', analyzeGrown);
}

// Gives each event its place in the order in which `GET /events?order=asc` reads (why it is safe:
// features/events/rules.ts). It begins at each tick and runs beside the rounds: it waits for
// nobody's lock, and deliveries wait for neither a failure of it nor its look at all events, which
// is slow behind an old transaction (fan-out.ts). To begin that one late, too, would place an older
// event behind a newer one, which a reader who begins behind the older one would not see.

/** Takes 10 ms. */
const BATCH = 500;

/** Begins to give places to all events that wait for one, unless it has begun. */
function placeEvents(loop: Loop): void {
  runBeside(loop, 'place', async (db) => {
    while (loop.state.mode === 'running' && (await placeBatch(db, BATCH)));
  });
}

/**
 * Gives places to at most `limit` events. Returns whether there may be more. A team whose lock
 * another worker has is passed over: that worker may hang, and the team's events be the oldest.
 */
export async function placeBatch(db: Db, limit: number): Promise<boolean> {
  if (!(await hasUnplaced(db))) return false;
  return db.transaction(async (tx) => {
    const others = new Set<string>();
    for (let room = limit; room > 0;) {
      const taken = await takeUnplaced(tx, room, [...others]);
      const own = taken.filter((event) => event.is_own);
      if (own.length > 0) givePlaces(tx, numbered(own));
      if (taken.length < room) return false;
      for (const event of taken) if (!event.is_own) others.add(event.team_id);
      room -= own.length;
    }
    return true;
  });
}

function numbered(events: readonly UnplacedEvent[]): NumberedEvent[] {
  const counts = new Map<string, number>();
  return events.map(({ team_id: teamId, id }) => {
    const number = (counts.get(teamId) ?? 0) + 1;
    counts.set(teamId, number);
    return { teamId, id, number };
  });
}
