/** The mail that tells an admin when their sandbox goes, and how it stays, in their language. */
import type { Language } from '../../core/language.ts';
import { oneLine, type Mail, type MailRecipient } from '../../core/mail.ts';

/** Writes the mail about a sandbox that is removed then. `pageUrl`: where it can be reset. */
export function writeWarning(
  { email: to, language, team_name }: MailRecipient,
  removalAt: string,
  pageUrl: string,
): Mail {
  const day = removalAt.slice(0, 10);
  return { to, ...TEXTS[language](oneLine(team_name), day, pageUrl) };
}

type Text = (team: string, day: string, pageUrl: string) => Omit<Mail, 'to'>;

const TEXTS: Record<Language, Text> = {
  de: (team, day, pageUrl) => ({
    subject: `Die Sandbox von „${team}“ wird am ${day} entfernt`,
    text: `Guten Tag,

die Sandbox des Teams „${team}“ ist seit mehr als zehn Wochen nicht benutzt worden.
Am ${day} (UTC) wird sie mit allem entfernt, was in ihr ist: ihren Test-Schlüsseln,
Webhook-Endpunkten und Beispieldaten. Das Team selbst bleibt, wie es ist.

So behalten Sie die Sandbox: Setzen Sie sie in der Verwaltung zurück,
${pageUrl}, oder rufen Sie die API einmal mit einem ihrer
Test-Schlüssel auf. Danach bleibt sie mindestens zehn weitere Wochen.

Wenn Sie sie nicht mehr brauchen, müssen Sie nichts tun. Eine neue ist jederzeit angelegt.
`,
  }),
  en: (team, day, pageUrl) => ({
    subject: `The sandbox of "${team}" will be removed on ${day}`,
    text: `Hello,

nobody has used the sandbox of the team "${team}" for more than ten weeks. On ${day} (UTC)
it will be removed with all that is in it: its test keys, webhook endpoints and sample data. The
team itself stays as it is.

To keep the sandbox, reset it on the admin page,
${pageUrl},
or call the API once with one of its test keys. Then it stays for at least ten more weeks.

If you do not need it any more, you need do nothing. A new one can be created at any time.
`,
  }),
};
