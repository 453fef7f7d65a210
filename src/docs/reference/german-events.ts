/** What the event catalogue says in German: by sentences, of which many stand at several fields. */
const SENTENCES: Readonly<Record<string, string>> = {
  // The envelope.
  '`evt_` and more characters; the same in every attempt.':
    '`evt_` und weitere Zeichen; bei jedem Versuch dieselben.',
  'The type of the event.': 'Der Typ des Ereignisses.',
  'When it happened.': 'Wann es geschehen ist.',
  'Year and month: the version of the endpoint that receives it.':
    'Jahr und Monat: die Version des Endpunkts, der es empfängt.',
  'The team.': 'Das Team.',
  'Only in a test: an example, which did not happen.':
    'Nur bei einem Test: ein Beispiel, das nicht geschehen ist.',
  'Its ids belong to nothing.': 'Seine IDs gehören zu nichts.',
  'See `POST /webhook-endpoints/{endpoint_id}/test`.':
    'Siehe `POST /webhook-endpoints/{endpoint_id}/test`.',

  // When events are raised.
  'A training session ended.': 'Ein Training ist zu Ende gegangen.',
  'An evaluation was saved.': 'Eine Bewertung wurde gespeichert.',
  'An assignment was created through this API.': 'Eine Zuweisung wurde über diese API angelegt.',
  'An assignment was completed through this API.': 'Eine Zuweisung wurde über diese API erledigt.',
  'A membership started: with the invitation, if there is one.':
    'Eine Mitgliedschaft hat begonnen: mit der Einladung, wenn es eine gibt.',
  'Accepting it raises no event.': 'Ihre Annahme löst kein Ereignis aus.',
  'A membership ended.': 'Eine Mitgliedschaft ist zu Ende gegangen.',
  'A CRM sync attempt failed.': 'Ein Versuch, mit dem CRM abzugleichen, ist fehlgeschlagen.',
  'Each automatic retry is an attempt, too.':
    'Auch jede automatische Wiederholung ist ein Versuch.',
  'The test operation of a webhook endpoint was called.':
    'Die Testoperation eines Webhook-Endpunkts wurde aufgerufen.',

  // The fields of `data`.
  'The team, same as `tenant_id`.': 'Das Team, dasselbe wie `tenant_id`.',
  'The person; null while an invitation is not accepted.':
    'Die Person; null, solange eine Einladung nicht angenommen ist.',
  'Only while `member_detail_enabled` is on.': 'Nur, solange `member_detail_enabled` an ist.',
  'Only in `GET /events`.': 'Nur in `GET /events`.',
  'The training session.': 'Das Training.',
  'When it ended, ISO 8601 in UTC.': 'Wann es zu Ende ging, nach ISO 8601 in UTC.',
  'Duration in seconds.': 'Dauer in Sekunden.',
  'Total score.': 'Gesamtpunktzahl.',
  'The assignment.': 'Die Zuweisung.',
  'The assignment that it was made for; null without one.':
    'Die Zuweisung, für die es gemacht wurde; null, wenn es keine gibt.',
  'Where the assignment stands.': 'Wie weit die Zuweisung ist.',
  'Title of the assignment; null without one.': 'Titel der Zuweisung; null, wenn sie keinen hat.',
  'Calendar date, `YYYY-MM-DD`; null without one.':
    'Kalendertag, `YYYY-MM-DD`; null, wenn es keinen gibt.',
  'The training session that completed it; null when none did.':
    'Das Training, mit dem sie erledigt wurde; null, wenn es keines war.',
  'The membership of the recipient.': 'Die Mitgliedschaft der Person, die sie bekommen hat.',
  'The membership.': 'Die Mitgliedschaft.',
  'What the person may do in the app.': 'Was die Person in der App darf.',
  'The CRM connection.': 'Die Verbindung zum CRM.',
  'The CRM.': 'Das CRM.',
  'Why the attempt failed.': 'Warum der Versuch fehlgeschlagen ist.',
  'The webhook endpoint that is tested.': 'Der Webhook-Endpunkt, der getestet wird.',
  'The type that the receiver got, if the test is one of another type.':
    'Der Typ, den der Empfänger bekam, wenn mit einem anderen Typ getestet wird.',
  'Its `data`, as JSON.': 'Dessen `data`, als JSON.',
};

/** Throws for a sentence without a translation, so a test that renders the page finds it. */
export function inGerman(text: string): string {
  return text
    .split(/(?<=\.)\s+/)
    .map((sentence) => {
      const german = SENTENCES[sentence];
      if (german === undefined) throw new Error(`german-events.ts lacks the sentence: ${sentence}`);
      return german;
    })
    .join(' ');
}
