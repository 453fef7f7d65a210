/**
 * Pauses endpoints to which no delivery succeeded for three days (specification, "Delivery
 * behaviour" 4). The three days begin at the first failed attempt after the last success, which the
 * delivery loop keeps in `failing_since`. An endpoint without traffic is not paused.
 */
import type { Clock } from '../../core/clock.ts';
import { newId, newRequestId } from '../../core/ids.ts';
import { statement, type Db } from '../../db/client.ts';

/** The job that mails one admin about one pause. */
export const SEND_PAUSE_MAIL = 'send_pause_mail';

const JOB_MAX_ATTEMPTS = 25;

// Status, audit entries and mail jobs are one statement, so each admin is mailed once about a
// pause. Locks endpoints in the order of their keys, as the delivery loop does, or the two could
// deadlock.
const PAUSE = statement<{ team_id: string; id: string }>(
  'webhooks.pause',
  `with due as materialized (
     select team_id, id
     from webhook_endpoint
     where status = 'active' and failing_since <= $1
     order by team_id, id
     for no key update
   ), paused as (
     update webhook_endpoint w
     set status = 'disabled_failures'
     from due
     where w.team_id = due.team_id and w.id = due.id
     returning w.team_id, w.id
   ), audited as (
     insert into audit_log
       (team_id, id, created_at, actor_kind, actor_id, action, target_id, request_id)
     select team_id, $3 || '_' || row_number() over (), $2, 'system', 'worker',
       'webhook_endpoint.paused', id, $4
     from paused
   ), mailed as (
     select graphile_worker.add_job(
       identifier => '${SEND_PAUSE_MAIL}',
       payload => json_build_object('teamId', m.team_id, 'memberId', m.id, 'endpointId', p.id),
       max_attempts => ${JOB_MAX_ATTEMPTS})
     from paused p
     join member m
       on m.team_id = p.team_id and m.status = 'active' and m.role in ('owner', 'admin')
   )
   select team_id, id
   from paused
   where (select count(*) from mailed) >= 0`,
);

/** Pauses the active endpoints that have been failing for `pauseAfterS`. Returns how many. */
export async function pauseSilentEndpoints(
  db: Db,
  clock: Clock,
  pauseAfterS: number,
): Promise<number> {
  const now = clock.now();
  const failingUntil = new Date(now.getTime() - pauseAfterS * 1000);
  const rows = await db.query(PAUSE, [failingUntil, now, newId('auditEntry'), newRequestId()]);
  return rows.length;
}
