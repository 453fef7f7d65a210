/** Fan-out: makes a delivery for each subscriber of an event. */
import type { Clock } from '../core/clock.ts';
import { newId } from '../core/ids.ts';
import { teamKey, type TeamKey } from '../core/team-key.ts';
import type { ClaimedDelivery } from './claim-store.ts';
import type { EndpointQueue } from './endpoint-queue.ts';
import {
  DELIVERIES_PER_EVENT,
  insertDeliveries,
  takeEvents,
  type FanOutRow,
  type NewDelivery,
} from './fan-out-store.ts';
import { findOldestWaiting } from './beside-store.ts';
import { IDLE_MAX_MS, runBeside, type FanOutState, type Loop } from './loop.ts';
import { ROUND_MAX } from './queues.ts';

const EVENTS_PER_FAN_OUT = 50;
/**
 * A delivery that is claimed when it is inserted costs a third less than one that is claimed later.
 * So events wait while the queues are full, but no longer than this and a tick.
 */
const WAIT_MAX_MS = 250;

/**
 * Whether to fan out now: it is wanted, and either the queues have room or the last fan-out was
 * long enough ago.
 */
export function mayFanOut({ options, queues, state }: Loop): boolean {
  if (!state.wanted.has('events')) return false;
  if (queues.roomForNew() > 0) return true;
  return options.clock.monotonicMs() - state.fanOut.lastAtMs > WAIT_MAX_MS;
}

// Where a loop's look for events that wait for their fan-out begins. An index gives these. While an
// old transaction is open, of a backup for instance, Postgres keeps the entries of those that are
// done, and each look would pass over all of them: 0.3 ms for a thousand, so that a loop that looks
// twice a second would stand still after some millions.
//
// So a look begins a little before the oldest event that it took, or before now. What waits before
// that, because the loop has just begun, or because it was committed late or by a machine whose
// clock is behind, is found by a look at all events. It runs beside the rounds, every half minute:
// no delivery waits for it, nor ends with it if it takes too long.

/** Longer than a transaction may take, and than clocks usually differ. */
const LATE_MAX_MS = 120_000;
/** Of ticks: a half minute. */
const WHOLE_EVERY_TICKS = 60;

/** What a look that began at `fromMs` has taken. */
export interface Seen {
  readonly fromMs: number;
  /** When the oldest of these events was created; undefined: there was none. */
  readonly oldest: string | undefined;
  /** Whether it has taken all that wait. */
  readonly isAll: boolean;
}

/** Begins the next look where events may wait: the oldest one is always among those taken. */
export function endLook(look: FanOutState, { fromMs, oldest, isAll }: Seen, clock: Clock): void {
  // One at all events has found others meanwhile.
  if (look.fromMs < fromMs) return;
  const nowMs = clock.now().getTime();
  // An event of a machine whose clock is ahead says nothing about the others.
  const oldestMs = oldest === undefined ? -Infinity : Math.min(Date.parse(oldest), nowMs);
  look.fromMs = Math.max(fromMs, oldestMs - LATE_MAX_MS, isAll ? nowMs - IDLE_MAX_MS : -Infinity);
}

/** Whether it is time for a look at all events. If so, it is counted as begun. */
export function beginWhole(look: FanOutState, ticks: number): boolean {
  if (ticks - look.wholeAt < WHOLE_EVERY_TICKS) return false;
  look.wholeAt = ticks;
  return true;
}

/** Begins a look at all events if it is time for one. The next round takes what it finds. */
export function lookAtAll(loop: Loop): void {
  const { fanOut: look, ticks, wanted } = loop.state;
  // A shard has only its part of the entries, and its loop looks at all of them.
  if (loop.options.oneOfMany || !beginWhole(look, ticks)) return;
  runBeside(loop, 'look', async (db) => {
    const oldest = await findOldestWaiting(db);
    if (oldest === null || oldest.getTime() >= look.fromMs) return;
    look.fromMs = oldest.getTime();
    wanted.add('events');
    loop.startRounds();
  });
}

/**
 * How many events to take: as many as there is room for their deliveries. What is left over waits
 * unclaimed, and then the endpoint's new ones are left over, too. Without any room they are as many
 * as if there were all of it.
 */
function eventsToTake({ state }: Loop, room: number): number {
  const byRoom = Math.floor((room || ROUND_MAX) / state.fanOut.deliveriesPerEvent);
  return Math.min(EVENTS_PER_FAN_OUT, Math.max(1, byRoom));
}

/**
 * Fans out the next events. Returns the deliveries that this worker claimed when it inserted them,
 * as many as there is room for.
 */
