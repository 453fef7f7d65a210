/** The mail to an admin whose endpoint was paused (pause.ts), in the admin's language. */
import type { Language } from '../../core/language.ts';
import type { Mail } from '../../core/mail.ts';
import type { Db } from '../../db/client.ts';
import { findPauseMailRow, type PauseMailRow } from './pause-store.ts';

/**
 * Returns the mail to one admin; null if that member is no longer an admin, or the endpoint is no
 * longer paused.
 */
export async function findPauseMail(
  db: Db,
  ids: { teamId: string; memberId: string; endpointId: string },
  publicUrl: string,
): Promise<Mail | null> {
  const row = await findPauseMailRow(db, ids);
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

an den Webhook-Endpunkt ${endpointId} des Teams „${row.team_name}“ war seit
${minuteOf(row.failing_since)} (UTC) keine Zustellung erfolgreich. Er ist jetzt pausiert.

Adresse: ${row.url}
Zuletzt fehlgeschlagen mit: ${lastFailure(row)}

Neue Ereignisse werden ihm nicht mehr zugestellt, wartende werden aufbewahrt.
Prüfen Sie den Empfänger mit einem Test
(POST /webhook-endpoints/${endpointId}/test), und schalten Sie ihn danach wieder ein:
PATCH /webhook-endpoints/${endpointId} mit {"status": "active"}.

Dokumentation: ${publicUrl}/docs/webhooks
`,
  }),
  en: (row, endpointId, publicUrl) => ({
    subject: 'Webhook paused: no successful delivery for three days',
    text: `Hello,

no delivery to the webhook endpoint ${endpointId} of the team "${row.team_name}" has succeeded
since ${minuteOf(row.failing_since)} (UTC). It is paused now.

Address: ${row.url}
Last failure: ${lastFailure(row)}

New events are not delivered to it any more, waiting ones are kept. Check the receiver with a test
(POST /webhook-endpoints/${endpointId}/test), then switch it on again:
PATCH /webhook-endpoints/${endpointId} with {"status": "active"}.

Documentation: ${publicUrl}/docs/webhooks
`,
  }),
};
