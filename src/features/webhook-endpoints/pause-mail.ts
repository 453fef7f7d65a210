/** The mail to an admin whose endpoint was paused (pause.ts), in the admin's language. */
import type { Language } from '../../core/language.ts';
import type { Mail } from '../../core/mail.ts';
import { statement, type Db } from '../../db/client.ts';

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
  `select m.email, coalesce(m.language, t.language) as language, t.name as team_name,
     w.url, w.failing_since, d.response_code, d.error
   from member m
   join team t on t.id = m.team_id
   join webhook_endpoint w
     on w.team_id = m.team_id and w.id = $3 and w.status = 'disabled_failures'
   left join lateral (
     select response_code, error
     from webhook_delivery
     where team_id = $1 and endpoint_id = $3
       and last_attempt_at is not null
       and event_type <> 'ping'
       and status <> 'ok'
     order by last_attempt_at desc, id desc
     limit 1
   ) d on true
   where m.team_id = $1
     and m.id = $2
     and m.status = 'active'
     and m.role in ('owner', 'admin')`,
);

/**
 * The mail to one admin; null when that member is no longer an admin, or the endpoint is no longer
 * paused.
 */
export async function findPauseMail(
  db: Db,
  ids: { teamId: string; memberId: string; endpointId: string },
  publicUrl: string,
): Promise<Mail | null> {
  const [row] = await db.query(FIND_PAUSE_MAIL, [ids.teamId, ids.memberId, ids.endpointId]);
  return row ? { to: row.email, ...TEXTS[row.language](row, ids.endpointId, publicUrl) } : null;
}

function lastFailure({ response_code, error }: PauseMailRow): string {
  return response_code === null ? (error ?? '–') : `HTTP ${response_code}`;
}

/** Date and time in UTC, to the minute. */
function minuteOf(iso: string | null): string {
  return iso?.slice(0, 16).replace('T', ' ') ?? '–';
}

type Text = (row: PauseMailRow, endpointId: string, publicUrl: string) => Omit<Mail, 'to'>;

const TEXTS: Record<Language, Text> = {
  de: (row, endpointId, publicUrl) => ({
    subject: 'Webhook pausiert: seit drei Tagen keine erfolgreiche Zustellung',
    text: `Guten Tag,

an den Webhook-Endpunkt ${endpointId} des Teams „${row.team_name}“ war seit ${minuteOf(row.failing_since)} (UTC) keine Zustellung erfolgreich. Er ist jetzt pausiert.

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

no delivery to the webhook endpoint ${endpointId} of the team "${row.team_name}" has succeeded since ${minuteOf(row.failing_since)} (UTC). It is paused now.

Address: ${row.url}
Last failure: ${lastFailure(row)}

New events are not delivered to it any more, waiting ones are kept. Check the receiver with a test
(POST /webhook-endpoints/${endpointId}/test), then switch it on again:
PATCH /webhook-endpoints/${endpointId} with {"status": "active"}.

Documentation: ${publicUrl}/docs/webhooks
`,
  }),
};
