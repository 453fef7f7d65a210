/**
 * The pause of an endpoint to which nothing was delivered for three days, and the mails about it (specification, "Delivery behaviour" 4; decisions 32 to 34).
 * The clock began at the first failed attempt after the last success; an endpoint without traffic has none.
 */
import type { Clock } from '../../core/clock.ts';
import type { Language } from '../../core/language.ts';
import type { Mail } from '../../core/mail.ts';
import { statement, type Db } from '../../db/client.ts';
import { newId, newRequestId } from '../../core/ids.ts';

/** The job that mails one admin about one pause. */
export const SEND_PAUSE_MAIL = 'send_pause_mail';

const JOB_MAX_ATTEMPTS = 25;

// The status, the audit entries and the mail jobs in one statement: an endpoint is paused once, and whoever must hear of it hears of it once.
// Locked in the order of their keys, as the delivery loop does, so that neither waits for the other in vain.
const PAUSE = statement<{ team_id: string; id: string }>(
  'webhooks.pause',
  `with due as materialized (
     select team_id, id from webhook_endpoint where status = 'active' and failing_since <= $1 order by team_id, id for no key update
   ), paused as (
     update webhook_endpoint w set status = 'disabled_failures' from due where w.team_id = due.team_id and w.id = due.id returning w.team_id, w.id
   ), audited as (
     insert into audit_log (team_id, id, created_at, actor_kind, actor_id, action, target_id, request_id)
     select team_id, $3 || '_' || row_number() over (), $2, 'system', 'worker', 'webhook_endpoint.paused', id, $4 from paused
   ), mailed as (
     select graphile_worker.add_job(identifier => '${SEND_PAUSE_MAIL}', payload => json_build_object('teamId', m.team_id, 'memberId', m.id, 'endpointId', p.id),
       max_attempts => ${JOB_MAX_ATTEMPTS})
     from paused p join member m on m.team_id = p.team_id and m.status = 'active' and m.role in ('owner', 'admin')
   )
   select team_id, id from paused where (select count(*) from mailed) >= 0`,
);

/** Pauses every active endpoint that has been failing for that long. Answers with how many. */
export async function pauseSilentEndpoints(db: Db, clock: Clock, pauseAfterS: number): Promise<number> {
  const now = clock.now();
  const rows = await db.query(PAUSE, [
    new Date(now.getTime() - pauseAfterS * 1000),
    now,
    newId('auditEntry'),
    newRequestId(),
  ]);
  return rows.length;
}

interface PauseMailRow {
  readonly email: string;
  readonly language: Language;
  readonly team_name: string;
  readonly url: string;
  readonly failing_since: string | null;
  readonly response_code: number | null;
  readonly error: string | null;
}

const FIND_PAUSE_MAIL = statement<PauseMailRow>(
  'webhooks.findPauseMail',
  `select m.email, coalesce(m.language, t.language) as language, t.name as team_name, w.url, w.failing_since, d.response_code, d.error
   from member m join team t on t.id = m.team_id join webhook_endpoint w on w.team_id = m.team_id and w.id = $3 and w.status = 'disabled_failures'
   left join lateral (select response_code, error from webhook_delivery where team_id = $1 and endpoint_id = $3 and last_attempt_at is not null and event_type <> 'ping'
     and status <> 'ok' order by last_attempt_at desc, id desc limit 1) d on true
   where m.team_id = $1 and m.id = $2 and m.status = 'active' and m.role in ('owner', 'admin')`,
);

/** The mail to one admin; null once they left or are no admin any more, or the endpoint was switched on again or deleted. */
export async function findPauseMail(
  db: Db,
  ids: { teamId: string; memberId: string; endpointId: string },
  publicUrl: string,
): Promise<Mail | null> {
  const [row] = await db.query(FIND_PAUSE_MAIL, [ids.teamId, ids.memberId, ids.endpointId]);
  return row ? { to: row.email, ...TEXTS[row.language](row, ids.endpointId, publicUrl) } : null;
}

const lastFailure = (row: PauseMailRow): string =>
  row.response_code === null ? (row.error ?? '–') : `HTTP ${row.response_code}`;
const day = (iso: string | null): string => iso?.slice(0, 16).replace('T', ' ') ?? '–';

const TEXTS: Record<Language, (row: PauseMailRow, endpointId: string, publicUrl: string) => Omit<Mail, 'to'>> = {
  de: (row, endpointId, publicUrl) => ({
    subject: 'Webhook pausiert: seit drei Tagen keine erfolgreiche Zustellung',
    text: `Guten Tag,

an den Webhook-Endpunkt ${endpointId} des Teams „${row.team_name}“ war seit ${day(row.failing_since)} (UTC) keine Zustellung erfolgreich. Er ist jetzt pausiert.

Adresse: ${row.url}
Zuletzt fehlgeschlagen mit: ${lastFailure(row)}

Neue Ereignisse werden ihm nicht mehr zugestellt, wartende werden aufbewahrt. Prüfen Sie den Empfänger mit einem Test
(POST /webhook-endpoints/${endpointId}/test), und schalten Sie ihn danach wieder ein:
PATCH /webhook-endpoints/${endpointId} mit {"status": "active"}.

Dokumentation: ${publicUrl}/docs/webhooks
`,
  }),
  en: (row, endpointId, publicUrl) => ({
    subject: 'Webhook paused: no successful delivery for three days',
    text: `Hello,

no delivery to the webhook endpoint ${endpointId} of the team "${row.team_name}" has succeeded since ${day(row.failing_since)} (UTC). It is paused now.

Address: ${row.url}
Last failure: ${lastFailure(row)}

New events are not delivered to it any more, waiting ones are kept. Check the receiver with a test
(POST /webhook-endpoints/${endpointId}/test), then switch it on again:
PATCH /webhook-endpoints/${endpointId} with {"status": "active"}.

Documentation: ${publicUrl}/docs/webhooks
`,
  }),
};
