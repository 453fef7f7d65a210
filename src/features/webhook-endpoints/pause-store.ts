import type { Language } from '../../core/language.ts';
import { statement, type Db } from '../../db/client.ts';
import { enqueue } from '../../db/outbox.ts';
import { isDistributed } from '../../db/parts.ts';
import { MAIL_PAUSE, MAIL_PAUSE_KEY, mailPauseKey } from './jobs.ts';

const JOB_MAX_ATTEMPTS = 25;

/** SQL: an active endpoint that has failed since the first time or longer, and at the second. */
const hasFailed = (since: string, still: string): string =>
  `status = 'active' and failing_since <= ${since}
       and hourly_failures[cardinality(hourly_failures)] >= ${still}`;

// Status, audit entries and jobs are one statement, so each admin is mailed once about a pause. An
// endpoint that somebody has locked is paused a minute later, because the others must not wait for
// it. Nor for the admins of a team: of each endpoint one job goes through them.
const PAUSE = statement<{ team_id: string; id: string }>(
  'webhooks.pause',
  `with due as materialized (
     select team_id, id
     from webhook_endpoint
     where ${hasFailed('$1', '$5')}
     order by failing_since, team_id, id
     limit $6
     for no key update skip locked
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
       identifier => '${MAIL_PAUSE}',
       payload => json_build_object('teamId', team_id, 'endpointId', id),
       job_key => ${MAIL_PAUSE_KEY},
       max_attempts => ${JOB_MAX_ATTEMPTS})
     from paused
   )
   select team_id, id
   from paused
   where (select count(*) from mailed) >= 0`,
);

/** The failures after which endpoints are paused, and what the audit entries say. */
interface Pause {
  readonly failingUntil: Date;
  /** Endpoints without a failure since then stay as they are. */
  readonly failedAfter: Date;
  readonly now: Date;
  readonly auditId: string;
  readonly requestId: string;
  readonly atMost: number;
}

/**
 * Pauses up to `atMost` active endpoints that have been failing since `failingUntil` or longer, and
 * still did at `failedAfter` or later, writes the audit entries and enqueues the mails. Returns how
 * many were paused. The ids of the audit entries are `auditId` with a number.
 */
export async function pauseEndpoints(db: Db, pause: Pause): Promise<number> {
  if (await isDistributed(db)) return pauseOneByOne(db, pause);
  const { failingUntil, failedAfter, now, auditId, requestId, atMost } = pause;
  const values = [failingUntil, now, auditId, requestId, failedAfter, atMost];
  const rows = await db.query(PAUSE, values);
  return rows.length;
}

const FIND_FAILING = statement<{ team_id: string; id: string }>(
  'webhooks.findFailing',
  `select team_id, id
   from webhook_endpoint
   where ${hasFailed('$1', '$2')}
   order by failing_since, team_id, id
   limit $3`,
);

const PAUSE_ONE = statement<{ id: string }>(
  'webhooks.pauseOne',
  `update webhook_endpoint
   set status = 'disabled_failures'
   where team_id = $1 and id = (
     select id
     from webhook_endpoint
     where team_id = $1 and id = $2 and ${hasFailed('$3', '$4')}
     for no key update skip locked
   )
   returning id`,
);

/**
 * On a distributed database each endpoint is paused in a transaction within its team's shard. If
 * one cannot be paused, the others are, and then an error is thrown.
 */
async function pauseOneByOne(db: Db, pause: Pause): Promise<number> {
  const { failingUntil, failedAfter, now, auditId, requestId, atMost } = pause;
  const failing = await db.query(FIND_FAILING, [failingUntil, failedAfter, atMost]);
  const failures: unknown[] = [];
  let paused = 0;
  for (const { team_id: teamId, id } of failing)
    await db
      .transaction(async (tx) => {
        if (!(await tx.queryFirst(PAUSE_ONE, [teamId, id, failingUntil, failedAfter]))) return;
        paused += 1;
        const entry = { id: `${auditId}_${paused}`, createdAt: now, requestId };
        const actor = { actorKind: 'system', actorId: 'worker' };
        const what = { action: 'webhook_endpoint.paused', targetId: id };
        await tx.prisma.auditLog.createMany({ data: [{ teamId, ...entry, ...actor, ...what }] });
        const payload = { teamId, endpointId: id };
        await enqueue(tx, teamId, { task: MAIL_PAUSE, payload, key: mailPauseKey(teamId, id) });
      })
      .catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw new AggregateError(failures, 'An endpoint was not paused yet.');
  return paused;
}

/** A paused endpoint, its last failure, and the admin who gets the mail. */
export interface PauseMailRow {
  readonly email: string;
  readonly language: Language;
  readonly team_name: string;
  readonly url: string;
  readonly description: string | null;
  readonly failing_since: string | null;
  readonly response_code: number | null;
  readonly error: string | null;
}

/**
 * The last failure is looked for among as many of the youngest failed deliveries, which are a range
 * of an index. To have all of them in the order of their attempts would take another index, which
 * every failure would write.
 */
const FAILED_READ = 1_000;

const FIND_PAUSE_MAIL = statement<PauseMailRow>(
  'webhooks.findPauseMail',
  `select m.email, coalesce(m.language, t.language) as language, t.name as team_name,
     w.url, w.description, w.failing_since, d.response_code, d.error
   from member m
   join team t on t.id = m.team_id
   join webhook_endpoint w
     on w.team_id = m.team_id and w.id = $3 and w.status = 'disabled_failures'
   left join lateral (
     select response_code, error
     from (
       select id, event_type, last_attempt_at, response_code, error
       from webhook_delivery
       where team_id = $1 and endpoint_id = $3 and has_failed
       order by created_at desc, id desc
       limit ${FAILED_READ}
     ) failed
     where last_attempt_at is not null and event_type <> 'ping'
     order by last_attempt_at desc, id desc
     limit 1
   ) d on true
   where m.team_id = $1
     and m.id = $2
     and m.status = 'active'
     and m.role in ('owner', 'admin')`,
);

/** Returns undefined when the member is no longer an admin, or the endpoint not paused. */
export async function findPauseMailRow(
  db: Db,
  ids: { readonly teamId: string; readonly memberId: string; readonly endpointId: string },
): Promise<PauseMailRow | undefined> {
  const [row] = await db.query(FIND_PAUSE_MAIL, [ids.teamId, ids.memberId, ids.endpointId]);
  return row;
}
