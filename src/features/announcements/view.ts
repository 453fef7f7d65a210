import type { Language } from '../../core/language.ts';
import { oneLine, type Mail } from '../../core/mail.ts';
import type { RecipientRow } from './store.ts';

interface Facts {
  readonly version: string;
  readonly since: string;
  readonly sunset: string;
  readonly team: string;
  readonly keys: string;
  readonly publicUrl: string;
}

const FORMATS: Record<Language, Intl.DateTimeFormat> = {
  de: new Intl.DateTimeFormat('de-DE', { dateStyle: 'long', timeZone: 'UTC' }),
  en: new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }),
};

const TEXTS: Record<Language, (facts: Facts) => Omit<Mail, 'to'>> = {
  de: ({ version, since, sunset, team, keys, publicUrl }) => ({
    subject: `Team Customer API: ${version} endet am ${sunset}`,
    text: `Guten Tag,

die Version ${version} der Team Customer API gilt ab dem ${since} \
als veraltet und kann ab dem ${sunset} abgeschaltet sein.
Bis dahin laufen die alte und die neue Version nebeneinander.

Team: ${team}
Ihre aktiven Schlüssel: ${keys}

Bitte stellen Sie die Software, die diese Schlüssel verwendet, bis zum ${sunset} um. \
Was sich ändert, steht in der Dokumentation:
${publicUrl}/docs

Die Antworten von ${version} nennen beide Tage in den Headern „Deprecation“ und „Sunset“.
`,
  }),
  en: ({ version, since, sunset, team, keys, publicUrl }) => ({
    subject: `Team Customer API: ${version} ends on ${sunset}`,
    text: `Hello,

version ${version} of the Team Customer API is deprecated from ${since} on, \
and may be switched off from ${sunset} on.
Until then the old and the new version run side by side.

Team: ${team}
Your active keys: ${keys}

Please change the software that uses these keys before ${sunset}. \
What changes is in the documentation:
${publicUrl}/docs

The responses of ${version} give both dates in the headers "Deprecation" and "Sunset".
`,
  }),
};

/** The mail in the recipient's language. Dates are days in UTC. */
export function toAnnouncementMail(
  recipient: RecipientRow,
  { version, since, sunset }: { version: string; since: string; sunset: string },
  publicUrl: string,
): Mail {
  const format = FORMATS[recipient.language];
  const facts = {
    version,
    since: format.format(new Date(since)),
    sunset: format.format(new Date(sunset)),
    team: oneLine(recipient.team_name),
    keys: recipient.keys.map(oneLine).join(', '),
    publicUrl,
  };
  return { to: recipient.email, ...TEXTS[recipient.language](facts) };
}
