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
import { newId } from '../../core/ids.ts';
import { invalidField, ProblemError, unknownId } from '../../core/problem.ts';
import { toInstant } from '../../core/shapes.ts';
import type { Clock } from '../../core/clock.ts';
import type { Db } from '../../db/client.ts';
import { record, type ChangeContext } from '../../db/outbox.ts';
import * as store from './resend-store.ts';
import type { ResendRow } from './resend-store.ts';

/** The job that resends one batch; its payload is `ResendJob`. */
export const RESEND_DELIVERIES = 'resend_deliveries';

/** The payload of the job. */
export interface ResendJob {
  readonly teamId: string;
  readonly endpointId: string;
  readonly resendId: string;
}

const TOTAL_MAX = 10_000;
const BATCH = 500;
/** A batch waits while the endpoint has this many due retries. */
const DUE_MAX = BATCH / 2;
const WAIT_MS = 1_000;
/** How long a batch waits while the endpoint is paused. */
const PAUSED_WAIT_MS = 30_000;

/** Which failed deliveries to send again. */
export interface WantedResend {
  readonly endpointId: string;
  /** ISO in any time zone: those that were created then or later. */
  readonly since: string;
  /** null: of every type. */
  readonly eventType: string | null;
}

/**
 * Starts to resend the failed deliveries that were created at or after `since`, oldest first. Opens
 * a transaction and enqueues the first batch. Throws `not_found`, `validation_error` (field
 * `endpoint_id`) while the endpoint is paused, `conflict` while another resend of it runs.
 */
export async function startResend(
  db: Db,
  context: ChangeContext,
  { endpointId, since, eventType }: WantedResend,
): Promise<ResendRow> {
  const { teamId, at } = context;
  const from = toInstant(since);
  return db.transaction(async (tx) => {
    const countMax = TOTAL_MAX + 1;
    const wanted = { endpointId, since: from, eventType, at, countMax };
    const facts = await store.readStartFacts(tx, teamId, wanted);
    if (!facts) throw unknownId('endpoint_id');
    if (facts.status !== 'active') throw invalidField('endpoint_id', 'The endpoint is paused.');
    if (facts.is_running)
      throw new ProblemError('conflict', {
        detail: 'Deliveries of this endpoint are being sent again already.',
      });
    const row = newResend({ endpointId, since: from, eventType, at, failed: facts.failed });
    store.insertResend(tx, teamId, row);
    record(tx, context, {
      audit: {
        action: 'webhook_endpoint.resend_started',
        targetId: endpointId,
        details: { resend_id: row.id, since: from, event_type: eventType, total: row.total },
      },
      jobs: row.state === 'done' ? [] : [jobOf({ teamId, endpointId, resendId: row.id })],
    });
    return row;
  });
}

/**
 * Counts what a resend would send if it started now, up to its limit. Throws `not_found`. A paused
 * endpoint, or one with a resend in progress, has a count, too.
 */
export async function countResend(
  db: Db,
  { teamId, at }: Pick<ChangeContext, 'teamId' | 'at'>,
  { endpointId, since, eventType }: WantedResend,
): Promise<{ readonly total: number; readonly hasMore: boolean }> {
  const wanted = {
    endpointId,
    since: toInstant(since),
    eventType,
    at,
    countMax: TOTAL_MAX + 1,
  };
  const facts = await store.findStartFacts(db, teamId, wanted);
  if (!facts) throw unknownId('endpoint_id');
  return { total: Math.min(facts.failed, TOTAL_MAX), hasMore: facts.failed > TOTAL_MAX };
}

/** Lists the last resends of all endpoints, newest first. */
export function listResends(db: Db, teamId: string): Promise<ResendRow[]> {
  return store.listResends(db, teamId);
}

/** A resend of `failed` deliveries. Without any, it is done at once. */
function newResend(
  start: WantedResend & { readonly at: Date; readonly failed: number },
): ResendRow {
  const { endpointId, since, eventType, at, failed } = start;
  const isEmpty = failed === 0;
  return {
    id: newId('webhookResend'),
    endpoint_id: endpointId,
    state: isEmpty ? 'done' : 'running',
    since,
    event_type: eventType,
    total: Math.min(failed, TOTAL_MAX),
    has_more: failed > TOTAL_MAX,
    sent: 0,
    position_at: null,
    position_id: null,
    created_at: at.toISOString(),
    finished_at: isEmpty ? at.toISOString() : null,
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
    const found = await store.findResendForUpdate(tx, teamId, resendId);
    if (!found) throw unknownId('resend_id');
    if (found.state !== 'running') return found;
    const row: ResendRow = { ...found, state: 'cancelled', finished_at: at.toISOString() };
    store.updateResend(tx, teamId, row);
    record(tx, context, {
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
    const again = (inMs: number): void =>
      store.addJob(tx, jobOf(job), new Date(now.getTime() + inMs));
    if (status !== 'active') return again(PAUSED_WAIT_MS);
    const due = await store.countDue(tx, teamId, { endpointId, now, countMax: DUE_MAX });
    if (due >= DUE_MAX) return again(WAIT_MS);
    const limit = Math.min(BATCH, TOTAL_MAX - resend.sent);
    const { count, last } = await store.queueBatch(tx, teamId, { resend, limit, now });
    const sent = resend.sent + count;
    const isDone = count === 0 || sent >= TOTAL_MAX;
    store.updateResend(tx, teamId, {
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
