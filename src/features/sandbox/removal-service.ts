/**
 * Removes sandboxes: those that an admin or the host application wants to be removed, and those
 * that nobody uses, after a mail. `rules.ts` has the decisions.
 */
import type { Clock } from '../../core/clock.ts';
import { newRequestId } from '../../core/ids.ts';
import { adminUrlOf, type Mail } from '../../core/mail.ts';
import { unknownId } from '../../core/problem.ts';
import { liveIdOf, sandboxIdOf } from '../../core/sandbox.ts';
import type { Db, Tx } from '../../db/client.ts';
import { workOnDue } from '../../db/due-rows.ts';
import { record } from '../../db/outbox.ts';
import { removalTime } from '../../db/database-clock.ts';
import { enqueueForAdmins, type AdminPlace } from '../../db/team-admins.ts';
import { lockFreeTeam, lockTeam } from '../../db/team-lock.ts';
import {
  readChangeContext,
  type PlatformChangeContext,
  type UnreadContext,
} from '../../db/change-context.ts';
import { markSandbox } from '../team-lifecycle/erasure-service.ts';
import { SEND_REMOVAL_WARNING, WARN_ADMINS } from './jobs.ts';
import { writeWarning } from './removal-mail.ts';
import * as removals from './removal-store.ts';
import type { DueRow } from './removal-store.ts';
import * as rules from './rules.ts';
import { findSandbox, lockLiveTeam } from './store.ts';

/**
 * Marks the sandbox of a live team for its erasure. A repeated call changes nothing. Opens a
 * transaction. Throws `not_found`, and `conflict` in the sandbox itself.
 */
export async function removeSandbox(db: Db, context: PlatformChangeContext): Promise<void> {
  const { teamId } = context;
  rules.requireLive(teamId);
  await db.transaction(async (tx) => {
    lockTeam(tx, sandboxIdOf(teamId));
    if (!(await lockLiveTeam(tx, teamId))) throw unknownId('team_id');
    rules.requireSandbox(await remove(tx, context));
  });
}

/** Null if there is none. The live team must be locked. */
async function remove(tx: Tx, context: UnreadContext): Promise<'removed' | 'before' | null> {
  const targetId = sandboxIdOf(context.teamId);
  const erasure = await markSandbox(tx, targetId, context.at);
  if (erasure.kind === 'none') return null;
  if (erasure.kind === 'erasing') return 'before';
  record(tx, await readChangeContext(tx, context), {
    audit: { action: 'sandbox.removed', targetId },
    jobs: [erasure.job],
  });
  return 'removed';
}

/** How a run looks at sandboxes; tests make it small. */
export interface IdleOptions {
  readonly signal?: AbortSignal | undefined;
  readonly pageSize?: number;
  /** After this time the next run goes on. */
  readonly runMs?: number;
}

const RUN_MS = 60_000;

/**
 * Looks at the sandboxes that are due, each in a transaction of its own: warns the admins of those
 * that nobody uses, and removes those that nobody has used since. Several may run at once: each
 * sandbox is looked at by one of them. If one fails, the others go on, and then an error is thrown.
 */
export async function removeIdle(
  db: Db,
  clock: Clock,
  { signal, pageSize, runMs = RUN_MS }: IdleOptions = {},
): Promise<void> {
  const until = clock.monotonicMs() + runMs;
  const now = await removalTime(db, clock);
  await workOnDue<DueRow>({
    list: (slice) => removals.listDue(db, now, slice),
    work: ({ team_id: sandboxId }) => checkSandbox(db, sandboxId, now),
    isOver: () => signal?.aborted === true || clock.monotonicMs() > until,
    failure: 'Some sandboxes were not looked at.',
    pageSize,
  });
}

async function checkSandbox(db: Db, sandboxId: string, now: Date): Promise<void> {
  const liveId = liveIdOf(sandboxId);
  await db.transaction(async (tx) => {
    const live = await lockFreeTeam(tx, liveId);
    if (!live || !(await lockFreeTeam(tx, sandboxId))) return;
    const row = await removals.findUse(tx, sandboxId, now);
    if (!row) return;
    const { used_at: usedAt, warned_at: warnedAt } = row;
    const verdict = rules.judge({ usedAt, warnedAt, isOpen: live.status === 'active' }, now);
    if (verdict.kind === 'remove') {
      const actor = { kind: 'system', id: 'worker' } as const;
      await remove(tx, { teamId: liveId, actor, requestId: newRequestId(), at: now });
      return;
    }
    const { kind, checkAt } = verdict;
    const warned = { keep: null, wait: warnedAt, warn: now.toISOString() }[kind];
    await removals.updateUse(tx, sandboxId, { usedAt, warnedAt: warned, checkAt });
    if (kind === 'warn') await enqueueWarnings(tx, liveId, null);
  });
}

/** The job that goes on with the admins after these. Opens a transaction. */
export async function warnAdmins(
  db: Db,
  { teamId, after }: { readonly teamId: string; readonly after: AdminPlace },
): Promise<void> {
  await db.transaction((tx) => enqueueWarnings(tx, teamId, after));
}

/**
 * Enqueues the mails to a page of admins, and the job for the next page. The keys let a job that
 * runs twice enqueue each of them once.
 */
function enqueueWarnings(tx: Tx, teamId: string, after: AdminPlace | null): Promise<void> {
  return enqueueForAdmins(tx, teamId, after, {
    each: (memberId) => ({
      task: SEND_REMOVAL_WARNING,
      payload: { teamId, memberId },
      key: `${SEND_REMOVAL_WARNING}:${teamId}:${memberId}`,
    }),
    next: (after) => ({ task: WARN_ADMINS, payload: { teamId, after } }),
    key: `${WARN_ADMINS}:${teamId}`,
  });
}

/**
 * Returns the mail to an admin of the live team; null if that member is no longer an admin, or the
 * sandbox was used meanwhile or is gone.
 */
export async function findWarning(
  db: Db,
  ids: { readonly teamId: string; readonly memberId: string },
  publicUrl: string,
): Promise<Mail | null> {
  const sandboxId = sandboxIdOf(ids.teamId);
  const sandbox = await findSandbox(db, sandboxId);
  const removalAt = sandbox && rules.removalAt(sandbox.warned_at);
  if (removalAt === null) return null;
  const recipient = await removals.findRecipient(db, ids);
  const pageUrl = `${adminUrlOf(publicUrl, sandboxId)}/play`;
  return recipient && writeWarning(recipient, removalAt, pageUrl);
}
