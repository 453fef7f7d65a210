import type { Localized } from './language.ts';
import type { Scope } from './scopes.ts';

/**
 * The catalogue of problems (specification, "Errors"): code → status, titles, cause and remedy. It *is* the mapping: the answer, the OpenAPI document and
 * the page /docs/errors are all made from it.
 */
export const PROBLEMS = {
  bad_request: {
    status: 400,
    title: { de: 'Ungültige Anfrage', en: 'Bad request' },
    cause: {
      de: 'Die Anfrage ist so nicht zu verarbeiten; der Status sagt, woran es liegt: 405 Methode, 413 Größe, 415 Inhaltstyp, 431 Kopfzeilen.',
      en: 'The request cannot be processed as it is; the status says why: 405 method, 413 size, 415 content type, 431 headers.',
    },
    remedy: {
      de: 'Methode, Inhaltstyp (`application/json`) und Größe (höchstens 1 MiB) mit der Beschreibung der Operation vergleichen.',
      en: 'Compare method, content type (`application/json`) and size (1 MiB at most) with the description of the operation.',
    },
  },
  unauthorized: {
    status: 401,
    title: { de: 'Nicht autorisiert', en: 'Unauthorized' },
    cause: {
      de: 'Der API-Schlüssel fehlt, ist unbekannt, falsch, abgelaufen oder widerrufen, oder die IP-Adresse ist für ihn nicht freigegeben.',
      en: 'The API key is missing, unknown, wrong, expired or revoked, or it may not be used from this IP address.',
    },
    remedy: {
      de: 'Den Schlüssel als `Authorization: Bearer svck_live_…` senden; in der App prüfen, ob er gilt und von welchen Adressen.',
      en: 'Send the key as `Authorization: Bearer svck_live_…`; check in the app that it is valid, and from which addresses.',
    },
  },
  forbidden: {
    status: 403,
    title: { de: 'Nicht erlaubt', en: 'Forbidden' },
    cause: {
      de: 'Nur in der App: Rolle oder Rechte der angemeldeten Person reichen nicht aus.',
      en: 'In the app only: the role or the rights of the person who is signed in do not suffice.',
    },
    remedy: {
      de: 'Die Inhaberin oder eine Administratorin des Teams fragen.',
      en: 'Ask the owner or an admin of the team.',
    },
  },
  insufficient_scope: {
    status: 403,
    title: { de: 'Berechtigung fehlt', en: 'Insufficient scope' },
    cause: {
      de: 'Dem Schlüssel fehlt die Berechtigung `required_scope`, oder wer ihn angelegt hat, darf die Rolle `admin` nicht vergeben.',
      en: 'The key lacks the scope `required_scope`, or whoever created it may not grant the role `admin`.',
    },
    remedy: {
      de: 'Einen neuen Schlüssel mit dieser Berechtigung anlegen: die eines Schlüssels stehen fest.',
      en: 'Create a new key with that scope: the scopes of a key are fixed.',
    },
  },
  privacy_restricted: {
    status: 403,
    title: { de: 'Durch Datenschutz eingeschränkt', en: 'Restricted by privacy settings' },
    cause: {
      de: 'Das Team hat die Einzelansicht seiner Mitglieder (`member_detail_enabled`) abgeschaltet.',
      en: 'The team has switched off the details of its members (`member_detail_enabled`).',
    },
    remedy: {
      de: 'Zusammengefasste Zahlen liefert `GET /analytics/team`; den Schalter setzt eine Administratorin des Teams in der App.',
      en: 'Use the aggregated `GET /analytics/team`; an admin of the team can change the switch in the app.',
    },
  },
  api_disabled: {
    status: 403,
    title: { de: 'API nicht verfügbar für dieses Team', en: 'API disabled for this team' },
    cause: {
      de: 'Das Team ist gesperrt oder beendet, oder sein Tarif enthält die API nicht.',
      en: 'The team is suspended or ended, or its plan does not include the API.',
    },
    remedy: {
      de: 'Den Tarif in der App prüfen oder den Support fragen.',
      en: 'Check the plan in the app, or ask support.',
    },
  },
  vorgabe_gesperrt: {
    status: 403,
    title: { de: 'Durch eine Vorgabe gesperrt', en: 'Blocked by policy' },
    cause: {
      de: 'Eine Vorgabe des Teams oder der Empfängerin sperrt die Situation, die Persönlichkeit oder die Branche.',
      en: 'A policy of the team or of the recipient blocks the situation, personality or industry.',
    },
    remedy: {
      de: 'Einen anderen Katalogeintrag wählen oder die Vorgabe in der App ändern.',
      en: 'Choose another catalog entry, or change the policy in the app.',
    },
  },
  not_found: {
    status: 404,
    title: { de: 'Nicht gefunden', en: 'Not found' },
    cause: {
      de: 'Es gibt unter dieser Adresse nichts, was dieses Team sehen kann.',
      en: 'There is nothing at this address that this team can see.',
    },
    remedy: {
      de: 'Pfad und Id prüfen; die Listen nennen die gültigen Ids.',
      en: 'Check path and id; the lists name the valid ids.',
    },
  },
  conflict: {
    status: 409,
    title: { de: 'Konflikt', en: 'Conflict' },
    cause: {
      de: 'Die E-Mail-Adresse gehört schon zum Team, oder ein Aufruf mit demselben `Idempotency-Key` läuft noch. (In der App auch: Der Stand verträgt sich nicht mit dem Aufruf; `detail` sagt, warum.)',
      en: 'The email already belongs to the team, or a call with the same `Idempotency-Key` is still running. (In the app also: the state does not allow the call; `detail` says why.)',
    },
    remedy: {
      de: 'Das vorhandene Mitglied verwenden; oder den Aufruf nach kurzer Zeit mit demselben Schlüssel wiederholen.',
      en: 'Use the member that exists; or repeat the call with the same key after a moment.',
    },
  },
  seat_limit_reached: {
    status: 409,
    title: { de: 'Alle Plätze sind belegt', en: 'Seat limit reached' },
    cause: {
      de: 'Aktive und eingeladene Mitglieder belegen alle Plätze des Teams.',
      en: 'Active and invited members take all seats of the team.',
    },
    remedy: {
      de: 'Ein Mitglied entfernen oder Plätze hinzubuchen.',
      en: 'Remove a member, or book more seats.',
    },
  },
  last_admin: {
    status: 409,
    title: { de: 'Letzte Administratorin', en: 'Last admin' },
    cause: {
      de: 'Danach gäbe es im Team keine aktive Administratorin mehr.',
      en: 'The team would be left without an active admin.',
    },
    remedy: {
      de: 'Zuerst ein anderes aktives Mitglied zur Administratorin machen.',
      en: 'Make another active member an admin first.',
    },
  },
  owner: {
    status: 409,
    title: { de: 'Inhaberin des Teams', en: 'Team owner' },
    cause: {
      de: 'Die Inhaberin kann über die API weder geändert noch entfernt werden.',
      en: 'The owner cannot be changed or removed through the API.',
    },
    remedy: {
      de: 'Die Inhaberschaft wird in der App übertragen.',
      en: 'Ownership is transferred in the app.',
    },
  },
  validation_error: {
    status: 422,
    title: { de: 'Ungültige Eingabe', en: 'Validation error' },
    cause: {
      de: 'Ein Wert in Anfragezeile, Pfad, Kopfzeile oder Inhalt ist ungültig: `errors` nennt alle Stellen, `field` ein einzelnes Feld.',
      en: 'A value of query, path, header or body is invalid: `errors` names every place, `field` a single field.',
    },
    remedy: { de: 'Die genannten Werte berichtigen.', en: 'Correct the values that are named.' },
  },
  idempotency_mismatch: {
    status: 422,
    title: { de: 'Idempotency-Key schon anders verwendet', en: 'Idempotency key reused' },
    cause: {
      de: 'Derselbe `Idempotency-Key` wurde in den letzten 24 Stunden mit anderem Inhalt oder für eine andere Operation verwendet.',
      en: 'The same `Idempotency-Key` was used within 24 hours with another body or for another operation.',
    },
    remedy: {
      de: 'Für jede neue Handlung einen neuen Schlüssel erzeugen.',
      en: 'Make a new key for every new action.',
    },
  },
  kombination_ungueltig: {
    status: 422,
    title: { de: 'Ungültige Kombination', en: 'Invalid combination' },
    cause: {
      de: 'Situation, Persönlichkeit oder Branche ist unbekannt, für das Team nicht sichtbar oder so nicht kombinierbar; `dimension` nennt, welche.',
      en: 'Situation, personality or industry is unknown, not visible to the team, or may not be combined like this; `dimension` says which.',
    },
    remedy: { de: 'Die Ids aus `GET /catalog` verwenden.', en: 'Use ids from `GET /catalog`.' },
  },
  rate_limited: {
    status: 429,
    title: { de: 'Zu viele Anfragen', en: 'Rate limited' },
    cause: {
      de: 'Die Grenze des Schlüssels, des Teams, der IP-Adresse oder der Einladungen je Stunde ist erreicht.',
      en: 'The limit of the key, the team, the IP address or the invitations per hour is reached.',
    },
    remedy: {
      de: '`Retry-After` Sekunden warten; die Kopfzeilen `RateLimit-*` sagen vorher, wie viel noch geht.',
      en: 'Wait `Retry-After` seconds; the headers `RateLimit-*` tell beforehand how much is left.',
    },
  },
  internal: {
    status: 500,
    title: { de: 'Interner Fehler', en: 'Internal error' },
    cause: {
      de: 'Ein unerwarteter Fehler auf unserer Seite.',
      en: 'An unexpected fault on our side.',
    },
    remedy: {
      de: 'Später wiederholen; hält es an, dem Support die `request_id` nennen.',
      en: 'Repeat later; if it stays, tell support the `request_id`.',
    },
  },
  unavailable: {
    status: 503,
    title: { de: 'Vorübergehend nicht verfügbar', en: 'Temporarily unavailable' },
    cause: {
      de: 'Die API ist vorübergehend nicht verfügbar.',
      en: 'The API is temporarily unavailable.',
    },
    remedy: {
      de: 'Mit wachsendem Abstand wiederholen, POST mit demselben `Idempotency-Key`.',
      en: 'Repeat with growing pauses, a POST with the same `Idempotency-Key`.',
    },
  },
} as const satisfies Record<
  string,
  { status: number; title: Localized; cause: Localized; remedy: Localized }
