import type { Localized } from './language.ts';

/** What the documentation says about a problem code: why it happens, and what to do about it. */
interface ProblemHelp {
  readonly cause: Localized;
  readonly remedy: Localized;
}

/**
 * The help for every problem code. The page /docs/errors shows it, and the OpenAPI document shows
 * the English causes.
 */
export const PROBLEM_HELP = {
  bad_request: {
    cause: {
      de:
        'Die Anfrage lässt sich so nicht verarbeiten. Der Status sagt, woran es liegt: 400 kein ' +
        'gültiges HTTP, 405 Methode, 408 zu langsam, 413 Größe, 415 Inhaltstyp, 417 `Expect`, ' +
        '431 Header.',
      en:
        'The request cannot be processed. The status says why: 400 no valid HTTP, 405 method, ' +
        '408 too slow, 413 size, 415 content type, 417 `Expect`, 431 headers.',
    },
    remedy: {
      de:
        'Vergleichen Sie Methode, Inhaltstyp (`application/json`) und Größe (höchstens 1 MiB) ' +
        'mit der Beschreibung der Operation.',
      en:
        'Compare method, content type (`application/json`) and size (1 MiB at most) with the ' +
        'operation.',
    },
  },
  unauthorized: {
    cause: {
      de:
        'Der API-Schlüssel fehlt, ist unbekannt, falsch, abgelaufen oder widerrufen, oder die ' +
        'IP-Adresse ist für ihn nicht freigegeben. `detail` sagt, ob er fehlt oder seine Form ' +
        'nicht stimmt.',
      en:
        'The API key is missing, unknown, wrong, expired or revoked, or it may not be used from ' +
        'this IP address. `detail` says whether it is missing or malformed.',
    },
    remedy: {
      de:
        'Senden Sie den Schlüssel als `Authorization: Bearer svck_live_…`, den einer Sandbox mit ' +
        '`svck_test_…`. Prüfen Sie in der App, ob er gilt und von welchen IP-Adressen.',
      en:
        'Send the key as `Authorization: Bearer svck_live_…` (sandbox: `svck_test_…`); check in ' +
        'the app that it is valid, and from which addresses.',
    },
  },
  forbidden: {
    cause: {
      de: 'Nur in der App: Rolle oder Rechte der angemeldeten Person reichen nicht aus.',
      en: 'In the app only: the person who is signed in lacks the required role or right.',
    },
    remedy: {
      de: 'Fragen Sie den Inhaber oder einen Admin des Teams.',
      en: 'Ask the owner or an admin of the team.',
    },
  },
  insufficient_scope: {
    cause: {
      de:
        'Dem Schlüssel fehlt der Scope `required_scope`. Oder der Aufruf vergibt oder entzieht ' +
        'die Rolle `admin` oder entfernt einen Admin, und wer den Schlüssel angelegt hat, ist ' +
        'weder Inhaber noch aktiver Admin. `detail` sagt, woran es liegt.',
      en:
        'The key lacks the scope `required_scope`. Or the call makes, demotes or removes an ' +
        'admin, and the creator of the key is neither the owner nor an active admin. `detail` ' +
        'says which.',
    },
    remedy: {
      de:
        'Legen Sie einen neuen Schlüssel mit diesem Scope an: Die Scopes eines Schlüssels stehen ' +
        'fest. Oder nehmen Sie einen Schlüssel, den der Inhaber oder ein aktiver Admin angelegt ' +
        'hat.',
      en:
        'Create a new key with that scope: the scopes of a key are fixed. Or use a key created ' +
        'by the owner or an active admin.',
    },
  },
  privacy_restricted: {
    cause: {
      de:
        'Das Team hat die Einzelansicht seiner Mitglieder ' +
        '(`member_detail_enabled`) abgeschaltet.',
      en: 'The team has switched off the details of its members (`member_detail_enabled`).',
    },
    remedy: {
      de:
        'Verwenden Sie `GET /analytics/team` mit den zusammengefassten Zahlen. Den Schalter ' +
        'ändert ein Admin des Teams in der App.',
      en:
        'Use the aggregated `GET /analytics/team`; an admin of the team can change the switch in ' +
        'the app.',
    },
  },
  api_disabled: {
    cause: {
      de: 'Das Team ist gesperrt oder beendet, oder sein Tarif enthält die API nicht.',
      en: 'The team is suspended or ended, or its plan does not include the API.',
    },
    remedy: {
      de: 'Prüfen Sie den Tarif in der App, oder fragen Sie den Support.',
      en: 'Check the plan in the app, or ask support.',
    },
  },
  vorgabe_gesperrt: {
    cause: {
      de:
        'Eine Vorgabe des Teams oder des Mitglieds sperrt die Situation, die Persönlichkeit ' +
        'oder die Branche.',
      en: 'A policy of the team or of the recipient blocks the situation, personality or industry.',
    },
    remedy: {
      de:
        'Wählen Sie einen anderen Katalogeintrag, oder ändern Sie die Vorgabe in der App. Rufen ' +
        'Sie dann mit einem neuen `Idempotency-Key` auf.',
      en:
        'Choose another catalog entry, or change the policy in the app, and then call with a new ' +
        '`Idempotency-Key`.',
    },
  },
  not_found: {
    cause: {
      de:
        'Unter dieser Adresse gibt es nichts, was dieses Team sehen kann, oder es gibt nichts zu ' +
        'der ID im Body, die `field` nennt.',
      en:
        'There is nothing at this address that this team can see, or nothing with the id in the ' +
        'body that `field` names.',
    },
    remedy: {
      de: 'Prüfen Sie Pfad und ID. Die Listen nennen die gültigen IDs.',
      en: 'Check the path and the id. The lists contain the valid ids.',
    },
  },
  conflict: {
    cause: {
      de:
        'Mit `Retry-After`: Es geht vorüber, etwa ein Aufruf mit demselben `Idempotency-Key`, ' +
        'der noch läuft. Ohne: Der Zustand lässt den Aufruf nicht zu, etwa weil die ' +
        'E-Mail-Adresse schon zum Team gehört; `detail` sagt, warum.',
      en:
        'With `Retry-After`: it passes by itself, as a call with the same `Idempotency-Key` that ' +
        'is still running. Without it: the state does not allow the call, for instance because ' +
        'the email already belongs to the team; `detail` says why.',
    },
    remedy: {
      de:
        'Mit `Retry-After`: Wiederholen Sie den Aufruf nach so vielen Sekunden mit demselben ' +
        'Key. Ohne: Beheben Sie, was `detail` nennt, oder warten Sie es ab, und rufen Sie mit ' +
        'einem neuen Key auf. Ist die E-Mail-Adresse vergeben, nehmen Sie das Mitglied.',
      en:
        'With `Retry-After`: repeat the call with the same key after that many seconds. Without ' +
        'it: change what `detail` names, or wait for its end, then call with a new ' +
        'key. If the email is taken, use the existing member.',
    },
  },
  seat_limit_reached: {
    cause: {
      de: 'Aktive und eingeladene Mitglieder belegen alle Plätze des Teams.',
      en: 'Active and invited members take all seats of the team.',
    },
    remedy: {
      de:
        'Entfernen Sie ein Mitglied, oder buchen Sie Plätze hinzu. Rufen Sie dann mit einem ' +
        'neuen `Idempotency-Key` auf.',
      en: 'Remove a member, or book more seats, and then call with a new `Idempotency-Key`.',
    },
  },
  last_admin: {
    cause: {
      de: 'Danach gäbe es im Team keinen aktiven Admin mehr.',
      en: 'The team would be left without an active admin.',
    },
    remedy: {
      de: 'Machen Sie zuerst ein anderes aktives Mitglied zum Admin.',
      en: 'Make another active member an admin first.',
    },
  },
  owner: {
    cause: {
      de: 'Der Inhaber kann über die API weder geändert noch entfernt werden.',
      en: 'The owner cannot be changed or removed through the API.',
    },
    remedy: {
      de: 'Die Inhaberschaft wird in der App übertragen.',
      en: 'Ownership is transferred in the app.',
    },
  },
  precondition_failed: {
    cause: {
      de:
        'Das Objekt hat nicht mehr den Stand, den `If-Match` verlangt: Inzwischen hat es jemand ' +
        'geändert. Es wurde nichts geschrieben.',
      en:
        'The object is no longer as `If-Match` demands: somebody has changed it meanwhile. ' +
        'Nothing was written.',
    },
    remedy: {
      de:
        'Lesen Sie das Objekt neu, wenden Sie Ihre Änderung darauf an, und senden Sie sie mit ' +
        'dem neuen `ETag`. Ein schwacher (`W/"…"`) passt nie.',
      en:
        'Read the object again, apply your change to it, and send it with the new `ETag`. A weak ' +
        'one (`W/"…"`) never matches.',
    },
  },
  validation_error: {
    cause: {
      de:
        'Ein Wert in Query, Pfad, Header oder Body ist ungültig: `errors` nennt alle Stellen, ' +
        '`field` das Feld, wenn es nur eines ist.',
      en:
        'A value of query, path, header or body is invalid: `errors` names every place, ' +
        '`field` the field if there is only one.',
    },
    remedy: {
      de: 'Berichtigen Sie die genannten Werte.',
      en: 'Correct the named values.',
    },
  },
  idempotency_mismatch: {
    cause: {
      de:
        'Derselbe `Idempotency-Key` wurde in den letzten 24 Stunden mit einem anderen Body oder ' +
        'für eine andere Operation verwendet.',
      en:
        'The same `Idempotency-Key` was used within 24 hours with another body or for another ' +
        'operation.',
    },
    remedy: {
      de: 'Erzeugen Sie für jede neue Aktion einen neuen Key.',
      en: 'Generate a new key for every new action.',
    },
  },
  kombination_ungueltig: {
    cause: {
      de:
        'Situation, Persönlichkeit oder Branche ist unbekannt, für das Team nicht sichtbar oder ' +
        'so nicht kombinierbar. `dimension` sagt, welche es ist.',
      en:
        'Situation, personality or industry is unknown, not visible to the team, or may not be ' +
        'combined like this; `dimension` says which.',
    },
    remedy: {
      de: 'Verwenden Sie die IDs aus `GET /catalog`, und einen neuen `Idempotency-Key`.',
      en: 'Use ids from `GET /catalog`, and a new `Idempotency-Key`.',
    },
  },
  batch_refused: {
    cause: {
      de:
        'Mit `all_or_none` wurde nichts angelegt, weil einige Einträge falsch sind. `entries` ' +
        'nennt jeden davon mit seinem Problem.',
      en:
        'With `all_or_none` nothing was created, because some entries are wrong. `entries` has ' +
        'each of them with its problem.',
    },
    remedy: {
      de:
        'Berichtigen Sie diese Einträge, oder lassen Sie sie weg, und senden Sie den Aufruf mit ' +
        'einem neuen `Idempotency-Key`. Ohne `all_or_none` werden die übrigen angelegt.',
      en:
        'Correct or leave out these entries and send the call with a new `Idempotency-Key`. ' +
        'Without `all_or_none` the others are created.',
    },
  },
  rate_limited: {
    cause: {
      de:
        'Das Limit des Schlüssels, des Teams, der IP-Adresse oder der Einladungen pro Stunde ist ' +
        'erreicht.',
      en: 'The limit of the key, the team, the IP address or the invitations per hour is reached.',
    },
    remedy: {
      de:
        'Warten Sie `Retry-After` Sekunden. Die Header `RateLimit-*` zeigen, wie viel noch übrig ' +
        'ist.',
      en: 'Wait `Retry-After` seconds. The `RateLimit-*` headers show how much is left.',
    },
  },
  internal: {
    cause: {
      de: 'Ein unerwarteter Fehler auf unserer Seite.',
      en: 'An unexpected fault on our side.',
    },
    remedy: {
      de:
        'Wiederholen Sie den Aufruf später. Bleibt der Fehler, nennen Sie dem Support die ' +
        '`request_id`.',
      en: 'Try again later. If the error persists, send the `request_id` to support.',
    },
  },
  unavailable: {
    cause: {
      de:
        'Die API ist vorübergehend nicht verfügbar, die Anfrage dauerte zu lange, oder das Team ' +
        'hat zu viele Anfragen gleichzeitig gesendet.',
      en:
        'The API is temporarily unavailable, the request took too long, or the team sent too ' +
        'many requests at once.',
    },
    remedy: {
      de:
        'Wiederholen Sie den Aufruf nach `Retry-After` Sekunden mit wachsenden Pausen, ein POST ' +
        'mit demselben `Idempotency-Key`. Verlangen Sie weniger auf einmal.',
      en:
        'Retry after `Retry-After` seconds with increasing delays, a POST with the same ' +
        '`Idempotency-Key`. Ask for less at once.',
    },
  },
} as const satisfies Record<string, ProblemHelp>;
