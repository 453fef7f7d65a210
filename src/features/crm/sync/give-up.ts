import { JOB_ACTORS } from '../../../core/actor.ts';
import type { Clock } from '../../../core/clock.ts';
import { newRequestId } from '../../../core/ids.ts';
import type { Db, Tx } from '../../../db/client.ts';
import { contextOfJob } from '../../../db/change-context.ts';
import { record } from '../../../db/outbox.ts';
import type { FailureReason, ProviderError } from '../providers/errors.ts';
import type { ConnectionKey } from './jobs.ts';
import * as store from './run-store.ts';
import type { RunKey } from './run-store.ts';
import { continuationAt, forgetsRound, nextRetry, type Round } from './schedule.ts';

/** A run that has failed, for the log. It holds ids and codes only. */
export interface SyncFailure extends ConnectionKey {
  readonly provider: string;
  readonly reason: FailureReason;
  /** How many runs of the connection have failed one after the other. */
  readonly failures: number;
  /** The run itself. */
  readonly run: string;
  /** Its audit entry and its event have it. */
  readonly requestId: string;
  readonly nextAt: Date;
}

/** What ends a run. */
interface Ending {
  readonly db: Db;
  readonly clock: Clock;
  readonly random: () => number;
  /** Called after the failure is recorded, unless it only repeats what was told before. */
  readonly onFailure?: ((failure: SyncFailure) => void) | undefined;
}

/** The error that ends a run. */
interface RunError {
  readonly error: ProviderError;
  readonly madeProgress: boolean;
  /** The one that the run was in; null: it came to none. */
  readonly round: Round | null;
  /** How the run before failed; null: it did not. */
  readonly lastReason: string | null;
}

/**
 * Ends a run with an error. It yields if `continuationAt` says when to continue, or else fails.
 * Each failure emits `crm.sync.failed`. `lost`: another run has the connection, or
 * it was paused or disconnected. Opens a transaction.
 */
export async function giveUp(
  { db, clock, random, onFailure }: Ending,
  run: RunKey,
  { error, madeProgress, round, lastReason }: RunError,
): Promise<'yielded' | 'failed' | 'lost'> {
  const { reason, retryAfterMs } = error;
  const at = clock.now();
  const continueAt = continuationAt(at, error, madeProgress);
  const ended = await db.transaction(async (tx): Promise<SyncFailure | 'yielded' | 'lost'> => {
    if (continueAt !== null) {
      await store.release(tx, run, { next: continueAt, madeProgress });
      return 'yielded';
    }
    const forgetRound = forgetsRound(round, error, at);
    const failed = await store.failRun(tx, run, { reason, forgetRound });
    if (!failed) return 'lost';
    const { provider, failure_streak: failures } = failed;
    const nextAt = nextRetry(at, failures, { retryAfterMs, random: random() });
    store.setNext(tx, run, nextAt);
    const { token, ...key } = run;
    const requestId = newRequestId();
    recordFailure(tx, key, { at, reason, provider, requestId });
    return { ...key, provider, reason, failures, run: token, requestId, nextAt };
  });
  if (typeof ended === 'string') return ended;
  if (ended.reason !== lastReason || isTold(ended.failures)) onFailure?.(ended);
  return 'failed';
}

/**
 * Whether a failure that repeats is told again: the first, the second, the fourth and so on. A CRM
 * that refuses us for a day is nine lines, in whichever workers the runs were.
 */
function isTold(failures: number): boolean {
  return Number.isInteger(Math.log2(failures));
}

function recordFailure(
  tx: Tx,
  { teamId, connectionId }: ConnectionKey,
  {
    at,
    reason,
    provider,
    requestId,
  }: { at: Date; reason: string; provider: string; requestId: string },
): void {
  record(tx, contextOfJob({ teamId, actor: JOB_ACTORS.crmSync, requestId, at }), {
    audit: { action: 'crm_connection.sync_failed', targetId: connectionId, details: { reason } },
    events: [{ type: 'crm.sync.failed', data: { connection_id: connectionId, provider, reason } }],
  });
}
