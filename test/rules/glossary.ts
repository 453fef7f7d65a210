/**
 * The words of the documentation, the admin page, the mails and the errors. `not` has the words
 * that mean the same and are not used, as a regular expression for each language.
 */
interface Term {
  readonly en: string;
  readonly de: string;
  readonly not?: { readonly en?: string; readonly de?: string };
}

export const GLOSSARY: readonly Term[] = [
  { en: 'team', de: 'Team', not: { en: 'tenants?', de: 'Mandanten?' } },
  { en: 'owner', de: 'Inhaber', not: { de: 'Inhaberin|Inhaber:in|Eigentümer\\w*' } },
  { en: 'admin', de: 'Admin', not: { en: 'administrators?', de: 'Administra(?!tion)\\w+' } },
  { en: 'member', de: 'Mitglied', not: { en: 'teammates?', de: 'Teammitglied\\w*' } },
  { en: 'invitation', de: 'Einladung' },
  { en: 'seat', de: 'Platz', not: { en: 'licen[cs]es?', de: 'Lizenz\\w*' } },
  { en: 'plan', de: 'Tarif' },
  { en: 'right', de: 'Recht' },
  { en: 'API key', de: 'API-Schlüssel', not: { de: 'API-Keys?' } },
  { en: 'test key', de: 'Testschlüssel', not: { de: 'Test-Schlüssel|Test-Keys?' } },
  { en: 'secret', de: 'Secret', not: { de: 'Geheimnis\\w*' } },
  {
    en: 'rotate',
    de: 'rotieren',
    not: {
      en: '(?:replac|renew|chang|swapp?)\\w* (?:(?:a|the|your|this|old|API) )*(?:key|secret)s?',
      de: '(?:Schlüssel|Secret)s? (?:wechseln|ersetzen|erneuern|austauschen|tauschen)',
    },
  },
  { en: 'revoke', de: 'widerrufen' },
  { en: 'scope', de: 'Scope' },
  { en: 'permission', de: 'Berechtigung' },
  { en: 'grace period', de: 'Übergangsfrist', not: { de: 'Gnadenfrist|Karenz\\w*' } },
  { en: 'training', de: 'Training', not: { de: 'Schulung\\w*|Trainingssitzung\\w*' } },
  { en: 'evaluation', de: 'Bewertung', not: { de: 'Auswertung|Evaluation\\w*|ausgewertet' } },
  { en: 'score', de: 'Punktzahl', not: { de: 'Scores?|Punktestand' } },
  { en: 'transcript', de: 'Transkript', not: { de: 'Mitschrift\\w*' } },
  { en: 'assignment', de: 'Zuweisung', not: { en: 'homework', de: 'Aufgaben?|Hausaufgabe\\w*' } },
  { en: 'case', de: 'Fall' },
  { en: 'catalog', de: 'Katalog', not: { en: 'catalogues? (?:entr|of the team)\\w*' } },
  { en: 'policy', de: 'Vorgabe', not: { de: 'Richtlinien?' } },
  { en: 'deal', de: 'Deal', not: { en: 'opportunit\\w+', de: 'Geschäfte?n?' } },
  { en: 'objection', de: 'Einwand' },
  { en: 'webhook endpoint', de: 'Webhook-Endpunkt', not: { de: 'Webhook-Endpoints?' } },
  { en: 'event', de: 'Ereignis', not: { de: 'Events?' } },
  { en: 'delivery', de: 'Zustellung', not: { de: 'Auslieferung\\w*|Lieferung\\w*' } },
  { en: 'attempt', de: 'Versuch' },
  { en: 'retry', de: 'Wiederholung', not: { en: 'repetitions?', de: 'Retrys?|Retries' } },
  { en: 'failed', de: 'fehlgeschlagen', not: { de: '(?:ge)?scheiter\\w+|Scheitern' } },
  { en: 'paused', de: 'pausiert', not: { de: 'angehalten|anzuhalten|anhalten' } },
  {
    en: 'reactivate',
    de: 'reaktivieren',
    not: { en: 'switch(?:es|ed)? it on again', de: 'wieder ein(?:zu)?(?:ge)?schalte\\w*' },
  },
  { en: 'signature', de: 'Signatur', not: { de: 'Unterschrift\\w*' } },
  { en: 'sandbox', de: 'Sandbox', not: { de: 'Testumgebung\\w*|Sandkasten' } },
  { en: 'simulate', de: 'simulieren', not: { de: 'spielen|spielt|gespielt|Spiel' } },
  { en: 'limit', de: 'Limit', not: { de: 'Grenzen?|Obergrenzen?|Ratenlimit\\w*' } },
  { en: 'usage', de: 'Nutzung' },
  { en: 'audit log', de: 'Audit-Log', not: { en: 'audit trails?', de: 'Protokoll|Auditlogs?' } },
  { en: 'privacy switch', de: 'Datenschutz-Schalter', not: { de: 'Datenschutzschalter\\w*' } },
  { en: 'request', de: 'Anfrage' },
  { en: 'header', de: 'Header', not: { de: 'Kopfzeilen?' } },
  { en: 'redirect', de: 'Weiterleitung' },
  { en: 'status', de: 'Status' },
  { en: 'email', de: 'E-Mail', not: { en: 'e-mails?|mails?', de: 'Mails?|Mail-\\w+|Emails?' } },
  { en: 'alert', de: 'Meldung', not: { en: 'notifications?', de: 'Benachrichtigung\\w*' } },
  { en: 'host application', de: 'Host-Anwendung' },
];
