import { JOB_ACTORS } from '../../../core/actor.ts';
import type { Clock } from '../../../core/clock.ts';
import { newRequestId } from '../../../core/ids.ts';
import { privacyOf } from '../../../core/privacy.ts';
import type { Db, Tx } from '../../../db/client.ts';
import { record } from '../../../db/outbox.ts';
import type { ProviderError } from '../providers/errors.ts';
import * as store from './run-store.ts';
import type { RunKey } from './run-store.ts';
import { continuationAt, nextRetry } from './schedule.ts';

/**
 * Ends a run with an error. It yields if `continuationAt` says when to continue, or else fails.
 * Each failure emits `crm.sync.failed`. `lost`: another run has the connection, or
 * it was paused or disconnected. Opens a transaction.
 */
export function giveUp(
  { db, clock, random }: { db: Db; clock: Clock; random: () => number },
  run: RunKey,
  { error, madeProgress }: { error: ProviderError; madeProgress: boolean },
): Promise<'yielded' | 'failed' | 'lost'> {
  const { reason, retryAfterMs, refusedPlace } = error;
  const at = clock.now();
  const continueAt = continuationAt(at, error, madeProgress);
  return db.transaction(async (tx) => {
    if (continueAt !== null) {
      await store.release(tx, run, continueAt);
      return 'yielded';
    }
    const failed = await store.failRun(tx, run, { reason, forgetRound: refusedPlace });
    if (!failed) return 'lost';
    store.setNext(
      tx,
      run,
      nextRetry(at, failed.failure_streak, { retryAfterMs, random: random() }),
    );
    recordFailure(tx, run, { at, reason, provider: failed.provider });
    return 'failed';
  });
}

function recordFailure(
  tx: Tx,
  { teamId, connectionId }: RunKey,
  { at, reason, provider }: { at: Date; reason: string; provider: string },
): void {
  const context = {
    teamId,
    actor: JOB_ACTORS.crmSync,
    // The event has no personal data.
    privacy: privacyOf({ memberDetailEnabled: false, leaderboardEnabled: false }),
    requestId: newRequestId(),
    at,
  } as const;
  record(tx, context, {
    audit: { action: 'crm_connection.sync_failed', targetId: connectionId, details: { reason } },
    events: [{ type: 'crm.sync.failed', data: { connection_id: connectionId, provider, reason } }],
  });
}
