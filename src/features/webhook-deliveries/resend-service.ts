/**
 * Bulk resends: sends an endpoint's failed deliveries again. A job resends one batch. It makes the
 * next failed deliveries due, moves the position behind them, and adds the job of the next batch,
 * all in one transaction. So a worker can be killed at any moment: a batch is written together with
 * its position or not at all, and each delivery is queued once.
 *
 * Resent deliveries are retries of their endpoint, with its turns and its share of the slots. They
 * are not urgent, because 10,000 urgent ones would hold up the tests and retries of every other
 * team. A batch waits until most of the batch before it was attempted. So a cancellation still has
 * something to cancel, and a receiver that fails again does not get all of them.
 */
import { requireEventType } from '../../core/events.ts';
import { newId } from '../../core/ids.ts';
import { invalidField, notFound, ProblemError, unknownId } from '../../core/problem.ts';
import { toInstant } from '../../core/shapes.ts';
import type { Clock } from '../../core/clock.ts';
import { limitOf } from '../../core/team-limits.ts';
import type { Db } from '../../db/client.ts';
import { readChangeContext } from '../../db/change-context.ts';
import { record, type ChangeContext } from '../../db/outbox.ts';
import { requireResendStatus } from './rules.ts';
import * as store from './resend-store.ts';
import type { Counted, ResendRow, StartFacts, Wanted } from './resend-store.ts';

/** The job that resends one batch; its payload is `ResendJob`. */
export const RESEND_DELIVERIES = 'resend_deliveries';

/** The payload of the job. */
export interface ResendJob {
  readonly teamId: string;
  readonly endpointId: string;
  readonly resendId: string;
}

const BATCH = 500;
/** A batch waits while the endpoint has this many due retries. */
const DUE_MAX = BATCH / 2;
const WAIT_MS = 1_000;
/** How long a batch waits while the endpoint is paused. */
const PAUSED_WAIT_MS = 30_000;

/** Which failed deliveries to send again. */
export interface WantedResend {
  /** null: of every active endpoint that has no resend in progress. */
  readonly endpointId: string | null;
  /** ISO in any time zone: those that were created then or later. */
  readonly since: string;
  /** ISO in any time zone: those that were created before; null: until now. */
  readonly until: string | null;
  /** null: of every type. */
  readonly eventType: string | null;
  /** null: of both statuses that a failed delivery can have. */
  readonly status: string | null;
}

/**
 * Starts to resend the failed deliveries of the given time, oldest first: one resend for each
 * endpoint. Opens a transaction and enqueues the first batches. For one endpoint it throws
 * `not_found`, `validation_error` (field `endpoint_id`) while it is paused, `conflict` while
 * another resend of it runs. Of all endpoints, those that cannot start or have nothing to send are
 * left out.
 */
export async function startResends(
  db: Db,
  context: ChangeContext,
  wanted: WantedResend,
): Promise<ResendRow[]> {
  const { teamId } = context;
  const what = whatOf(context, wanted);
  // Nobody waits for the count: the endpoints are locked after it.
  const counts = await store.countFailed(db, teamId, what);
  return db.transaction(async (tx) => {
    const [facts, current] = await Promise.all([
      store.readStartFacts(tx, teamId, wanted.endpointId),
      readChangeContext(tx, context),
    ]);
    const found = withCounts(facts, counts);
    if (wanted.endpointId !== null) requireStart(found);
    const startable = wanted.endpointId === null ? found.filter(hasWork) : found;
    const rows = startable.map((start) => newResend(start, what));
    await store.insertResends(tx, teamId, rows);
    for (const row of rows) {
      const { id: resendId, endpoint_id: endpointId, since, until, event_type } = row;
      const { status, total } = row;
      record(tx, current, {
        audit: {
          action: 'webhook_endpoint.resend_started',
          targetId: endpointId,
          details: { resend_id: resendId, since, until, event_type, status, total },
        },
        jobs: row.state === 'done' ? [] : [jobOf({ teamId, endpointId, resendId })],
      });
    }
    return rows;
  });
}

