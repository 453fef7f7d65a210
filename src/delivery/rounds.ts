/** The part of the loop that uses the database: rounds, one at a time, while there is work. */
import type { TeamKey } from '../core/team-key.ts';
import { accept } from './attempts.ts';
import { runBeside } from './beside.ts';
import {
  forgetEvents,
  releaseClaims,
  releaseDead,
  releaseForgotten,
  type ReleasedClaim,
} from './claim-store.ts';
import { claim } from './claims.ts';
import { fanOut, lookAtAll, mayFanOut } from './fan-out.ts';
import { analyzeGrown } from './growth-store.ts';
import type { Loop } from './loop.ts';
import { placeEvents } from './places.ts';
import { hasSearch, noticeWorkers, search, searchAll } from './search.ts';
import { WAITING_STATUSES, waitsAs } from './waiting-store.ts';

const RETRY_MS = 250;
/**
 * A claim that is older is released instead of attempted: the endpoint may have been paused or
 * deleted since.
 */
const CLAIM_STALE_MS = 1_000;
const FORGOTTEN_EVERY_TICKS = 10;

/** Starts rounds unless they run already, or there is nothing to do. */
export function startRounds(loop: Loop): void {
  const { state } = loop;
  if (state.rounds || !hasWork(loop)) return;
  state.rounds = runRounds(loop).finally(() => {
    state.rounds = null;
    // There may be new work since the last round.
    startRounds(loop);
  });
}

function hasWork(loop: Loop): boolean {
  const { mode, wanted } = loop.state;
  if (mode !== 'running') return false;
  if (wanted.tick || wanted.release || loop.queues.canClaim()) return true;
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
    const { tick, release } = wanted;
    wanted.tick = false;
    wanted.release = false;
    try {
      await round(loop, tick, release);
    } catch (error) {
      options.logger.warn({ err: error }, 'the delivery loop could not use the database');
      state.isInDoubt = true;
      wanted.events = true;
      wanted.tick = true;
      // What it has taken to claim is not noted any more.
      searchAll(loop);
      await options.clock.wait(RETRY_MS);
    }
  }
}

async function round(loop: Loop, isTick: boolean, release: boolean): Promise<void> {
  if (isTick) {
    lookAtAll(loop);
    await noticeWorkers(loop);
    await recover(loop);
    loop.state.ticks += 1;
    if (loop.state.unwritten.size > 0) analyze(loop);
  }
  if (isTick || release)
    await releaseUnused(loop, loop.options.clock.monotonicMs() - CLAIM_STALE_MS);
  // What is claimed in between must not shrink the parts of the others.
  const room = loop.queues.capacity();
  const fresh = mayFanOut(loop) ? await fanOut(loop, loop.queues.divide(room, true).pending) : [];
  accept(loop, fresh);
  await search(loop, isTick);
  const rooms = loop.queues.divide(room, fresh.length > 0);
  for (const status of WAITING_STATUSES)
    await claim(loop, status, rooms[status] - (status === 'pending' ? fresh.length : 0));
  if (isTick) placeEvents(loop);
}

/**
 * Releases the claims that no worker has in hand: lost ones of this worker and those of dead ones.
 */
async function recover(loop: Loop): Promise<void> {
  const { options, queues, state } = loop;
  const { db, lock } = options;
  queues.forgetIdle();
  const released: ReleasedClaim[] = [];
  const isThorough = state.isInDoubt || state.ticks % FORGOTTEN_EVERY_TICKS === 0;
  // Before anything is awaited: what is in doubt from then on is for the next time.
  state.isInDoubt = false;
  if (isThorough) {
    const inHand = [...keysInHand(loop), ...(options.inHandElsewhere?.() ?? [])];
    released.push(...(await releaseForgotten(db, lock.number, inHand)));
  }
  released.push(...(await releaseDead(db)));
  if (isThorough || state.hasEvents) {
    state.hasEvents = keysInHand(loop).length > 0;
    await forgetEvents(db, lock.number);
  }
  for (const row of released)
    queues.setMore(queues.queueOf(row.team_id, row.endpoint_id), waitsAs(row));
}

/** Keeps plans right. */
function analyze(loop: Loop): void {
  if (!loop.options.isOneOfMany) runBeside(loop, 'analyze', analyzeGrown);
}

/** Returns the keys of the deliveries that wait in the queues, or whose result is not written. */
export function keysInHand({ queues, state }: Loop): TeamKey[] {
  return [...state.unwritten, ...queues.queuedKeys()];
}

/** Releases what was claimed before `sinceMs`, and what slow endpoints cannot use now. */
export async function releaseUnused(loop: Loop, sinceMs: number): Promise<void> {
  const { options, queues, state } = loop;
  const unused = queues.withdraw(sinceMs);
  if (unused.length === 0) return;
  if (!(await releaseClaims(options.db, options.lock.number, unused))) state.isInDoubt = true;
}
