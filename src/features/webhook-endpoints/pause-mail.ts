/** The mail to an admin whose endpoint was paused (pause.ts), in the admin's language. */
import { endpointName } from '../../core/endpoint-name.ts';
import type { Language } from '../../core/language.ts';
import { adminUrlOf, minuteOf, oneLine, type Mail } from '../../core/mail.ts';
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
  if (!row) return null;
  return { to: row.email, ...TEXTS[row.language](partsOf(row, ids, publicUrl)) };
}

/** What the mail says, in every language. */
interface Parts {
  readonly endpointId: string;
  readonly name: string;
  readonly team: string;
  readonly since: string;
  readonly lastFailure: string;
  /** The endpoint's page in the admin page. */
  readonly pageUrl: string;
  readonly docsUrl: string;
}

function partsOf(
  row: PauseMailRow,
  { teamId, endpointId }: { readonly teamId: string; readonly endpointId: string },
  publicUrl: string,
): Parts {
  return {
    endpointId,
    name: oneLine(endpointName(row)),
    team: oneLine(row.team_name),
    since: row.failing_since === null ? '–' : minuteOf(row.failing_since),
    lastFailure: failureOf(row),
    pageUrl: `${adminUrlOf(publicUrl, teamId)}/webhooks/${encodeURIComponent(endpointId)}`,
    docsUrl: `${publicUrl}/docs/webhooks`,
  };
}

function failureOf({ response_code, error }: PauseMailRow): string {
  return response_code === null ? (error ?? '–') : `HTTP ${response_code}`;
}

type Text = (parts: Parts) => Omit<Mail, 'to'>;

const TEXTS: Record<Language, Text> = {
  de: ({ endpointId, name, team, since, lastFailure, pageUrl, docsUrl }) => ({
    subject: `Webhook pausiert: seit ${since} (UTC) keine erfolgreiche Zustellung`,
    text: `Guten Tag,

an den Webhook-Endpunkt ${endpointId} des Teams „${team}“ war seit
${since} (UTC) keine Zustellung erfolgreich. Er ist jetzt pausiert.

Webhook: ${name}
${pageUrl}
Zuletzt fehlgeschlagen mit: ${lastFailure}

Neue Ereignisse werden ihm nicht mehr zugestellt, wartende werden aufbewahrt.
Prüfen Sie den Empfänger mit einem Test
(POST /webhook-endpoints/${endpointId}/test), und reaktivieren Sie ihn danach:
PATCH /webhook-endpoints/${endpointId} mit {"status": "active"}.

Dokumentation: ${docsUrl}
`,
  }),
  en: ({ endpointId, name, team, since, lastFailure, pageUrl, docsUrl }) => ({
    subject: `Webhook paused: no successful delivery since ${since} (UTC)`,
    text: `Hello,

no delivery to the webhook endpoint ${endpointId} of the team "${team}" has succeeded
since ${since} (UTC). It is paused now.

Webhook: ${name}
${pageUrl}
Last failure: ${lastFailure}

New events are no longer delivered to it; waiting ones are kept. Check the receiver with a test
(POST /webhook-endpoints/${endpointId}/test), then reactivate it:
PATCH /webhook-endpoints/${endpointId} with {"status": "active"}.

Documentation: ${docsUrl}
`,
  }),
};
