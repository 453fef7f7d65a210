/** Fan-out: makes a delivery for each subscriber of an event. */
import { newId } from '../core/ids.ts';
import type { Tx } from '../db/client.ts';
import { accept } from './attempts.ts';
import type { ClaimedDelivery } from './claim-store.ts';
import { newEarlyAttempts, type EarlyAttempts } from './early.ts';
import type { EndpointQueue } from './endpoint-queue.ts';
import { insertDeliveries, takeEvents, type FanOutRow, type NewDelivery } from './fan-out-store.ts';
import type { Loop } from './loop.ts';
import type { RecordedAttempt } from './result-store.ts';
import { flush } from './results.ts';

/** Few, because each event may have 50 subscribers, and claims wait for the fan-out. */
const EVENTS_PER_FAN_OUT = 50;
/**
 * A delivery that is claimed when it is inserted costs a third less than one that is claimed later.
 * So events wait while the queues are full, but no longer than this.
 */
const WAIT_MAX_MS = 100;

/** So many at once: while one waits for its early attempts, another takes the next events. */
const FAN_OUTS_MAX = 2;
/**
 * After a fan-out has failed, the next ones insert their deliveries before they attempt them, for
 * this time. Otherwise a database that takes no inserts would have them sent again and again.
 */
const CAREFUL_MS = 60_000;

/**
 * Whether to fan out now: events are wanted, and either the queues have room or the last fan-out
 * was long enough ago.
 */
export function mayFanOut({ queues, state }: Loop): boolean {
  if (!state.wanted.events || state.fanOuts.size >= FAN_OUTS_MAX) return false;
  return queues.capacity() > 0 || performance.now() - state.fannedOutAtMs > WAIT_MAX_MS;
}

/**
 * Fans out the next events. Those of the deliveries that this worker claims are attempted at once,
 * before they are inserted. Opens a transaction.
 */
export async function fanOut(loop: Loop): Promise<void> {
  const { options, state } = loop;
  state.fannedOutAtMs = performance.now();
  const early = newEarlyAttempts();
  let plan: Plan | null = null;
  let stored: readonly RecordedAttempt[] = [];
  try {
    plan = await options.db.transaction(async (tx) => {
      const planned = await takeAndPlan(loop, tx);
      if (!planned.isCareful) {
        accept(loop, planned.claimed, early);
        await early.settle(planned.quickIds);
        stored = early.kept.filter(({ status }) => status === 'ok');
      }
      insertPlanned(loop, tx, planned, stored);
      return planned;
    });
  } catch (error) {
    state.carefulUntilMs = performance.now() + CAREFUL_MS;
    throw error;
  } finally {
    writeLater(loop, early, new Set(plan ? stored : []));
  }
  // Claims that have looked meanwhile have not seen them.
  for (const queue of plan.unclaimed) loop.queues.setMore(queue, 'pending');
  if (plan.isCareful) accept(loop, plan.claimed);
}

/** Takes the next events, and notes whether there are more. */
async function takeAndPlan(loop: Loop, tx: Tx): Promise<Plan> {
  const { state, options } = loop;
  const all = await takeEvents(tx, state.fanOutNext, EVENTS_PER_FAN_OUT);
  const rows = withoutBusy(all);
  const plan = planDeliveries(loop, rows, options.clock.now());
  const isAll = eventsOf(all).length < EVENTS_PER_FAN_OUT;
  state.fanOutNext = isAll || state.fanOutNext === 'newest' ? 'oldest' : 'newest';
  // If all of them were busy, the next tick takes others.
  if (!isAll && plan.events.length > 0) {
    state.wanted.events = true;
    loop.startRounds();
  }
  return plan;
}

function insertPlanned(
  { options }: Loop,
  tx: Tx,
  { at, events, deliveries }: Plan,
  stored: readonly RecordedAttempt[],
): void {
  if (events.length === 0) return;
  const attempts = new Map(stored.map((attempt) => [attempt.id, attempt]));
  insertDeliveries(tx, {
    at,
    worker: options.lock.number,
    events,
    deliveries: deliveries.map((one) => ({ ...one, attempt: attempts.get(one.id) ?? null })),
  });
}

/** Hands over the results that were kept. Those that were inserted count for their endpoints. */
function writeLater(loop: Loop, early: EarlyAttempts, stored: ReadonlySet<RecordedAttempt>): void {
  early.close();
  if (early.kept.length === 0) return;
  const { results } = loop.state;
  for (const one of early.kept) results.push({ ...one, isStored: stored.has(one) });
  flush(loop);
}

/** Leaves out the events with a busy subscriber. They are taken again later. */
function withoutBusy(rows: readonly FanOutRow[]): readonly FanOutRow[] {
  const keyOf = (row: FanOutRow): string => `${row.team_id}\n${row.event_id}`;
  const busy = new Set(rows.filter((row) => row.is_busy).map(keyOf));
  return busy.size === 0 ? rows : rows.filter((row) => !busy.has(keyOf(row)));
}

function eventsOf(rows: readonly FanOutRow[]): { teamId: string; id: string }[] {
  const events = new Map<string, { teamId: string; id: string }>();
  for (const { team_id: teamId, event_id: id } of rows) events.set(id, { teamId, id });
  return [...events.values()];
}

interface Plan {
  readonly at: Date;
  readonly events: readonly { readonly teamId: string; readonly id: string }[];
  readonly deliveries: Omit<NewDelivery, 'attempt'>[];
  /** Those of the deliveries that this worker claims. */
  readonly claimed: ClaimedDelivery[];
  /** The ids of those whose endpoints have answered quickly so far. */
  readonly quickIds: string[];
  /** The queues of the others. */
  readonly unclaimed: EndpointQueue[];
  /** Whether the deliveries are inserted before they are attempted. */
  readonly isCareful: boolean;
}

/**
 * Plans a delivery for each subscriber. This worker claims as many as it has room for, but none
 * while older ones of the same endpoint wait in the database.
 */
function planDeliveries({ queues, state }: Loop, rows: readonly FanOutRow[], at: Date): Plan {
  let capacity = queues.capacity();
  const claimedOf = new Map<EndpointQueue, number>();
  const plan: Plan = {
    at,
    events: eventsOf(rows),
    deliveries: [],
    claimed: [],
    quickIds: [],
    unclaimed: [],
    isCareful: performance.now() < state.carefulUntilMs,
  };
  for (const row of rows) {
    const { team_id: teamId, event_id: eventId, event_type: eventType } = row;
    const endpointId = row.endpoint_id;
    if (endpointId === null) continue;
    const queue = queues.queueOf(teamId, endpointId);
    const already = claimedOf.get(queue) ?? 0;
    const hasOlder = queue.more.pending || queue.isClaiming;
    const claimed = capacity > 0 && !hasOlder && already < queues.roomOf(queue);
    const id = newId('webhookDelivery');
    plan.deliveries.push({ teamId, id, endpointId, eventId, eventType, claimed });
    if (!claimed) {
      plan.unclaimed.push(queue);
      queues.setMore(queue, 'pending');
      continue;
    }
    capacity -= 1;
    claimedOf.set(queue, already + 1);
    plan.claimed.push({ ...row, ...firstAttempt(at), id, endpoint_id: endpointId });
    if (queue.isQuick) plan.quickIds.push(id);
  }
  return plan;
}

/** The columns of a delivery that was just inserted. */
function firstAttempt(at: Date) {
  return {
    status: 'pending',
    attempt: 0,
    extra_attempts: 0,
    next_try_at: at.toISOString(),
    urgent: false,
  } as const;
}
