/**
 * Finds the endpoints that have something due in the database. What this worker does not know of:
 *
 *  * retries whose time has come. Each tick looks at those that became due since the last one, in
 *    the order of their times. So its cost depends on what is due, not on what waits.
 *  * deliveries that waited while their endpoint was paused. Each tick looks at the endpoints that
 *    have just been set to active.
 *  * what another worker knew of and did not finish. When a worker has gone, when this one starts,
 *    and when a round of its own has failed, it looks at all endpoints with something waiting.
 *
 *  * requested attempts. A wake-up and each tick look at all endpoints that have some.
 *
 * Whoever makes a delivery waiting while it is due notes its endpoint in memory (`setMore`). As a
 * safety net, each tick also looks at some of all endpoints, in turn, for what has been due for two
 * seconds. What has not is left to the worker that knows of it: workers that claim what others have
 * just inserted do twice the work.
 */
import { teamKey, type TeamKey } from '../core/team-key.ts';
import { listWorkersNow } from './claim-store.ts';
import type { Loop } from './loop.ts';
import {
  findActivated,
  findNewlyDue,
  findWaiting,
  type ActivatedEndpoint,
  FIRST_ENDPOINT,
  WAITING_STATUSES,
  type EndpointRef,
  type WaitingStatus,
} from './waiting-store.ts';

/** The search costs 10 µs an endpoint. */
const ENDPOINTS_PER_SEARCH = 500;
/** About 10 ms. */
const RETRIES_PER_SEARCH = 5_000;
/** A transaction may commit a retry this long after the time at which that is due. */
const COMMIT_MAX_MS = 5_000;
/** Longer than a worker that keeps up leaves a delivery waiting. */
const LEFT_ALONE_MS = 2_000;
/** How far the clocks of processes may be apart. Few endpoints are activated in this time. */
const CLOCKS_APART_MS = 60_000;

/** Looks at all endpoints with something waiting, in the next rounds. */
export function searchAll({ state }: Loop): void {
  for (const status of WAITING_STATUSES) {
    state.search.after[status] = FIRST_ENDPOINT;
    state.search.unfinished.add(status);
  }
}

/** Whether the search must go on before the next tick. */
export function hasSearch({ state }: Loop): boolean {
  const { unfinished, hasMoreDue } = state.search;
  return state.wanted.has('requested') || unfinished.size > 0 || hasMoreDue;
}

/** Searches for a while. Call it in each round. */
export async function search(loop: Loop, isTick: boolean): Promise<void> {
  const { wanted, search: own } = loop.state;
  const { unfinished, hasMoreDue } = own;
  if (wanted.delete('requested')) {
    own.after.requested = FIRST_ENDPOINT;
    unfinished.add('requested');
  }
  if (isTick || hasMoreDue) await searchNewlyDue(loop);
  if (isTick) await searchActivated(loop);
  for (const status of WAITING_STATUSES)
    if (isTick || unfinished.has(status)) await searchNext(loop, status);
}

/**
 * Looks at which workers are alive, and at the database's clock. If a worker has gone, searches
 * everything, because what it knew has gone with it. Throws if this worker is not among them: its
 * claims would be taken for those of a dead one.
 */
export async function noticeWorkers(loop: Loop): Promise<void> {
  const { lock, db, clock } = loop.options;
  const { search: own } = loop.state;
  const askedMs = clock.monotonicMs();
  const workers = await listWorkersNow(db);
  for (const { at } of workers.slice(0, 1)) clock.hear(at, askedMs);
  const alive = new Set(workers.map(({ number }) => number));
  if (!alive.has(lock.number)) {
    lock.renew();
    throw new Error('the lock of this worker is at another node than the database');
  }
  if ([...own.workers].some((number) => !alive.has(number))) searchAll(loop);
  own.workers = alive;
}

async function searchNewlyDue(loop: Loop): Promise<void> {
  const { options, state } = loop;
  const now = options.clock.now();
  const looksBack = { at: new Date(now.getTime() - COMMIT_MAX_MS), id: '' };
  const { due, next } = await findNewlyDue(options.db, {
    after: state.search.afterDue ?? looksBack,
    now,
    limit: RETRIES_PER_SEARCH,
  });
  state.search.afterDue = next ?? looksBack;
  state.search.hasMoreDue = next !== null;
  note(loop, due, ['retrying']);
}

async function searchActivated(loop: Loop): Promise<void> {
  const { options, state } = loop;
  const since = new Date(options.clock.now().getTime() - CLOCKS_APART_MS);
  const found = new Map((await findActivated(options.db, since)).map((row) => [keyOf(row), row]));
  const isNew = ([key]: readonly [TeamKey, EndpointRef]): boolean =>
    !state.search.activated.has(key);
  note(
    loop,
    [...found].filter(isNew).map(([, row]) => row),
    WAITING_STATUSES,
  );
  state.search.activated = new Set(found.keys());
}

/** An endpoint may be set to active again. */
function keyOf({ team_id, endpoint_id, activated_at }: ActivatedEndpoint): TeamKey {
  return teamKey(team_id, endpoint_id, activated_at);
}

async function searchNext(loop: Loop, status: WaitingStatus): Promise<void> {
  const { options, state } = loop;
  const { after, unfinished } = state.search;
  const now = options.clock.now();
  const { due, next } = await findWaiting(options.db, status, {
    after: after[status],
    limit: ENDPOINTS_PER_SEARCH,
    now: unfinished.has(status) ? now : new Date(now.getTime() - LEFT_ALONE_MS),
  });
  after[status] = next;
  if (next === FIRST_ENDPOINT) unfinished.delete(status);
  note(loop, due, [status]);
}

function note(
  { queues }: Loop,
  endpoints: readonly EndpointRef[],
  statuses: readonly WaitingStatus[],
): void {
  for (const { team_id, endpoint_id } of endpoints)
    for (const status of statuses) queues.setMore(queues.queueOf(team_id, endpoint_id), status);
}