/** Which failed deliveries of one endpoint to send again. */
export interface EndpointResend extends Omit<WantedResend, 'endpointId' | 'status'> {
  readonly endpointId: string;
  /** `failed`: both statuses. */
  readonly status: string;
}

/**
 * Does the same for one endpoint, which the path of a call names. Throws also `validation_error`
 * (field `event_type` or `status`).
 */
export async function startResend(
  db: Db,
  context: ChangeContext,
  wanted: EndpointResend,
): Promise<ResendRow> {
  if (wanted.eventType !== null) requireEventType(wanted.eventType, 'event_type');
  const status = requireResendStatus(wanted.status);
  const [row] = await unnamed(startResends(db, context, { ...wanted, status }));
  if (!row) throw new Error('a resend of one endpoint was left out');
  return row;
}

/** The error for an id that a path names has no field. */
export function unnamed<T>(result: Promise<T>): Promise<T> {
  return result.catch((error: unknown) => {
    throw error instanceof ProblemError && error.code === 'not_found' ? notFound() : error;
  });
}

/** Throws if a resend of this one endpoint cannot start. */
function requireStart([facts]: readonly StartFacts[]): void {
  if (!facts) throw unknownId('endpoint_id');
  if (facts.status !== 'active')
    throw invalidField('endpoint_id', 'The endpoint is paused.', 'endpoint_paused');
  if (facts.is_running)
    throw new ProblemError('conflict', {
      detail: 'Deliveries of this endpoint are being sent again already.',
    });
}

type CountedFacts = StartFacts & Counted;

function withCounts(
  facts: readonly StartFacts[],
  counts: ReadonlyMap<string, Counted>,
): readonly CountedFacts[] {
  const none = { failed: 0, hasMore: false };
  return facts.map((each) => ({ ...each, ...(counts.get(each.endpoint_id) ?? none) }));
}

function hasWork(counted: CountedFacts): boolean {
  return counted.status === 'active' && !counted.is_running && !isEmpty(counted);
}

/** Of one status, nothing may be counted although some follow. */
function isEmpty({ failed, hasMore }: Counted): boolean {
  return failed === 0 && !hasMore;
}

/** What a resend would send. */
interface ResendCount {
  readonly total: number;
  readonly hasMore: boolean;
  /** The endpoints with failures that a resend of all endpoints leaves out: they are paused. */
  readonly paused: readonly CountedFacts[];
}

/**
 * Counts what a resend would send if it started now, up to the limit of each endpoint. Throws
 * `not_found`. One endpoint that is paused, or has a resend in progress, has a count, too.
 */
export async function countResend(
  db: Db,
  context: Pick<ChangeContext, 'teamId' | 'at'>,
  wanted: WantedResend,
): Promise<ResendCount> {
  const { teamId } = context;
  const facts = await store.findStartFacts(db, teamId, wanted.endpointId);
  const counted = await store.countFailed(db, teamId, whatOf(context, wanted));
  const found = withCounts(facts, counted);
  const isAll = wanted.endpointId === null;
  if (!isAll && found.length === 0) throw unknownId('endpoint_id');
  const counts = isAll ? found.filter(hasWork) : found;
  return {
    total: counts.reduce((sum, { failed }) => sum + failed, 0),
    hasMore: counts.some(({ hasMore }) => hasMore),
    paused: isAll ? found.filter((one) => one.status !== 'active' && !isEmpty(one)) : [],
  };
}

function whatOf(
  { teamId, at }: Pick<ChangeContext, 'teamId' | 'at'>,
  wanted: WantedResend,
): Wanted {
  const { endpointId, since, until, eventType, status } = wanted;
  return {
    endpointId,
    since: toInstant(since),
    until: until === null ? null : toInstant(until),
    eventType,
    status,
    at,
    countMax: limitOf(teamId, 'resentDeliveries'),
  };
}