>;

export type ProblemCode = keyof typeof PROBLEMS;

/** One fault found while parsing a request; `path` like `body.title` or `query.limit`. */
export interface FieldError {
  readonly path: string;
  readonly message: string;
  readonly code: string;
}

interface Diagnostic {
  /** English, for the developer who reads it. Never on 500 or 503. */
  readonly detail?: string;
}

/** What each code may carry beside the common fields. */
interface ProblemFields {
  bad_request: Diagnostic & { readonly status?: number };
  unauthorized: Record<never, never>;
  insufficient_scope: Diagnostic & { readonly required_scope: Scope };
  validation_error:
    | (Diagnostic & { readonly errors: readonly FieldError[] })
    | { readonly field: string; readonly detail: string };
  kombination_ungueltig: Diagnostic & { readonly dimension: string; readonly id?: string };
  rate_limited: Diagnostic & { readonly retry_after: number };
  internal: Record<never, never>;
  unavailable: Record<never, never>;
}

export type FieldsOf<C extends ProblemCode> = C extends keyof ProblemFields
  ? ProblemFields[C]
  : Diagnostic;

type FieldArguments<C extends ProblemCode> =
  Record<never, never> extends FieldsOf<C> ? [fields?: FieldsOf<C>] : [fields: FieldsOf<C>];

/** The one error that features throw. */
export class ProblemError extends Error {
  readonly code: ProblemCode;
  readonly fields: Readonly<Record<string, unknown>>;

  constructor(
    ...[code, fields]: { [C in ProblemCode]: [code: C, ...FieldArguments<C>] }[ProblemCode]
  ) {
    super(code);
    this.name = 'ProblemError';
    this.code = code;
    this.fields = { ...fields };
  }

  /** The HTTP status; only `bad_request` follows the cause. */
  get status(): number {
    return typeof this.fields['status'] === 'number'
      ? this.fields['status']
      : PROBLEMS[this.code].status;
  }
}

/** Missing, or another tenant's: no argument, so the two cannot differ. */
export function notFound(): ProblemError {
  return new ProblemError('not_found');
}

/** A value that parses but that the application refuses. */
export function invalidField(field: string, detail: string): ProblemError {
  return new ProblemError('validation_error', { field, detail });
}
