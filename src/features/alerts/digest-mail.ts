/** The mail that tells one admin what is new, in the admin's language. */
import type { Language } from '../../core/language.ts';
import { adminUrlOf, minuteOf, oneLine, type Mail } from '../../core/mail.ts';
import { UNSUBSCRIBE_PATH, unsubscribeToken } from '../../core/unsubscribe-token.ts';
import type { Alert } from './rules.ts';
import type { RecipientRow, SubscriptionKey } from './store.ts';

/** What a mail needs beside the alerts. */
export interface MailSettings {
  readonly publicUrl: string;
  readonly appSecret: string;
}

/** Writes the mail. There is at least one alert. */
export function writeDigest(
  recipient: RecipientRow,
  alerts: readonly Alert[],
  key: SubscriptionKey,
  { publicUrl, appSecret }: MailSettings,
): Mail {
  const { email: to, language } = recipient;
  const texts = TEXTS[language];
  const token = unsubscribeToken(key, appSecret);
  const unsubscribeUrl = `${publicUrl}${UNSUBSCRIBE_PATH}/${token}`;
  const adminUrl = adminUrlOf(publicUrl, key.teamId);
  const items = alerts.map(
    (alert) => `* ${sentenceOf(alert, texts)}\n  ${adminUrl}${placeOf(alert)}`,
  );
  const team = oneLine(recipient.team_name);
  return {
    to,
    subject: texts.subject(alerts.length, team),
    text: texts.frame({
      team,
      items: items.join('\n\n'),
      settingsUrl: `${adminUrl}/alerts`,
      unsubscribeUrl,
    }),
    // RFC 8058: the mail program may unsubscribe without opening a page.
    headers: {
      'List-Unsubscribe': `<${unsubscribeUrl}>`,
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    },
  };
}

/** The place in the admin page. */
function placeOf(alert: Alert): string {
  switch (alert.kind) {
    case 'webhooks':
      return `/webhooks/${encodeURIComponent(alert.endpointId)}`;
    case 'errors':
      return `/requests?status=errors&past=custom&since=${alert.since}T00:00:00.000Z`;
    case 'keys':
      return '/keys';
  }
}

function sentenceOf(alert: Alert, texts: Texts): string {
  switch (alert.kind) {
    case 'webhooks':
      return texts.webhook(oneLine(alert.name), minuteOf(alert.since), alert.isPaused);
    case 'errors':
      return texts.errors(alert.share, alert.requests, alert.since);
    case 'keys':
      return texts.key(oneLine(alert.name), minuteOf(alert.endsAt));
  }
}

interface Texts {
  readonly subject: (count: number, team: string) => string;
  readonly webhook: (name: string, since: string, isPaused: boolean) => string;
  readonly errors: (share: number, requests: number, since: string) => string;
  readonly key: (name: string, endsAt: string) => string;
  readonly frame: (parts: {
    readonly team: string;
    readonly items: string;
    readonly settingsUrl: string;
    readonly unsubscribeUrl: string;
  }) => string;
}

const percentIn = (locale: string) => {
  const format = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 });
  return (share: number): string => format.format(share).replaceAll(/\s/g, ' ');
};
const numberIn = (locale: string) => {
  const format = new Intl.NumberFormat(locale);
  return (value: number): string => format.format(value);
};
const PERCENT = { de: percentIn('de-DE'), en: percentIn('en-GB') };
const NUMBER = { de: numberIn('de-DE'), en: numberIn('en-GB') };

const TEXTS: Record<Language, Texts> = {
  de: {
    subject: (count, team) => `${count === 1 ? '1 Meldung' : `${count} Meldungen`} für „${team}“`,
    webhook: (name, since, isPaused) =>
      `Webhook „${name}“: seit ${since} (UTC) war keine Zustellung erfolgreich.` +
      (isPaused ? ' Er ist pausiert.' : ''),
    errors: (share, requests, since) =>
      `Fehler: seit ${since}, 0 Uhr (UTC), wurden ${PERCENT.de(share)} von ` +
      `${NUMBER.de(requests)} Anfragen mit einem Fehler beantwortet.`,
    key: (name, endsAt) => `API-Schlüssel „${name}“: er läuft am ${endsAt} (UTC) ab.`,
    frame: ({ team, items, settingsUrl, unsubscribeUrl }) => `Guten Tag,

zur Anbindung des Teams „${team}“ gibt es neue Meldungen:

${items}

Sie erhalten höchstens eine solche E-Mail am Tag, und sie enthält nur neue Meldungen.
Meldungen einstellen: ${settingsUrl}
Alle Meldungen abbestellen: ${unsubscribeUrl}
`,
  },
  en: {
    subject: (count, team) => `${count === 1 ? '1 alert' : `${count} alerts`} for "${team}"`,
    webhook: (name, since, isPaused) =>
      `Webhook "${name}": no delivery has succeeded since ${since} (UTC).` +
      (isPaused ? ' It is paused.' : ''),
    errors: (share, requests, since) =>
      `Errors: since ${since}, 0:00 (UTC), ${PERCENT.en(share)} of ${NUMBER.en(requests)} ` +
      'requests were answered with an error.',
    key: (name, endsAt) => `API key "${name}": it expires on ${endsAt} (UTC).`,
    frame: ({ team, items, settingsUrl, unsubscribeUrl }) => `Hello,

there are new alerts about the integration of the team "${team}":

${items}

You get at most one such email a day, and it contains only new alerts.
Alert settings: ${settingsUrl}
Unsubscribe from all alerts: ${unsubscribeUrl}
`,
  },
};