/** The last resends of all endpoints, newest first. */
export { listResends } from './resend-store.ts';

/** A resend of `failed` deliveries. Without any, it is done at once. */
function newResend(counted: CountedFacts, wanted: Wanted): ResendRow {
  const { endpoint_id, failed, hasMore } = counted;
  const { since, until, eventType, status, at } = wanted;
  const isDone = isEmpty(counted);
  return {
    id: newId('webhookResend'),
    endpoint_id,
    state: isDone ? 'done' : 'running',
    since,
    until,
    event_type: eventType,
    status,
    total: failed,
    has_more: hasMore,
    sent: 0,
    position_at: null,
    position_id: null,
    created_at: at.toISOString(),
    finished_at: isDone ? at.toISOString() : null,
  };
}

/** Throws `not_found`. */
export async function getResend(db: Db, teamId: string, resendId: string): Promise<ResendRow> {
  const row = await store.findResend(db, teamId, resendId);
  if (!row) throw unknownId('resend_id');
  return row;
}

/**
 * Stops a resend. Deliveries that it has queued are still attempted. A resend that has ended stays
 * as it is. Opens a transaction. Throws `not_found`.
 */
export async function cancelResend(
  db: Db,
  context: ChangeContext,
  resendId: string,
): Promise<ResendRow> {
  const { teamId, at } = context;
  return db.transaction(async (tx) => {
    const [found, current] = await Promise.all([
      store.findResendForUpdate(tx, teamId, resendId),
      readChangeContext(tx, context),
    ]);
    if (!found) throw unknownId('resend_id');
    if (found.state !== 'running') return found;
    const row: ResendRow = { ...found, state: 'cancelled', finished_at: at.toISOString() };
    await store.updateResend(tx, teamId, row);
    record(tx, current, {
      audit: {
        action: 'webhook_endpoint.resend_cancelled',
        targetId: row.endpoint_id,
        details: { resend_id: row.id, sent: row.sent },
      },
    });
    return row;
  });
}

/**
 * Queues one batch and adds the job of the next one. Opens a transaction. Does nothing once the
 * resend has ended or its endpoint was deleted.
 */
export async function resendBatch(db: Db, clock: Clock, job: ResendJob): Promise<void> {
  const { teamId, endpointId, resendId } = job;
  const now = clock.now();
  await db.transaction(async (tx) => {
    const status = await store.lockEndpoint(tx, teamId, endpointId);
    const resend = await store.findResendForUpdate(tx, teamId, resendId);
    if (status === null || resend?.state !== 'running') return;
    const again = (ms: number): void =>
      store.addJob(tx, jobOf(job), { ms, from: clock.override() });
    if (status !== 'active') return again(PAUSED_WAIT_MS);
    const due = await store.countDue(tx, teamId, { endpointId, now, countMax: DUE_MAX });
    if (due >= DUE_MAX) return again(WAIT_MS);
    const totalMax = limitOf(teamId, 'resentDeliveries');
    const size = { limit: BATCH, room: Math.max(totalMax - resend.sent, 0) };
    const { count, last } = await store.queueBatch(tx, teamId, { resend, ...size, now });
    const sent = resend.sent + count;
    const isDone = last === null || sent >= totalMax;
    await store.updateResend(tx, teamId, {
      ...resend,
      sent,
      position_at: last?.at ?? resend.position_at,
      position_id: last?.id ?? resend.position_id,
      ...(isDone && { state: 'done', finished_at: now.toISOString() }),
    });
    if (!isDone) again(0);
  });
}

function jobOf(job: ResendJob) {
  const { teamId, endpointId, resendId } = job;
  return {
    task: RESEND_DELIVERIES,
    payload: { teamId, endpointId, resendId },
    key: `${RESEND_DELIVERIES}:${teamId}:${resendId}`,
  };
}