export async function fanOut(loop: Loop): Promise<ClaimedDelivery[]> {
  const { options, queues, state } = loop;
  state.wanted.delete('events');
  state.fanOut.lastAtMs = options.clock.monotonicMs();
  const at = options.clock.now();
  const room = queues.roomForNew();
  const limit = eventsToTake(loop, room);
  const { fromMs, before } = state.fanOut;
  const from = options.oneOfMany ? null : new Date(fromMs);
  const { rows, free, claimed } = await options.db.transaction(async (tx) => {
    const rows = await takeEvents(tx, { limit, from, before });
    const free = withoutBusy(rows);
    const { deliveries, claimed } = planDeliveries(loop, { rows: free, room, at });
    const worker = options.lock.number;
    if (free.length > 0) insertDeliveries(tx, { at, worker, events: eventsOf(free), deliveries });
    return { rows, free, claimed };
  });
  noteTaken(loop, { limit, fromMs, rows, free });
  if (claimed.length > 0) state.wanted.add('forgetEvents');
  return claimed;
}

/** `rows` were taken, at most `limit` events; those in `free` did not have to wait. */
interface Taken {
  readonly limit: number;
  readonly fromMs: number;
  readonly rows: readonly FanOutRow[];
  readonly free: readonly FanOutRow[];
}

/** Notes how many the next fan-out takes, and whether it is wanted at once. */
function noteTaken({ options, state }: Loop, { limit, fromMs, rows, free }: Taken): void {
  const events = eventsOf(rows).length;
  const isAll = events < limit;
  const hasBusy = free.length < rows.length;
  const [first] = rows;
  const seen = { fromMs, oldest: first?.event_created_at, isAll: isAll && !hasBusy };
  const { fanOut: own } = state;
  endLook(own, seen, options.clock);
  own.before = first?.reached ?? null;
  // If some were busy, the next fan-out takes more, to get past them.
  if (hasBusy) own.deliveriesPerEvent = 1;
  // The next burst may be of another kind.
  else if (isAll) own.deliveriesPerEvent = DELIVERIES_PER_EVENT;
  else own.deliveriesPerEvent = Math.max(rows.length / events, own.deliveriesPerEvent / 2);
  // If all of them were busy, the next tick takes others.
  if (!isAll && free.length > 0) state.wanted.add('events');
}

/** Leaves out the events with a busy subscriber. They are taken again later. */
function withoutBusy(rows: readonly FanOutRow[]): readonly FanOutRow[] {
  const busy = new Set(rows.filter((row) => row.is_busy).map(keyOf));
  return busy.size === 0 ? rows : rows.filter((row) => !busy.has(keyOf(row)));
}

function eventsOf(rows: readonly FanOutRow[]): { teamId: string; id: string }[] {
  const events = new Map<TeamKey, { teamId: string; id: string }>();
  for (const row of rows) events.set(keyOf(row), { teamId: row.team_id, id: row.event_id });
  return [...events.values()];
}

function keyOf(row: FanOutRow): TeamKey {
  return teamKey(row.team_id, row.event_id);
}

interface Plan {
  readonly deliveries: NewDelivery[];
  /** Those of the deliveries that this worker claims. */
  readonly claimed: ClaimedDelivery[];
}

/**
 * Plans a delivery for each subscriber. This worker claims as many as there is room for, but none
 * while older ones of the same endpoint wait in the database, or may do: it has just begun, or a
 * round has failed, and not all endpoints have been looked at since. Those of a paused endpoint
 * wait. They are looked for as others are: it may be active again when they are inserted, and the
 * search for such endpoints over.
 */
function planDeliveries(
  { queues, state }: Loop,
  {
    rows,
    room,
    at,
  }: { readonly rows: readonly FanOutRow[]; readonly room: number; readonly at: Date },
): Plan {
  let left = state.search.unfinished.has('pending') ? 0 : room;
  const claimedOf = new Map<EndpointQueue, number>();
  const plan: Plan = { deliveries: [], claimed: [] };
  for (const row of rows) {
    if (row.endpoint_id === null) continue;
    const { team_id: teamId, event_id: eventId, event_type: eventType } = row;
    const { endpoint_id: endpointId } = row;
    const queue = queues.queueOf(teamId, endpointId);
    const already = claimedOf.get(queue) ?? 0;
    const mayClaim = row.is_active && left > 0 && !queue.more.pending;
    const claimed = mayClaim && already < queues.roomOf(queue);
    const id = newId('webhookDelivery');
    plan.deliveries.push({ teamId, id, endpointId, eventId, eventType, claimed });
    if (!claimed) {
      queues.setMore(queue, 'pending');
      continue;
    }
    left -= 1;
    claimedOf.set(queue, already + 1);
    plan.claimed.push({ ...row, ...firstAttempt(at), id });
  }
  return plan;
}

/** The columns of a delivery that was just inserted. */
function firstAttempt(at: Date) {
  return {
    status: 'pending',
    attempt: 0,
    scheduled_attempts: 0,
    next_try_at: at.toISOString(),
    urgent: false,
    resent: false,
    shows_person: true,
  } as const;
}
