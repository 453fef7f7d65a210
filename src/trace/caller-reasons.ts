/** What is to be said of a key and of a CRM connection. Pure functions. */
import { spanOf } from '../core/terminal.ts';
import { SCHEDULED } from '../features/crm/sync/jobs.ts';
import type { ChangeRow } from './change-store.ts';
import type { ConnectionRow, JobRow } from './connection-store.ts';
import type { KeyRow, UsageRow } from './key-store.ts';
import { NO_WORKER, timeOf } from './reasons.ts';
import { LIMITS } from './rules.ts';
import type { Reason } from './reason-codes.ts';

/** ", by user usr_kim at 2026-11-26 10:15:02Z (3 min ago), request 01a2…". */
function byWhom(change: ChangeRow | undefined, now: Date): string {
  if (!change) return ' (by whom is not known any more)';
  const { actor_kind: kind, actor_id: id, created_at: at, request_id: requestId } = change;
  return `, by ${kind} ${id} at ${timeOf(at, now)}, request ${requestId}`;
}

const lastOf = (changes: readonly ChangeRow[], ...actions: readonly string[]) =>
  changes.find(({ action }) => actions.includes(action));

const ONLY_IN_THE_LOG =
  'Its calls since then get 401. They stand only in the log of the API, as key_prefix.';

/** Whether a key may call, and what became of its calls. `changes`: newest first. */
export function keyReasons(
  key: KeyRow,
  {
    changes,
    usage,
    refused,
    now,
  }: {
    readonly changes: readonly ChangeRow[];
    readonly usage: UsageRow;
    readonly refused: number;
    readonly now: Date;
  },
): Reason[] {
  const { state, revoked_at: revokedAt, expires_at: expiresAt, last_used_at: lastUsedAt } = key;
  const reasons: Reason[] = [];
  const ended = lastOf(changes, 'api_key.revoked', 'api_key.rotated');
  const how = ended?.action === 'api_key.rotated' ? 'replaced by another key' : 'revoked';
  if (state === 'revoked')
    reasons.push({
      code: 'key_revoked',
      text: `The key was ${how}${byWhom(ended, now)}. ${ONLY_IN_THE_LOG}`,
    });
  else if (state === 'expired')
    reasons.push({
      code: 'key_expired',
      text: `The key ended at ${timeOf(expiresAt ?? now, now)}. ${ONLY_IN_THE_LOG}`,
    });
  else if (revokedAt !== null)
    reasons.push({
      code: 'key_ends',
      text: `The key was ${how}${byWhom(ended, now)}. It ends at ${timeOf(revokedAt, now)}.`,
    });
  if (key.networks > 0)
    reasons.push({
      code: 'key_bound',
      text: `It is bound to ${key.networks} networks. From any other address it gets 401.`,
    });
  if (lastUsedAt === null)
    reasons.push({ code: 'key_unused', text: 'Nobody has ever called with it.' });
  reasons.push({
    code: 'key_calls',
    text:
      `In ${LIMITS.usageDays} days: ${usage.ok} calls without an error, ` +
      `${usage.refused} refused, ${usage.limited} over a limit, ${usage.failed} failed. ` +
      `Of the team's newest ` +
      `${LIMITS.calls} calls ${refused === 0 ? 'none' : 'the last'} that was refused or failed ` +
      `${refused === 0 ? 'is of this key' : 'of this key are above'}.`,
  });
  return reasons;
}

/** What a connection does or waits for. `jobs`: its own. `changes`: newest first. */
export function connectionReasons(
  connection: ConnectionRow,
  {
    changes,
    jobs,
    workers,
    now,
  }: {
    readonly changes: readonly ChangeRow[];
    readonly jobs: readonly JobRow[];
    readonly workers: readonly number[];
    readonly now: Date;
  },
): Reason[] {
  const { status, last_error: error, failure_streak: streak } = connection;
  if (status === 'disconnected') {
    const by = byWhom(lastOf(changes, 'crm_connection.disconnected'), now);
    const left = jobs.length > 0 ? ' A job removes its deals.' : '';
    return [{ code: 'crm_disconnected', text: `The connection is disconnected${by}.${left}` }];
  }
  const failed: Reason[] =
    error === null
      ? []
      : [
          {
            code: 'crm_failed',
            text:
              `Its last ${streak} runs failed, the last with ${error}.` +
              (error === 'unauthorized' ? ' The customer must connect it anew.' : ''),
          },
        ];
  if (status !== 'active') {
    const by = byWhom(lastOf(changes, 'crm_connection.paused'), now);
    return [{ code: 'crm_paused', text: `The connection is ${status}${by}.` }, ...failed];
  }
  if (!connection.has_credentials) {
    const text = 'It has no credentials: the customer must connect it anew.';
    return [{ code: 'crm_no_credentials', text }, ...failed];
  }
  return [...failed, ...(workers.length === 0 ? [NO_WORKER] : []), nextRun(connection, jobs, now)];
}

function nextRun(connection: ConnectionRow, jobs: readonly JobRow[], now: Date): Reason {
  const { sync_lease_until: lease, next_sync_at: next, reads, sync_requested_at } = connection;
  const goesOn = reads === null ? '' : ` Its round has come to the list ${reads}.`;
  if (lease !== null && Date.parse(lease) > now.getTime()) {
    const asked = sync_requested_at === null ? '' : ' Another one is asked for and follows.';
    return { code: 'crm_running', text: `A run has the connection.${goesOn}${asked}` };
  }
  if (next === null) return { code: 'crm_not_due', text: 'No run is planned.' };
  const lateMs = now.getTime() - Date.parse(next);
  if (lateMs < 0)
    return { code: 'crm_next', text: `The next run is due at ${timeOf(next, now)}.${goesOn}` };
  const [job] = jobs;
  const due = `A run has been due for ${spanOf(lateMs)}.${goesOn}`;
  if (job?.locked_at)
    return { code: 'crm_job', text: `${due} Its job began at ${timeOf(job.locked_at, now)}.` };
  if (job)
    return { code: 'crm_job', text: `${due} Its job waits for a slot (alerts JobsLate, JobsOld).` };
  return {
    code: 'crm_due',
    text:
      lateMs > SCHEDULED.everyMs
        ? `${due} No job was made for it: is the team active, and do workers run jobs (JobsLate)?`
        : `${due} A job is made for it at the next minute.`,
  };
}
