/** Die Texte der Seite auf Deutsch. */
import type { Texts } from './en.ts';

const count = (n: number, one: string, many: string): string => (n === 1 ? one : many);

export const de: Texts = {
  app: {
    title: 'Team Customer API',
    skip: 'Zum Inhalt springen',
    menu: 'Menü',
    navigation: 'Hauptnavigation',
    language: 'Sprache',
    theme: 'Darstellung',
    themes: { system: 'System', light: 'Hell', dark: 'Dunkel' },
    signOut: 'Abmelden',
    docs: 'Dokumentation',
    failed: 'Diese Seite konnte nicht angezeigt werden',
    notFound: 'Diese Seite gibt es nicht',
    notFoundHint: 'Die Adresse ist falsch geschrieben, oder der Eintrag wurde gelöscht.',
    toOverview: 'Zurück zur Übersicht',
    crumbs: 'Zurück',
  },
  nav: {
    connect: 'Anbindung',
    team: 'Team',
    insight: 'Einblicke',
    overview: 'Übersicht',
    sandbox: 'Sandbox',
    keys: 'API-Schlüssel',
    requests: 'Anfragen',
    webhooks: 'Webhooks',
    deliveries: 'Zustellungen',
    members: 'Mitglieder',
    privacy: 'Datenschutz',
    catalog: 'Vorgaben und Katalog',
    crm: 'CRM',
    alerts: 'Meldungen',
    usage: 'Nutzung',
    results: 'Teamergebnisse',
    audit: 'Audit-Log',
  },
  roles: { owner: 'Inhaber', admin: 'Admin', member: 'Mitglied' },
  session: {
    welcome: 'Anmelden',
    developmentHint:
      'Das ist ein Entwicklungsserver. Wählen Sie ein Mitglied des Demo-Teams; ein ' +
      'Passwort ist nicht nötig.',
    continueAs: (who) => `Weiter als ${who}`,
    none: 'Bitte melden Sie sich an',
    noneHint: 'Öffnen Sie diese Seite aus Ihrer Anwendung, in der Sie angemeldet sind.',
    ended: 'Ihre Sitzung ist beendet',
    endedHint: 'Melden Sie sich erneut an, um fortzufahren. Ihre Eingaben sind noch da.',
    signIn: 'Anmelden',
    signInBeside: 'In neuem Tab anmelden',
    signInBesideHint:
      'Nach der Anmeldung kehren Sie auf diese Seite zurück. Um Ihre Eingaben zu behalten, ' +
      'melden Sie sich in einem neuen Tab an und kehren dann hierher zurück.',
    forbidden: 'Diese Seite ist für Admins',
    forbiddenHint:
      'Sie sind als Mitglied angemeldet. Der Inhaber oder ein Admin des Teams kann Sie zum ' +
      'Admin machen.',
    closed: 'Dieses Team ist geschlossen',
    closedHint:
      'Das Team ist gesperrt oder beendet. Den Grund kennt Ihr Ansprechpartner für den ' +
      'Vertrag.',
    unreachable: 'Der Dienst antwortet nicht',
    signOutFailed:
      'Sie sind noch angemeldet: Der Dienst hat nicht geantwortet. Bitte versuchen Sie es erneut.',
    signInAt: (host) => `Anmelden bei ${host}`,
    chooseHost: 'Anwendung für die Anmeldung wählen',
    hostDown: 'Ihre Anwendung antwortet nicht',
    hostDownHint:
      'Sie melden sich über Ihre Anwendung an, die gerade nicht erreichbar ist. Versuchen ' +
      'Sie es in einigen Minuten erneut.',
    noHost: 'Die Anwendung, in der diese Seite läuft, antwortet nicht',
    noHostHint:
      'Laden Sie die Anwendung neu. Wenn das nicht hilft, wenden Sie sich an deren ' + 'Betreiber.',
    offline:
      'Sie sind offline. Die Seite ist möglicherweise veraltet, und Änderungen lassen sich ' +
      'nicht speichern.',
  },
  sandbox: {
    name: 'Sandbox',
    band: 'Keine echten Daten',
    modes: 'Live-Team oder Sandbox',
    modeNames: { live: 'Live', test: 'Sandbox' },
    toMode: { live: 'Zum Live-Team', test: 'Zur Sandbox' },
    whyNotNow: 'Warten Sie, bis die laufende Änderung abgeschlossen ist.',
    none: 'Dieses Team hat keine Sandbox',
    noneHint:
      'Sie wurde noch nicht angelegt oder wieder entfernt. Auf der Seite des Teams können ' +
      'Sie eine Sandbox anlegen.',
    intro:
      'Ein zweites Team zum Proben: Die Mitglieder sind erfunden, nichts davon erreicht ' +
      'Ihr Team, und es werden keine E-Mails versendet.',
    what:
      'Programme nutzen die Sandbox mit eigenen Schlüsseln, die mit svck_test_ beginnen. ' +
      'Ihre Webhooks sind echt: Wir senden sie an die Adressen, die Sie in der Sandbox ' +
      'eintragen. Sie belegt keine Plätze. Die Admins Ihres Teams sind auch ihre Admins.',
    create: 'Sandbox anlegen',
    createHint:
      'Sie erhalten ein zweites Team zum Proben. Die Mitglieder sind erfunden, und nichts ' +
      'davon erreicht Ihr Team. Sie können die Sandbox jederzeit zurücksetzen.',
    open: 'Sandbox öffnen',
    scenario: 'Szenario',
    scenarioIs: 'Szenario',
    scenarios: {
      typical: 'Ein typisches Team',
      large: 'Ein großes Team',
      empty: 'Ein leeres Team',
    },
    scenarioHints: {
      typical: 'Zwölf Personen, 60 Trainings in zwölf Wochen, Zuweisungen, Fälle und CRM-Deals.',
      large: '10.000 Trainings, um ein Programm mit vielen Seiten zu testen.',
      empty: 'Nur ein Inhaber und ein Katalog.',
    },
    createdAt: 'Angelegt',
    resetAt: 'Zuletzt zurückgesetzt',
    speed: 'Tempo der Wiederholungen',
    speedOf: (times) => `${times}-mal so schnell`,
    speedReal: 'Normales Tempo',
    speedHint: 'Bereits begonnene Wartezeiten behalten ihre Länge.',
    speedSaved: 'Das Tempo wurde geändert.',
    suspendedUntil: 'Das Team ist gesperrt',
    failingUntil: 'Webhooks schlagen fehl',
    until: (moment) => `bis ${moment}`,
    end: 'Jetzt beenden',
    ended: 'Beendet.',
    remove: 'Sandbox entfernen',
    removeTitle: 'Sandbox entfernen?',
    removeHint:
      'Alle Daten der Sandbox werden gelöscht, und ihre Schlüssel sind nicht mehr gültig. ' +
      'Einige Minuten später können Sie eine neue anlegen.',
    removed: 'Die Sandbox wurde entfernt.',
    reset: 'Zurücksetzen',
    resetTitle: 'Sandbox zurücksetzen?',
    resetHint:
      'Mitglieder, Trainings, Zuweisungen, Fälle und E-Mails werden durch die des ' +
      'Szenarios ersetzt. Schlüssel, Webhooks, Zustellungen und das Audit-Log bleiben.',
    resetNow: 'Sandbox zurücksetzen',
    resetDone: 'Die Sandbox wurde zurückgesetzt.',
    play: 'Ereignisse simulieren',
    playHint:
      'Lösen Sie aus, was sonst Menschen und Ihre Anwendung tun. Webhooks werden genauso ' +
      'gesendet wie im Live-Betrieb.',
    playNow: 'Simulieren',
    plays: {
      training_completed: 'Ein Training wird abgeschlossen',
      evaluation_saved: 'Ein Training wird bewertet',
      evaluation_corrected: 'Eine Bewertung wird korrigiert',
      invitation_accepted: 'Eine Einladung wird angenommen',
      member_left: 'Ein Mitglied verlässt das Team',
      crm_sync_failed: 'Das CRM lässt sich nicht lesen',
      team_suspended: 'Das Team wird gesperrt',
      rate_limit_nearly_reached: 'Das Limit der Anfragen ist fast erreicht',
      webhooks_failing: 'Webhooks schlagen fehl',
    },
    playHints: {
      training_completed: 'Die Bewertung folgt einige Sekunden später.',
      evaluation_saved: 'Das neueste Training ohne Bewertung wird bewertet.',
      evaluation_corrected:
        'Die Bewertung des neuesten Trainings ändert sich. Wie im Live-Betrieb entsteht ' +
        'dabei kein Ereignis.',
      invitation_accepted:
        'Die älteste offene Einladung. Gibt es keine, laden Sie zuerst jemanden ein.',
      member_left: 'Das neueste Mitglied oder das ausgewählte.',
      crm_sync_failed: 'Setzt eine CRM-Verbindung voraus.',
      team_suspended:
        'Die API lehnt die Schlüssel des Teams ab. Diese Seite bleibt offen, und die Sperre ' +
        'endet von selbst.',
      rate_limit_nearly_reached: 'Für alle Schlüssel zusammen, bis die Minute vorbei ist.',
      webhooks_failing:
        'Jede Zustellung erhält die Antwort 503 und wird wie im Live-Betrieb wiederholt.',
    },
    nothingFits: {
      evaluation_saved: 'Alle Trainings sind bewertet. Simulieren Sie zuerst ein Training.',
      evaluation_corrected: 'Kein Training ist bewertet. Simulieren Sie zuerst ein Training.',
      invitation_accepted: 'Es ist keine Einladung offen. Laden Sie zuerst jemanden ein.',
      crm_sync_failed: 'Es ist keine CRM-Verbindung aktiv. Verbinden Sie zuerst ein CRM.',
      training_completed: 'Die Sandbox ist voll. Setzen Sie sie zuerst zurück.',
    },
    who: 'Mitglied',
    whoFirst: 'Erstes passendes Mitglied',
    score: 'Punktzahl, 0 bis 100',
    when: 'Zeitpunkt',
    whenHint: 'Leer bedeutet jetzt. Höchstens 90 Tage zurück.',
    lasts: 'Dauer',
    reason: 'Grund',
    reasons: {
      unauthorized: 'Das Token ist nicht mehr gültig',
      forbidden: 'Dem Token fehlt eine Berechtigung',
      rate_limited: 'Zu viele Anfragen',
      provider_error: 'Das CRM hat einen Fehler',
      timeout: 'Das CRM antwortet nicht rechtzeitig',
      unreachable: 'Das CRM ist nicht erreichbar',
    },
    remaining: 'Verbleibende Anfragen',
    played: 'Erledigt.',
    playedEvents: (events) => `Ereignisse: ${events}.`,
    playedScore: (moment) => `Die Bewertung folgt: ${moment}.`,
    playedUntil: (moment) => `Aktiv bis ${moment}.`,
    toDeliveries: 'Zustellungen ansehen',
    mails: 'Nicht versendete E-Mails',
    mailsHint:
      'E-Mails, die ein Live-Team versendet hätte, 30 Tage lang oder bis zum nächsten ' +
      'Zurücksetzen.',
    noMails: 'Noch keine E-Mails',
    noMailsHint: 'Laden Sie zum Beispiel jemanden ein.',
    mailTo: 'An',
    mailSubject: 'Betreff',
    mailAt: 'Zeit',
    mailText: 'Text',
    noMail: 'Eine Sandbox versendet keine E-Mails. Sie finden die nicht versendeten unter',
    alertsNote:
      'Eine Sandbox versendet keine E-Mails, daher erhält niemand diese Meldungen. Sie ' +
      'finden die nicht versendeten unter',
    crmNote: 'Eine Sandbox verbindet sich mit einem simulierten CRM, unabhängig vom Token.',
    keysNote: 'Schlüssel der Sandbox beginnen mit svck_test_ und gelten nur hier.',
    testKey: (name) => `${name} (Test)`,
  },
  common: {
    retry: 'Erneut versuchen',
    cancel: 'Abbrechen',
    close: 'Schließen',
    save: 'Speichern',
    saving: 'Wird gespeichert …',
    saved: 'Gespeichert',
    undone: 'Die Änderung wurde abgelehnt und rückgängig gemacht.',
    changedMeanwhile: 'Jemand anderes hat das geändert. Die aktuellen Werte:',
    takeTheirs: 'Aktuelle Werte übernehmen',
    keepMine: 'Meine Eingaben behalten',
    copy: 'Kopieren',
    copied: 'Kopiert',
    copyFailed:
      'Der Browser erlaubt das Kopieren hier nicht. Markieren und kopieren Sie den Text ' +
      'selbst.',
    more: 'Mehr anzeigen',
    loading: 'Wird geladen …',
    never: 'nie',
    none: 'keine',
    unknown: 'unbekannt',
    optional: 'optional',
    all: 'Alle',
    yes: 'Ja',
    no: 'Nein',
    actions: 'Aktionen',
    details: 'Details',
    reset: 'Filter zurücksetzen',
    filters: 'Filter',
    nothingMatches: 'Keine Ergebnisse für diese Filter',
    csv: 'CSV herunterladen',
    asTable: 'Als Tabelle anzeigen',
    withheld: 'Durch den Datenschutz-Schalter „Daten einzelner Mitglieder“ verborgen',
    requestId: (id) => `Anfrage-ID für den Support: ${id}`,
    needsRight:
      'Dafür benötigen Sie das Recht „Schnittstellen verwalten“. Der Inhaber des Teams ' +
      'kann es unter Mitglieder vergeben.',
    needsOwner: 'Das kann nur der Inhaber des Teams.',
    searchedBackTo: (time, day) => `Zurück bis ${day}, ${time} Uhr durchsucht.`,
    searchFurther: 'Weiter suchen',
    shownOf: (n, all) => `${n} von ${all} Einträgen`,
    shown: (n) => count(n, '1 Eintrag angezeigt', `${n} Einträge angezeigt`),
  },
  problems: {
    bad_request: 'Der Dienst konnte diese Anfrage nicht verarbeiten.',
    unauthorized: 'Ihre Sitzung ist beendet.',
    forbidden:
      'Ihre Rolle oder Ihre Rechte erlauben das nicht. Der Inhaber des Teams kann sie ' +
      'unter Mitglieder ändern.',
    insufficient_scope: 'Ihre Rechte reichen dafür nicht aus.',
    privacy_restricted: 'Der Datenschutz-Schalter „Daten einzelner Mitglieder“ verbirgt das.',
    api_disabled: 'Ihr Tarif enthält die API nicht, oder das Team ist geschlossen.',
    vorgabe_gesperrt: 'Eine Vorgabe des Teams sperrt das.',
    not_found: 'Dieser Eintrag ist nicht mehr vorhanden. Möglicherweise wurde er entfernt.',
    conflict: 'Das steht im Konflikt mit einem vorhandenen Eintrag oder laufenden Vorgang.',
    seat_limit_reached: 'Alle Plätze des Teams sind belegt.',
    last_admin: 'Das ist der letzte Admin. Machen Sie zuerst ein anderes Mitglied zum Admin.',
    owner: 'Der Inhaber des Teams lässt sich hier nicht ändern.',
    validation_error: 'Bitte prüfen Sie Ihre Eingaben.',
    idempotency_mismatch: 'Das wurde bereits mit anderem Inhalt gesendet.',
    kombination_ungueltig: 'Diese Einträge lassen sich nicht kombinieren.',
    batch_refused: 'Einige Einträge sind ungültig.',
    rate_limited: 'Zu viele Anfragen. Bitte warten Sie eine Minute.',
    internal: 'Bei uns ist ein Fehler aufgetreten.',
    unavailable: 'Der Dienst ist gerade ausgelastet.',
    changed_meanwhile: 'Jemand anderes hat das geändert. Es wurde nichts gespeichert.',
    precondition_failed: 'Jemand anderes hat das geändert. Es wurde nichts gespeichert.',
    network: 'Der Dienst antwortet nicht. Prüfen Sie Ihre Verbindung.',
  },
  reasons: {
    name_taken:
      'Das Team hat oder hatte bereits einen Schlüssel mit diesem Namen. Wählen Sie einen ' +
      'anderen.',
    already_member:
      'Diese E-Mail-Adresse gehört bereits zu einem Mitglied oder einer offenen Einladung.',
    too_many_keys:
      'Sie haben das Limit aktiver Schlüssel erreicht. Widerrufen Sie einen, um einen ' +
      'neuen anzulegen.',
    too_many_endpoints:
      'Sie haben das Limit der Endpunkte erreicht. Löschen Sie einen, um einen neuen ' +
      'hinzuzufügen.',
    too_many_connections:
      'Sie haben das Limit der CRM-Verbindungen erreicht. Trennen Sie eine, um eine neue ' +
      'herzustellen.',
    not_invited: 'Die Einladung wurde bereits angenommen.',
    not_retryable:
      'Nur laufende Wiederholungen und endgültig fehlgeschlagene Zustellungen lassen sich ' +
      'erneut versuchen.',
    endpoint_paused: 'Der Endpunkt ist pausiert. Reaktivieren Sie ihn zuerst.',
    not_rotatable: 'Dieser Schlüssel ist nicht mehr aktiv oder wurde bereits rotiert.',
    not_active_admin: 'Nur aktive Admins können ein Recht erhalten.',
    url_too_long: 'Die Adresse ist länger als 2048 Zeichen.',
    url_not_https: 'Die Adresse muss mit https:// beginnen.',
    url_invalid_characters:
      'Die Adresse darf keine Leerzeichen, Backslashes oder Steuerzeichen enthalten.',
    url_has_fragment: 'Die Adresse darf keinen Teil nach # haben.',
    url_has_credentials: 'Die Adresse darf weder Benutzernamen noch Passwort enthalten.',
    url_malformed: 'Das ist keine Adresse wie https://example.com/webhooks.',
    url_not_public: 'Diese Adresse ist aus dem Internet nicht erreichbar.',
    url_many_addresses: 'Der Hostname führt zu mehr als 64 IP-Adressen.',
    url_not_resolved: 'Der Hostname ließ sich gerade nicht auflösen. Versuchen Sie es erneut.',
    invalid_network: 'Geben Sie eine IPv4- oder IPv6-Adresse ein oder ein Netz wie 203.0.113.0/24.',
    mapped_network: 'Geben Sie die IPv4-Adresse ohne ::ffff: ein.',
    not_in_future: 'Das Ende muss in der Zukunft liegen.',
    not_recent: 'Geben Sie einen Zeitpunkt in den letzten 90 Tagen ein.',
    secret_replaced:
      'Das Secret wurde inzwischen erneut rotiert. Das aktuelle hat die Person, die es ' +
      'zuletzt rotiert hat.',
    token_rejected: 'Das CRM lehnt das Token ab.',
    token_insufficient:
      'Dem Token fehlt eine Leseberechtigung, die wir benötigen, oder das Konto ist ' +
      'geschlossen.',
    crm_unreachable:
      'Wir konnten das CRM nicht erreichen. Es wurde nichts gespeichert; versuchen Sie es ' +
      'erneut.',
    too_small: 'Bitte füllen Sie dieses Feld aus.',
    too_big: 'Die Eingabe ist zu lang.',
    invalid_format: 'Das Format ist ungültig.',
  },
  fieldReasons: {
    score: 'Geben Sie eine Zahl von 0 bis 100 ein.',
  },
  otherReason: 'Dieser Wert ist nicht erlaubt.',
  keys: {
    title: 'API-Schlüssel',
    intro:
      'Ihre Programme melden sich mit einem Schlüssel an der API an. Jeder Schlüssel hat ' +
      'nur die Berechtigungen, die Sie vergeben.',
    create: 'Schlüssel anlegen',
    empty: 'Noch keine Schlüssel',
    emptyHint:
      'Legen Sie für jedes Programm einen eigenen Schlüssel an. So können Sie einen ' +
      'beenden, ohne die anderen zu beeinträchtigen.',
    name: 'Name',
    nameHint: 'Nennen Sie das Programm, das ihn nutzt, etwa „Lohnabrechnung“.',
    suggestedNames: {
      members_only: 'Personal',
      results: 'BI',
      assignments: 'Lernplattform',
    },
    scopes: 'Berechtigungen',
    created: 'Angelegt',
    lastUsed: 'Zuletzt genutzt',
    onlyFrom: (addresses) => `nur von ${addresses}`,
    anyAddress: 'von jeder Adresse',
    state: 'Status',
    states: {
      active: 'Aktiv',
      ending: 'Wird rotiert',
      expired: 'Abgelaufen',
      revoked: 'Widerrufen',
    },
    endsAt: (moment) => `Gilt bis ${moment}`,
    endedAt: (moment) => `Beendet ${moment}`,
    neverStored: 'Nicht als gespeichert bestätigt',
    neverStoredHint:
      'Niemand hat bestätigt, diesen Schlüssel gespeichert zu haben, und kein Programm hat ' +
      'ihn genutzt. Sie erhalten einen neuen Schlüssel mit denselben Berechtigungen.',
    you: 'von Ihnen',
    permissions: 'Berechtigungen',
    custom: 'Berechtigungen einzeln wählen',
    permissionsNeeded: 'Wählen Sie mindestens eine Berechtigung.',
    scopeNames: {
      'users:read': 'Mitglieder ansehen',
      'users:write': 'Mitglieder einladen, ihre Rolle ändern, sie entfernen',
      'trainings:read': 'Trainings ansehen',
      'evaluations:read': 'Bewertungen ansehen: Punktzahlen und Tipps, kein Transkript',
      'assignments:read': 'Zuweisungen ansehen',
      'assignments:write': 'Zuweisungen anlegen, ändern und löschen',
      'cases:read': 'Fälle des Teams, CRM-Deals und Einwände ansehen',
      'cases:write': 'Fälle des Teams anlegen, ändern und löschen',
      'catalog:read': 'Den Katalog ansehen, den das Team nutzen darf',
      'analytics:read': 'Ergebnisse des Teams als Ganzes ansehen',
      'sandbox:write': 'Die Sandbox zurücksetzen und Ereignisse in ihr simulieren',
      'webhooks:manage': 'Webhooks verwalten, testen und Zustellungen wiederholen',
    },
    countScopes: (n) => count(n, '1 Berechtigung', `${n} Berechtigungen`),
    expiry: 'Gültigkeit',
    expiryNext: 'Gültigkeit des neuen Schlüssels',
    expiryDays: (days, date) => `${days} Tage, bis ${date}`,
    expiryNever: 'Unbegrenzt',
    expiryNeverHint: 'Prüfen Sie solche Schlüssel einmal im Jahr.',
    restrict: 'Erlaubte Adressen',
    restrictHint:
      'IP-Adressen oder Netze wie 203.0.113.0/24, eines je Zeile. Leer bedeutet jede ' + 'Adresse.',
    secretTitle: 'Ihr neuer Schlüssel',
    secretHint:
      'Kopieren Sie ihn jetzt an den Ort, an dem das Programm seine Secrets aufbewahrt. ' +
      'Wir zeigen ihn nur einmal und speichern keine Kopie.',
    secretTry: 'Im Terminal ausprobieren',
    secretStored: 'Ich habe den Schlüssel gespeichert',
    secretDone: 'Fertig',
    secretWhyNot:
      'Kopieren Sie den Schlüssel, oder bestätigen Sie, dass Sie ihn gespeichert haben.',
    rotate: 'Rotieren',
    rotateTitle: (name) => `Den Schlüssel „${name}“ rotieren`,
    rotateHint:
      'Sie erhalten einen neuen Schlüssel mit denselben Berechtigungen. Der alte gilt ' +
      'weiter, während Sie das Programm umstellen.',
    grace: 'Übergangsfrist des alten Schlüssels',
    graces: {
      now: 'Sofort beenden, weil er bekannt geworden sein könnte',
      hour: '1 Stunde',
      day: '1 Tag',
      week: '7 Tage',
      month: '30 Tage',
    },
    graceUntil: (label, moment) => `${label}, bis ${moment}`,
    graceToEnd: (moment) => `Bis zu seinem eigenen Ablauf, ${moment}`,
    rotateNow: 'Schlüssel rotieren',
    revoke: 'Widerrufen',
    revokeTitle: (name) => `Den Schlüssel „${name}“ widerrufen?`,
    revokeUsed: (ago) =>
      `Er wurde zuletzt ${ago} genutzt. Programme, die ihn nutzen, funktionieren sofort ` +
      'nicht mehr.',
    revokeUnused:
      'Es ist keine aktuelle Nutzung bekannt. Programme, die ihn noch nutzen, ' +
      'funktionieren sofort nicht mehr.',
    revokeCalls: (n, calls) =>
      count(n, `Seine letzte Anfrage: ${calls}.`, `Seine letzten ${n} Anfragen: ${calls}.`),
    revokeFrom: (networks) => `Herkunft: ${networks}.`,
    leak: 'Könnte der Schlüssel bekannt geworden sein?',
    leakNo: 'Nein, er wird nicht mehr benötigt',
    leakYes: 'Ja, oder ich bin nicht sicher',
    leakUnchanged: 'Er hat keine Änderungen vorgenommen.',
    leakChanged: (changes) => `Seine letzten Änderungen: ${changes}.`,
    leakAll: 'Alle Änderungen mit diesem Schlüssel',
    leakBreaks:
      'Der Schlüssel endet sofort, und Sie erhalten einen neuen mit denselben ' +
      'Berechtigungen. Programme mit dem alten Schlüssel schlagen fehl, bis sie den neuen ' +
      'haben.',
    leakReplace: 'Jetzt beenden und neuen Schlüssel anzeigen',
    revokeFinal:
      'Das lässt sich nicht rückgängig machen. Um ohne Lücke umzustellen, rotieren Sie den ' +
      'Schlüssel.',
    revokeNow: 'Schlüssel widerrufen',
    revoked: (name) => `Der Schlüssel „${name}“ gilt nicht mehr.`,
    showEnded: 'Beendete Schlüssel anzeigen',
    cannotRotate: 'Nur ein aktiver Schlüssel, der nicht schon rotiert wird, lässt sich rotieren.',
  },
  webhooks: {
    title: 'Webhooks',
    intro:
      'Wir senden Ereignisse an Ihre Server, sobald sie eintreten, etwa ein ' +
      'abgeschlossenes Training.',
    create: 'Endpunkt hinzufügen',
    empty: 'Noch keine Endpunkte',
    emptyHint:
      'Tragen Sie die Adresse Ihres Servers ein, und wählen Sie die Ereignisse, die er ' +
      'erhält.',
    url: 'Adresse',
    urlHint: 'Nur https und aus dem Internet erreichbar.',
    events: 'Ereignisse',
    eventsNeeded: 'Wählen Sie mindestens ein Ereignis.',
    eventNames: {
      'training.completed': 'Training abgeschlossen',
      'evaluation.completed': 'Training bewertet',
      'assignment.created': 'Zuweisung angelegt',
      'assignment.completed': 'Zuweisung erledigt',
      'member.joined': 'Mitglied beigetreten',
      'member.removed': 'Mitglied ausgeschieden',
      'crm.sync.failed': 'CRM nicht lesbar',
      ping: 'Testereignis',
    },
    countEvents: (n) => count(n, '1 Ereignis', `${n} Ereignisse`),
    description: 'Beschreibung',
    state: 'Status',
    states: {
      active: 'Aktiv',
      disabled: 'Pausiert',
      disabled_failures: 'Nach Fehlern pausiert',
    },
    lastSuccess: 'Letzter Erfolg',
    pausedHint:
      'Neue Ereignisse werden nicht zugestellt, solange ein Endpunkt pausiert ist. Ihre ' +
      'Programme können sie 30 Tage lang mit GET /events lesen. Bereits wartende ' +
      'Zustellungen senden wir, wenn Sie den Endpunkt reaktivieren.',
    failuresHint:
      'Seit längerer Zeit war keine Zustellung erfolgreich, deshalb haben wir den Endpunkt ' +
      'pausiert. Senden Sie einen Test; sobald er ankommt, reaktivieren Sie den Endpunkt.',
    secretTitle: 'Secret des Endpunkts',
    secretHint:
      'Ihr Server prüft damit unsere Signatur. Kopieren Sie es jetzt an den Ort, an dem ' +
      'der Server seine Secrets aufbewahrt. Wir zeigen es nur einmal.',
    secretStored: 'Ich habe das Secret gespeichert',
    secretWhyNot: 'Kopieren Sie das Secret, oder bestätigen Sie, dass Sie es gespeichert haben.',
    unstored: 'Secret nicht als gespeichert bestätigt',
    twin: 'Ein anderer Endpunkt hat dieselbe Adresse, die dieselben Ereignisse zweimal erhält',
    unstoredHint:
      'Niemand hat bestätigt, das aktuelle Secret gespeichert zu haben. Ein Server ohne ' +
      'dieses Secret kann unsere Zustellungen nicht prüfen: Rotieren Sie das Secret.',
    replaceUnstored: 'Jetzt rotieren',
    rotate: 'Secret rotieren',
    rotateHint:
      'Sie erhalten ein neues Secret. Während der Übergangsfrist signieren wir mit beiden, ' +
      'damit Sie Ihren Server umstellen können.',
    rotateGrace: 'Übergangsfrist des alten Secrets',
    bothUntil: (moment) => `Bis ${moment} auch mit dem alten Secret signiert.`,
    howToVerify: 'Prüfung der Signatur',
    testTitle: 'Endpunkt testen',
    test: 'Test senden',
    testType: 'Ereignis',
    testExample: 'Inhalt des Tests',
    testExampleHint:
      'Er enthält test: true, und zu seinen IDs gibt es nichts. Ein Server, der das nicht ' +
      'beachtet, handelt wie bei einem echten Ereignis.',
    testDocs: 'Alle Felder',
    testing: 'Der Test ist unterwegs …',
    testArrived: (ms) => `Der Test ist angekommen: Ihr Server hat nach ${ms} ms geantwortet.`,
    testFailed: 'Der Test ist nicht angekommen.',
    pause: 'Pausieren',
    pauseTitle: 'Diesen Endpunkt pausieren?',
    paused: 'Der Endpunkt ist pausiert.',
    reactivate: 'Reaktivieren',
    reactivated: 'Der Endpunkt ist wieder aktiv.',
    change: 'Einstellungen',
    danger: 'Gefahrenbereich',
    remove: 'Endpunkt löschen',
    removeTitle: 'Diesen Endpunkt löschen?',
    removeHint:
      'Er erhält keine Ereignisse mehr. Wartende Zustellungen werden nicht gesendet, ' +
      'bisherige Zustellungen werden gelöscht. Um ihn nur vorübergehend auszusetzen, ' +
      'pausieren Sie ihn.',
    missing: 'Diesen Endpunkt gibt es hier nicht',
    missingHint: 'Er wurde gelöscht, oder dieses Team hatte ihn nie.',
    removed: 'Der Endpunkt wurde gelöscht.',
    chartFailed: 'Fehlgeschlagen',
    rate: (ok, total) => `Angekommen: ${ok} der letzten ${total}`,
    success: 'Erfolgsquote',
    answersIn: (ms) => `antwortet in ${ms} ms`,
    waiting: (n) => `Wartend: ${n}`,
    chart: 'Antwortzeiten der letzten Zustellungen',
    ofLast: (total) => count(total, 'der letzten Zustellung', `der letzten ${total}`),
    backlog: 'Wartende Zustellungen nach Zeit des nächsten Versuchs',
    backlogFirst: 'auf den ersten Versuch',
    backlogDue: 'jetzt',
    backlogWithin: (time) => `binnen ${time}`,
    backlogLater: 'später',
    backlogWhen: 'Nächster Versuch',
    backlogBar: (count, when) => `${count}: ${when}`,
    recent: 'Letzte Zustellungen',
    allDeliveries: 'Alle Zustellungen dieses Endpunkts',
  },
  times: {
    label: 'Zeit',
    pasts: {
      '1h': 'Letzte Stunde',
      '24h': 'Letzte 24 Stunden',
      '7d': 'Letzte 7 Tage',
      custom: 'Von … bis …',
    },
    since: 'Von',
    until: 'Bis',
    backwards: 'Das Ende liegt vor dem Anfang.',
  },
  deliveries: {
    title: 'Zustellungen',
    intro:
      'Alle Ereignisse, die wir an einen Endpunkt gesendet haben, 30 Tage lang. ' +
      'Fehlgeschlagene Zustellungen wiederholen wir etwa zwei Tage lang.',
    empty: 'Noch keine Zustellungen',
    emptyHint: 'Hier steht jedes Ereignis, das ein Endpunkt abonniert hat.',
    event: 'Ereignis',
    endpoint: 'Endpunkt',
    state: 'Status',
    result: 'Ergebnis',
    created: 'Zeitpunkt',
    states: {
      pending: 'Wartet',
      ok: 'Angekommen',
      retrying: 'Fehlgeschlagen, wird wiederholt',
      gave_up: 'Endgültig fehlgeschlagen',
      failed: 'Alle fehlgeschlagenen',
    },
    answered: (code) => `Antwort ${code}`,
    noAnswerYet: 'noch nicht versucht',
    one: (event) => `Zustellung: ${event}`,
    attempts: 'Versuche',
    attempt: 'Versuch',
    at: 'Beendet',
    took: 'Dauer',
    ms: (value) => `${value} ms`,
    next: (moment) => `Nächster Versuch ${moment}`,
    held: 'Wartet, bis der Endpunkt aktiv ist',
    retryPaused:
      'Der Endpunkt ist pausiert. „Jetzt noch einmal versuchen“ macht trotzdem einen Versuch, ' +
      'wie ein Test; geplante Versuche warten, bis Sie ihn reaktivieren.',
    request: 'Unsere Anfrage',
    headers: 'Header',
    body: 'Body',
    response: 'Antwort Ihres Servers',
    emptyResponse: 'Die Antwort war leer.',
    retry: 'Jetzt wiederholen',
    retried: 'Ein neuer Versuch läuft.',
    retryWhyNot: 'Nur eine fehlgeschlagene Zustellung lässt sich wiederholen.',
    missing: 'Diese Zustellung gibt es nicht',
    missingHint:
      'Sie ist älter als 30 Tage, ihr Endpunkt wurde gelöscht, oder sie gehört einem ' +
      'anderen Team.',
    toList: 'Alle Zustellungen',
    whatToDo: 'Nächste Schritte',
    explain: {
      ok: 'Ihr Server hat das Ereignis angenommen.',
      pending: 'Der erste Versuch folgt in Sekunden, sofern der Endpunkt nicht pausiert ist.',
      '3xx':
        'Ihr Server leitet uns an eine andere Adresse weiter. Wir folgen keinen ' +
        'Weiterleitungen.',
      '4xx': 'Ihr Server hat das Ereignis abgelehnt.',
      '401':
        'Ihr Server hat uns nicht autorisiert. Eine Anmeldung oder eine Signaturprüfung ' +
        'lehnt die Anfrage ab.',
      '404': 'Ihr Server kennt diese Adresse nicht.',
      '410': 'Ihr Server meldet, dass es diese Adresse nicht mehr gibt.',
      '429': 'Ihr Server hat zu viele Anfragen erhalten.',
      '5xx': 'Ihr Server hatte einen internen Fehler.',
      timeout: 'Ihr Server hat nicht innerhalb von 10 Sekunden geantwortet.',
      connection_refused: 'An dieser Adresse ist kein Server erreichbar.',
      connection_closed: 'Ihr Server hat die Verbindung vor der Antwort geschlossen.',
      connection_failed: 'Wir konnten keine Verbindung zu Ihrem Server herstellen.',
      tls_unknown_issuer: 'Der Aussteller des Zertifikats ist unbekannt.',
      tls_certificate_expired: 'Das Zertifikat ist abgelaufen oder gilt noch nicht.',
      tls_wrong_name: 'Das Zertifikat gilt für einen anderen Namen.',
      tls_version: 'Ihr Server unterstützt weder TLS 1.2 noch 1.3.',
      tls_error:
        'Der Port hat kein TLS, das Zertifikat ist ungültig, oder seine Kette ist zu lang.',
      target_not_public:
        'Der Hostname führt zu keiner öffentlichen Adresse oder zu mehr als 64 Adressen.',
      name_not_resolved: 'Wir konnten den Hostnamen nicht auflösen (DNS).',
      host_unreachable: 'Wir konnten Ihren Server nicht erreichen.',
      invalid_response: 'Wir konnten die Antwort Ihres Servers nicht lesen.',
      invalid_headers:
        'Ein Header der Antwort ist fehlerhaft, oder Content-Length kommt zweimal vor.',
      response_headers_too_large: 'Die Header der Antwort Ihres Servers sind zu groß.',
      internal: 'Wir konnten den Versuch nicht ausführen. Der Fehler liegt bei uns.',
      simulated: 'Die Sandbox simuliert diesen Fehler. Ihr Server hat keine Anfrage erhalten.',
      other: 'Wir konnten Ihren Server nicht erreichen oder seine Antwort nicht lesen.',
    },
    todo: {
      '3xx': 'Tragen Sie die endgültige Adresse in den Einstellungen des Endpunkts ein.',
      '4xx': 'Prüfen Sie die Antwort unten und das Log Ihres Servers.',
      '401': 'Lassen Sie Anfragen an diese Adresse ohne Anmeldung zu, und prüfen Sie das Secret.',
      '404': 'Vergleichen Sie die Adresse in den Einstellungen mit der Ihres Servers.',
      '410': 'Löschen Sie den Endpunkt, oder tragen Sie seine neue Adresse ein.',
      '429': 'Erlauben Sie mehr Anfragen, wenn es andauert. Wir werden automatisch langsamer.',
      '5xx': 'Prüfen Sie das Log Ihres Servers zum Zeitpunkt des Versuchs.',
      timeout: 'Antworten Sie sofort, und erledigen Sie die Arbeit danach.',
      connection_refused: 'Starten Sie den Server, und prüfen Sie Firewall und Port.',
      connection_closed: 'Prüfen Sie das Log Ihres Servers oder seines Proxys.',
      connection_failed: 'Prüfen Sie Namen, Firewall und Port.',
      tls_unknown_issuer:
        'Verwenden Sie einen öffentlichen Aussteller, und senden Sie das Zwischenzertifikat ' +
        'mit.',
      tls_certificate_expired: 'Erneuern Sie das Zertifikat, und prüfen Sie die Uhr des Servers.',
      tls_wrong_name: 'Verwenden Sie ein Zertifikat für den Hostnamen in der URL.',
      tls_version: 'Aktivieren Sie TLS 1.2 oder 1.3.',
      tls_error:
        'Prüfen Sie den Port. Erneuern Sie das Zertifikat samt seiner Kette, höchstens 24 KB.',
      target_not_public: 'Prüfen Sie den Hostnamen in Ihrem DNS.',
      name_not_resolved: 'Prüfen Sie die Nameserver der Domain, wenn es andauert.',
      host_unreachable: 'Prüfen Sie, ob der Server läuft und mit dem Internet verbunden ist.',
      invalid_response: 'Prüfen Sie das Log Ihres Servers oder seines Proxys.',
      invalid_headers: 'Senden Sie jeden Header als „Name: Wert“ und Content-Length einmal.',
      response_headers_too_large: 'Senden Sie weniger oder kürzere Header. Wir lesen 16 KB.',
      internal: 'Nichts. Wir wiederholen automatisch.',
      simulated: 'Nichts. Versuche gelingen, sobald die Simulation beendet ist.',
      other: 'Prüfen Sie das Log Ihres Servers oder seines Proxys.',
      gave_up:
        'Es gibt keine automatischen Versuche mehr. Wiederholen Sie die Zustellung mit der ' +
        'Schaltfläche oben.',
    },
  },
  resend: {
    title: 'Fehlgeschlagene Zustellungen erneut senden',
    open: 'Fehlgeschlagene erneut senden',
    hint:
      'Sobald Ihr Server wieder läuft, senden Sie alles Fehlgeschlagene erneut, das ' +
      'Älteste zuerst.',
    since: (from) => `seit ${from}`,
    range: (from, to) => `${from} bis ${to}`,
    allEndpoints: 'Alle aktiven Endpunkte',
    counting: 'Wird gezählt …',
    nothing: 'In diesem Zeitraum ist keine Zustellung fehlgeschlagen.',
    total: (n, text) =>
      count(
        n,
        '1 Zustellung ist in diesem Zeitraum fehlgeschlagen und wird erneut gesendet.',
        `${text} Zustellungen sind in diesem Zeitraum fehlgeschlagen und werden erneut ` +
          'gesendet.',
      ),
    hasMore: 'Es gibt weitere. Senden Sie den Rest danach.',
    paused: 'Der Endpunkt ist pausiert. Reaktivieren Sie ihn zuerst.',
    pausedWhy:
      'Viele Zustellungen auf einmal gehen nur an einen aktiven Endpunkt. Um zu prüfen, ob er ' +
      'antwortet, senden Sie einen Test, oder wiederholen Sie eine Zustellung auf ihrer Seite.',
    nothingActive: 'An aktiven Endpunkten ist in dieser Zeit nichts fehlgeschlagen.',
    atPaused: (n, endpoints, names) =>
      count(
        endpoints,
        `${n} sind an ${names} fehlgeschlagen, das pausiert ist.`,
        `${n} sind an pausierten Endpunkten fehlgeschlagen: ${names}.`,
      ),
    reactivate: (name) => `${name} reaktivieren`,
    start: (n) => `${n} erneut senden`,
    progress: (sent, total) => `${sent} von ${total} eingereiht`,
    past: 'Erneuter Versand',
    stop: 'Abbrechen',
    stopped: 'Abgebrochen. Bereits eingereihte Zustellungen werden noch gesendet.',
    started: 'Die fehlgeschlagenen Zustellungen werden erneut gesendet.',
    states: { running: 'Läuft', done: 'Fertig', cancelled: 'Abgebrochen' },
    from: 'Zeitraum',
    when: 'Begonnen',
  },
  members: {
    title: 'Mitglieder',
    intro: 'Alle Mitglieder des Teams und alle offenen Einladungen.',
    invite: 'Mitglied einladen',
    email: 'E-Mail-Adresse',
    language: 'Sprache der Einladung',
    languages: { de: 'Deutsch', en: 'Englisch' },
    role: 'Rolle',
    roleHints: {
      member: 'Trainiert und sieht die eigenen Ergebnisse.',
      admin: 'Verwaltet außerdem das Team auf dieser Seite.',
    },
    sendInvitation: 'Einladung senden',
    invited: (email) => `Die Einladung an ${email} ist unterwegs.`,
    who: 'Mitglied',
    status: 'Status',
    statuses: { active: 'Aktiv', invited: 'Eingeladen' },
    since: 'Seit',
    right: 'Darf API-Schlüssel verwalten',
    rightHint:
      'Das Recht „Schnittstellen verwalten“: API-Schlüssel anlegen, rotieren und ' + 'widerrufen.',
    change: 'Ändern',
    changeTitle: (who) => `${who} ändern`,
    changed: 'Geändert.',
    roleSaved: 'Die Rolle wurde gespeichert, das Recht jedoch nicht:',
    resend: 'Erneut senden',
    resent: 'Die Einladung wurde erneut gesendet.',
    withdraw: 'Zurückziehen',
    withdrawTitle: (who) => `Die Einladung von ${who} zurückziehen?`,
    withdrawHint: 'Die Einladung kann nicht mehr angenommen werden, und ihr Platz wird frei.',
    withdrawn: 'Die Einladung wurde zurückgezogen.',
    remove: 'Entfernen',
    removeTitle: (who) => `${who} aus dem Team entfernen?`,
    removeHint:
      'Offene Zuweisungen werden sofort zurückgezogen. Trainings und Fälle des Teams ' +
      'bleiben. API-Schlüssel, die diese Person angelegt hat, gelten weiter: Rotieren Sie ' +
      'diese, wenn die Person sie gesehen hat.',
    leaverRight: 'Verliert das Recht, Schlüssel und Webhooks zu verwalten.',
    leaverNoRight: 'Hat außer der Rolle keine Rechte.',
    leaverOpen: (n, text) =>
      n === 0
        ? 'Hat keine offenen Zuweisungen.'
        : count(n, 'Hat 1 offene Zuweisung.', `Hat ${text} offene Zuweisungen.`),
    leaverNoKey: 'Hat keinen Schlüssel angelegt, der noch gilt.',
    leaverKeys: (n, names) =>
      count(
        n,
        `Hat einen Schlüssel angelegt, der weiter gilt: ${names}.`,
        `Hat ${n} Schlüssel angelegt, die weiter gelten: ${names}.`,
      ),
    leaverToKeys: 'Rotieren',
    removed: 'Das Mitglied wurde entfernt.',
    ownerWhy: 'Die Inhaberschaft lässt sich nur in Ihrer Anwendung übertragen.',
    you: '(Sie)',
    seats: (used, all) => `Belegte Plätze: ${used} von ${all}.`,
    sort: 'Sortierung',
    sorts: {
      newest: 'Hinzugefügt: neueste zuerst',
      address: 'Adresse: A bis Z',
      role: 'Rolle: Admins zuerst',
      joined: 'Beigetreten: neueste zuerst',
      joined_first: 'Beigetreten: älteste zuerst',
    },
    find: 'Adresse oder ID',
    goOn: 'Bisher keine Treffer. Die Suche geht auf der nächsten Seite weiter.',
    pages: 'Seiten der Mitglieder',
    firstPage: 'Erste Seite',
    nextPage: 'Nächste Seite',
    choose: 'Geben Sie einen Teil der Adresse ein, und wählen Sie ein Mitglied.',
    nobody: 'Kein Mitglied des Teams passt dazu.',
    nobodySoFar: 'Bisher keine Treffer. Geben Sie die vollständige Adresse ein.',
    hidden: 'Adressen sind verborgen, weil die Daten einzelner Mitglieder ausgeschaltet sind.',
    hiddenWhere: 'Datenschutz-Schalter',
  },
  privacy: {
    title: 'Datenschutz',
    intro: 'Die Sichtbarkeit einzelner Mitglieder in der API und auf dieser Seite.',
    detail: 'Daten einzelner Mitglieder',
    detailHint:
      'E-Mail-Adressen, Trainings, Punktzahlen, Fälle und Zuweisungen einzelner Mitglieder.',
    leaderboard: 'Vergleich der Mitglieder',
    leaderboardHint:
      'Ergebnisse einzelner Mitglieder in den Teamergebnissen, ohne Namen. Setzt den ' +
      'ersten Schalter voraus und mindestens fünf Mitglieder, die trainiert haben.',
    isOn: 'Eingeschaltet',
    isOff: 'Ausgeschaltet',
    isIdle: 'Ohne Wirkung, solange der erste Schalter aus ist',
    isAsked: '…',
    isTooSmall: 'Ohne Wirkung, bis fünf Mitglieder trainiert haben',
    here: {
      detailOn:
        'Diese Seite zeigt wieder E-Mail-Adressen, auch bei angelegten Schlüsseln und im ' +
        'Audit-Log.',
      detailOff:
        'Auf der ganzen Seite ersetzen Mitglieds-IDs die E-Mail-Adressen, auch bei ' +
        'angelegten Schlüsseln und im Audit-Log. Die Suche nach Adressen ist nicht mehr ' +
        'möglich.',
      leaderboardOn: 'Die Teamergebnisse auf dieser Seite zeigen Ergebnisse einzelner Mitglieder.',
      leaderboardOff: 'Die Teamergebnisse auf dieser Seite zeigen nur das Team als Ganzes.',
    },
    concerned: 'Schlüssel, deren Antworten sich ändern:',
    keysWith: (n, permission) => `${permission}: ${count(n, '1 Schlüssel', `${n} Schlüssel`)}`,
    turnOn: 'Einschalten …',
    turnOff: 'Ausschalten …',
    titleOn: (name) => `„${name}“ einschalten?`,
    titleOff: (name) => `„${name}“ ausschalten?`,
    example: 'Beispiel einer Antwort:',
    whenOn: 'Eingeschaltet',
    whenOff: 'Ausgeschaltet',
    confirmOn: 'Jetzt einschalten',
    confirmOff: 'Jetzt ausschalten',
    at:
      'Die Änderung gilt ab der nächsten Anfrage. Sie können sie jederzeit rückgängig ' + 'machen.',
    changed: 'Der Schalter wurde geändert.',
    changedAlready: 'Jemand anderes hat den Schalter bereits so gestellt.',
  },
  alerts: {
    title: 'Meldungen',
    intro:
      'Meldungen per E-Mail über Ihre Anbindung. Alle Admins stellen sie für sich selbst ' + 'ein.',
    legend: 'E-Mail an mich, wenn',
    kinds: {
      webhooks: 'Webhooks fehlschlagen',
      errors: 'viele Anfragen fehlschlagen',
      keys: 'ein API-Schlüssel bald abläuft',
    },
    hints: {
      webhooks:
        'Seit einer Stunde war keine Zustellung erfolgreich, oder der Endpunkt wurde ' +
        'pausiert.',
      errors: (share, requests) =>
        `Mehr als ${share} von mindestens ${requests} Anfragen seit gestern.`,
      keys: (days) => `${days} Tage vor dem Ablauf.`,
    },
    rhythm:
      'Sie erhalten höchstens eine E-Mail am Tag, und sie enthält nur neue Meldungen. Jede ' +
      'E-Mail hat einen Link, mit dem Sie alle abbestellen.',
  },
  audit: {
    title: 'Audit-Log',
    intro:
      'Alle Änderungen im Team mit Urheber und Zeitpunkt, 400 Tage lang. Das Audit-Log ' +
      'speichert nur IDs, keine personenbezogenen Daten.',
    empty: 'Noch keine Einträge',
    emptyHint:
      'Hier stehen Änderungen, die auf dieser Seite oder durch ein Programm gemacht wurden.',
    when: 'Zeitpunkt',
    who: 'Urheber',
    what: 'Aktion',
    target: 'Ziel',
    kinds: {
      api_key: 'API-Schlüssel',
      user: 'Person',
      platform: 'Ihre Anwendung',
      system: 'Der Dienst',
    },
    actions: {
      'api_key.created': 'API-Schlüssel angelegt',
      'api_key.revoked': 'API-Schlüssel widerrufen',
      'api_key.stored': 'API-Schlüssel als gespeichert bestätigt',
      'api_key.rotated': 'API-Schlüssel rotiert',
      'assignment.created': 'Zuweisung angelegt',
      'assignment.updated': 'Zuweisung geändert',
      'assignment.deleted': 'Zuweisung gelöscht',
      'case.created': 'Fall angelegt',
      'case.updated': 'Fall geändert',
      'case.deleted': 'Fall gelöscht',
      'crm_connection.connected': 'CRM verbunden',
      'crm_connection.credentials_replaced': 'CRM-Token ersetzt',
      'crm_connection.disconnected': 'CRM getrennt',
      'crm_connection.paused': 'CRM pausiert',
      'crm_connection.resumed': 'CRM fortgesetzt',
      'crm_connection.sync_failed': 'CRM konnte nicht gelesen werden',
      'crm_connection.sync_requested': 'Synchronisation des CRM angefordert',
      'member.invited': 'Mitglied eingeladen',
      'member.accepted': 'Einladung angenommen',
      'member.invitation_resent': 'Einladung erneut gesendet',
      'member.removed': 'Mitglied entfernt',
      'member.role_changed': 'Rolle geändert',
      'sandbox.created': 'Sandbox angelegt',
      'sandbox.played': 'Ereignis in der Sandbox simuliert',
      'sandbox.removed': 'Sandbox entfernt',
      'sandbox.reset': 'Sandbox zurückgesetzt',
      'sandbox.updated': 'Tempo der Sandbox geändert',
      'team.right_granted': 'Recht vergeben',
      'team.right_withdrawn': 'Recht entzogen',
      'team.privacy_changed': 'Datenschutz-Schalter geändert',
      'team.policy_changed': 'Vorgabe geändert',
      'team.release_changed': 'Freigabe geändert',
      'team.updated': 'Team geändert',
      'webhook_endpoint.created': 'Webhook-Endpunkt angelegt',
      'webhook_endpoint.updated': 'Webhook-Endpunkt geändert',
      'webhook_endpoint.deleted': 'Webhook-Endpunkt gelöscht',
      'webhook_endpoint.tested': 'Testereignis gesendet',
      'webhook_endpoint.secret_rotated': 'Webhook-Secret rotiert',
      'webhook_endpoint.secret_stored': 'Webhook-Secret als gespeichert bestätigt',
      'webhook_endpoint.resend_started': 'Erneuter Versand gestartet',
      'webhook_endpoint.resend_cancelled': 'Erneuter Versand abgebrochen',
      'webhook_delivery.retried': 'Zustellung wiederholt',
    },
    forTarget: (id) => `Nur Einträge zu ${id}`,
    byActor: (who) => `Nur Änderungen von ${who}`,
    allBy: (who) => `Alle Änderungen von ${who}`,
    allAbout: 'Alle Einträge zu diesem Ziel',
    toRequest: 'Anfrage ansehen',
  },
  requests: {
    codeNames: {
      bad_request: 'Fehlerhafte Anfrage',
      unauthorized: 'Kein gültiger Schlüssel',
      forbidden: 'Nicht erlaubt',
      insufficient_scope: 'Berechtigung fehlt',
      privacy_restricted: 'Durch Datenschutz verborgen',
      api_disabled: 'API nicht verfügbar',
      vorgabe_gesperrt: 'Durch eine Vorgabe gesperrt',
      not_found: 'Nicht gefunden',
      conflict: 'Konflikt',
      seat_limit_reached: 'Alle Plätze belegt',
      last_admin: 'Letzter Admin',
      owner: 'Inhaber des Teams',
      precondition_failed: 'Inzwischen geändert',
      validation_error: 'Ungültige Eingabe',
      idempotency_mismatch: 'Mit anderem Inhalt wiederholt',
      kombination_ungueltig: 'Ungültige Kombination',
      batch_refused: 'Batch abgelehnt',
      rate_limited: 'Zu viele Anfragen',
      internal: 'Interner Fehler',
      unavailable: 'Gerade überlastet',
    },
    title: 'Anfragen',
    intro:
      'Anfragen Ihrer Programme und ihre Ergebnisse, bis zu 7 Tage lang. Alle Fehler sind ' +
      'aufgeführt; einzelne erfolgreiche Anfragen können fehlen.',
    refresh: 'Aktualisieren',
    late: 'Eine Anfrage erscheint hier einige Sekunden nach ihrer Antwort.',
    empty: 'Noch keine Anfragen',
    emptyHint: 'Hier stehen Anfragen, sobald ein Programm einen Schlüssel nutzt.',
    call: 'Anfrage',
    status: 'Status',
    statuses: {
      errors: 'Alle Fehler',
      '2xx': 'Erfolgreich (2xx)',
      '4xx': 'Abgelehnt (4xx)',
      '5xx': 'Serverfehler (5xx)',
    },
    code: 'Fehlercode',
    route: 'Pfad',
    id: 'Anfrage-ID',
    took: 'Dauer',
    network: 'Herkunftsnetz',
    hungUp: 'Der Client hat die Verbindung vor der Antwort getrennt.',
    fine: 'Die Anfrage war erfolgreich.',
    faults: 'Ungültige Eingaben',
    where: 'Stelle',
    whatIsWrong: 'Problem',
    faultOther: 'Der Wert ist nicht erlaubt.',
    faultNames: {
      invalid_type: 'Der Wert fehlt oder hat den falschen Typ.',
      invalid_value: 'Der Wert ist keiner der erlaubten Werte.',
      invalid_format: 'Der Wert hat das falsche Format.',
      invalid_number: 'Der Wert ist keine gültige Zahl.',
      invalid_length: 'Der Wert hat die falsche Länge.',
      too_small: 'Der Wert ist zu kurz oder zu klein.',
      too_big: 'Der Wert ist zu lang oder zu groß.',
      repeated: 'Der Wert kommt mehrfach vor.',
      too_many_values: 'Es sind zu viele Werte oder Felder.',
      unrecognized_keys: 'Das Feld ist unbekannt. Möglicherweise ist es falsch geschrieben.',
      ignored: 'Der Parameter ist unbekannt und wurde ignoriert.',
      not_found: 'Der Wert verweist auf etwas, das es nicht gibt.',
    },
    sameCode: 'Alle Anfragen mit diesem Fehler',
    notKept:
      'Wir speichern nie den Body einer Anfrage oder Antwort, nur welche Felder ungültig ' +
      'waren.',
    missing: 'Diese Anfrage ist nicht im Log',
    missingHint:
      'Sie ist älter als 7 Tage, wurde mit dem Schlüssel eines anderen Teams gestellt, ist ' +
      'erst Sekunden alt oder wurde als erfolgreiche Anfrage ausgelassen.',
    toList: 'Alle Anfragen',
    ofKey: 'Anfragen',
  },
  usage: {
    title: 'Nutzung',
    intro:
      'Anfragen mit den Schlüsseln des Teams je Tag (UTC), 90 Tage lang. Die Zahlen folgen ' +
      'mit einigen Sekunden Verzögerung.',
    empty: 'Keine Anfragen in diesem Zeitraum',
    emptyHint: 'Hier werden Anfragen gezählt, sobald ein Programm einen Schlüssel nutzt.',
    key: 'API-Schlüssel',
    period: 'Zeitraum',
    days: (n) => `Letzte ${n} Tage`,
    day: 'Tag',
    statuses: {
      '2xx': 'Erfolgreich',
      '4xx': 'Abgelehnt (4xx)',
      '429': 'Limit erreicht (429)',
      '5xx': 'Serverfehler (5xx)',
    },
    chart: 'Anfragen je Tag und Ergebnis',
    chartHint: 'Mit den Pfeiltasten wechseln Sie von Tag zu Tag.',
    peak: 'Spitzenminute',
    peakHint: (key, team) => `des Limits: ${key} Anfragen je Schlüssel, ${team} für das Team`,
    peaks: 'Auslastung des Minutenlimits',
    peaksHint:
      'Die obere Linie ist das Limit des Schlüssels oder des Teams, je nachdem, welches ' +
      'näher war.',
    peakBelow: (share) => `unter ${share}`,
    peakFrom: (share) => `${share} und mehr`,
    seats: 'Belegte Plätze',
    ofSeats: (n) => `von ${n}, Einladungen eingeschlossen`,
    plan: 'Tarif',
    plans: { starter: 'Starter', team: 'Team', enterprise: 'Enterprise' },
    total: 'Gesamt',
  },
  results: {
    title: 'Teamergebnisse',
    intro: 'Ergebnisse des Teams als Ganzes, ohne Namen.',
    members: 'Aktive Mitglieder',
    sessions: 'Trainings',
    scored: 'Bewertet',
    average: 'Durchschnittliche Punktzahl',
    trend: 'Durchschnittliche Punktzahl je Woche',
    trendHint: 'Die letzten zwölf Wochen; die laufende steht am Ende.',
    week: 'Woche',
    weeksAgo: (n) => (n === 0 ? 'Diese Woche' : count(n, 'Vor 1 Woche', `Vor ${n} Wochen`)),
    score: 'Punktzahl',
    dimensions: 'Dimensionen',
    dimension: 'Dimension',
    names: {
      closing: 'Abschluss',
      conversation_control: 'Gesprächsführung',
      needs_analysis: 'Bedarfsanalyse',
      objection_handling: 'Einwandbehandlung',
      value_argument: 'Nutzenargumentation',
    },
    gap: 'Übungsbedarf',
    none: 'Noch keine Punktzahlen',
    noneHint: 'Sobald ein Training bewertet ist, erscheinen hier die Punktzahlen des Teams.',
    single: 'Einzelne Mitglieder',
    spread: 'Verteilung der Durchschnittswerte',
    spreadHint:
      'Mitglieder nach durchschnittlicher Punktzahl. Mit den Pfeiltasten wechseln Sie von ' +
      'Balken zu Balken.',
    withScore: (n, range) =>
      count(n, `${range} Punkte: 1 Mitglied`, `${range} Punkte: ${n} Mitglieder`),
    best: (n) => `Die besten ${n}`,
    last: (n) => `Die letzten ${n}`,
    person: (n) => `Mitglied ${n}`,
    delta: 'Änderung in 30 Tagen',
    singleWithheld:
      'Verborgen: Einzelergebnisse setzen beide Datenschutz-Schalter voraus und mindestens ' +
      'fünf Mitglieder, die trainiert haben.',
  },
  crm: {
    title: 'CRM',
    intro: 'Wir lesen Deals und Einwände aus Ihrem CRM, damit Trainings zu echten Fällen passen.',
    connect: 'CRM verbinden',
    empty: 'Kein CRM verbunden',
    emptyHint: 'Verbinden Sie HubSpot oder Pipedrive mit einem Token, das Deals lesen darf.',
    provider: 'CRM',
    providers: { hubspot: 'HubSpot', pipedrive: 'Pipedrive' },
    token: 'Token',
    tokenHints: {
      hubspot:
        'Ein Service-Key von HubSpot, unter Development, Keys, Service keys, oder das ' +
        'Zugriffstoken einer vorhandenen privaten App, mit diesen Berechtigungen („Scopes“)',
      pipedrive:
        'Ihr persönliches API-Token in Pipedrive, unter Einstellungen, Persönlich, API. Es ' +
        'hat Ihre eigenen Berechtigungen: Sie benötigen Zugriff auf alle Deals, die wir ' +
        'lesen sollen.',
    },
    tokenTested:
      'Wir prüfen das Token und speichern es verschlüsselt. Niemand kann es wieder ' + 'einsehen.',
    marker: 'Kennzeichnung von Einwänden',
    markerHint:
      'Notizen, die mit diesem Text beginnen, übernehmen wir als Einwände, etwa „Einwand:“.',
    connectNow: 'Prüfen und verbinden',
    connected: 'Das CRM ist verbunden. Die erste Synchronisation beginnt jetzt.',
    connectedAlready: (name, press) =>
      `${name} ist bereits verbunden. Wird dasselbe Konto zweimal verbunden, sind alle ` +
      'seine Deals doppelt vorhanden. Für ein anderes Token wählen Sie stattdessen ' +
      `„${press}“.`,
    states: { active: 'Aktiv', paused: 'Pausiert' },
    last: 'Letzte Synchronisation',
    next: 'Nächste Synchronisation',
    running: 'läuft gerade',
    failed: (n) =>
      count(
        n,
        'Der letzte Versuch ist fehlgeschlagen',
        `Die letzten ${n} Versuche sind fehlgeschlagen`,
      ),
    fine: 'Funktioniert',
    notYet: 'Noch nicht synchronisiert',
    noToken: 'Kein Token',
    noTokenHint: 'Wir können dieses CRM erst lesen, wenn Sie sein Token eingeben.',
    pause: 'Pausieren',
    resume: 'Fortsetzen',
    sync: 'Jetzt synchronisieren',
    syncing: 'Die Synchronisation hat begonnen.',
    replace: 'Token ersetzen',
    replaceTitle: (name) => `Das Token von ${name} ersetzen`,
    replaceHint:
      'Wir nutzen das bisherige Token, bis das neue geprüft und gespeichert ist. Deals und ' +
      'Einwände bleiben, und wir lesen alle neu.',
    replaceNow: 'Prüfen und ersetzen',
    replaced: 'Das Token wurde ersetzt.',
    enter: 'Token eingeben',
    enterTitle: (name) => `Das Token von ${name} eingeben`,
    enterHint: 'Deals und Einwände bleiben, und wir lesen alle neu.',
    enterNow: 'Prüfen und speichern',
    entered: 'Das Token wurde gespeichert.',
    disconnect: 'Trennen',
    disconnectTitle: (name) => `${name} trennen?`,
    disconnectHint:
      'Wir löschen hier die Deals und Einwände daraus. Im CRM ändert sich nichts. Für ein ' +
      'anderes Token ersetzen Sie stattdessen das Token.',
    disconnected: 'Das CRM ist getrennt.',
    changed: 'Geändert.',
    errors: {
      unauthorized: 'Das CRM lehnt das Token ab.',
      credentials_unreadable: 'Geben Sie das Token erneut ein.',
      forbidden:
        'Dem Token fehlt eine Berechtigung, die wir benötigen, oder das Konto ist ' +
        'geschlossen.',
      rate_limited: 'Das CRM begrenzt unsere Anfragen. Wir versuchen es später erneut.',
      timeout: 'Das CRM hat nicht rechtzeitig geantwortet.',
      unreachable: 'Wir konnten das CRM nicht erreichen.',
      provider_error: 'Das CRM hatte einen internen Fehler.',
      invalid_response: 'Wir konnten die Antwort des CRM nicht lesen.',
      internal: 'Bei uns ist ein Fehler aufgetreten.',
    },
  },
  catalog: {
    title: 'Vorgaben und Katalog',
    intro:
      'Die Bausteine der Trainings. Eine Vorgabe sperrt Einträge für das ganze Team oder ' +
      'für ein Mitglied.',
    forWhom: 'Vorgabe für',
    wholeTeam: 'Das ganze Team',
    search: 'Suchen',
    kind: 'Art',
    kinds: {
      situation: 'Situation',
      personality: 'Persönlichkeit',
      industry: 'Branche',
      role: 'Rolle',
      methodology: 'Methodik',
    },
    name: 'Eintrag',
    own: 'eigener Eintrag',
    released: 'Freigegeben',
    allowed: 'Erlaubt',
    blockedByTeam: 'durch die Vorgabe des Teams gesperrt',
    release: 'Für das Team freigegebene Einträge',
    releaseAll: 'Alle, auch künftige',
    releaseSome: 'Nur die unten als „Freigegeben“ markierten',
    empty: 'Der Katalog hat keine Einträge',
    saved: 'Die Vorgabe wurde gespeichert.',
    allow: (name) => `${name} erlauben`,
    releaseOne: (name) => `${name} freigeben`,
  },
  overview: {
    title: 'Übersicht',
    intro: 'Der Zustand Ihrer Anbindung auf einen Blick.',
    figures: 'Kennzahlen',
    attention: 'Handlungsbedarf',
    needs: (n) => count(n, '1 Punkt braucht Aufmerksamkeit', `${n} Punkte brauchen Aufmerksamkeit`),
    byMail: 'Meldungen per E-Mail einrichten',
    allGood: 'Alles funktioniert.',
    keysInUse: 'Schlüssel',
    ofKeys: (n) => `in 7 Tagen genutzt, von ${n} gültigen`,
    requests: 'Anfragen',
    week: (today) => `in 7 Tagen, davon ${today} heute (UTC).`,
    change: (share) => `${share} gegenüber den 7 Tagen davor.`,
    errorRate: 'Fehler',
    errorShare: 'der Anfragen wurden abgelehnt oder sind fehlgeschlagen',
    noRequests: 'keine Anfragen in den letzten 7 Tagen',
    success: 'Webhooks',
    noEndpoints: 'noch keine Endpunkte',
    noKeys: 'noch keine Schlüssel',
    hookStates: {
      empty: () => '–',
      none: (_, of) => (of === '1' ? 'Pausiert' : 'Alle pausiert'),
      some: (n, of) => `${n} von ${of} aktiv`,
      all: () => 'Aktiv',
    },
    arrived: (share) => `${share} der letzten Zustellungen kamen an`,
    nothingSent: 'noch nichts gesendet',
    crm: 'CRM',
    crmStates: {
      empty: () => '–',
      none: () => 'Gestört',
      some: (n, of) => `${n} von ${of} in Ordnung`,
      all: () => 'In Ordnung',
    },
    connections: (n) => count(n, '1 Verbindung', `${n} Verbindungen`),
    noCrm: 'nicht verbunden',
    endpointsPaused: (n, names) =>
      count(
        n,
        `Der Webhook ${names} ist pausiert. Neue Ereignisse werden ihm nicht zugestellt.`,
        `${n} Webhooks sind pausiert: ${names}. Neue Ereignisse werden ihnen nicht ` +
          'zugestellt.',
      ),
    reactivate: 'Beheben und reaktivieren',
    deliveriesFailed: (n, text) =>
      count(
        n,
        '1 Zustellung ist in den letzten 24 Stunden fehlgeschlagen.',
        `${text} Zustellungen sind in den letzten 24 Stunden fehlgeschlagen.`,
      ),
    receivers: (names) => `Empfänger: ${names}.`,
    others: (n) => count(n, 'ein weiterer Name', `${n} weitere`),
    waiting: (n, names) => `${n} Zustellungen warten. Empfänger: ${names}.`,
    manyErrors: (share) =>
      `${share} der Anfragen der letzten 7 Tage wurden abgelehnt oder sind fehlgeschlagen.`,
    manyLimited: (share) =>
      `${share} der Anfragen der letzten 7 Tage haben das Limit überschritten.`,
    crmFailed: (n, names) =>
      count(n, `Wir konnten ${names} nicht lesen.`, `Wir konnten ${n} CRMs nicht lesen: ${names}.`),
    crmNoToken: (n, names) =>
      count(
        n,
        `${names} hat kein Token, daher können wir es nicht lesen.`,
        `${n} CRMs haben kein Token, daher können wir sie nicht lesen: ${names}.`,
      ),
    enterToken: 'Token eingeben',
    keysEnd: (n, names, when) =>
      count(
        n,
        `Der Schlüssel „${names}“ läuft ${when} ab.`,
        `${n} Schlüssel laufen bald ab, der erste ${when}: ${names}.`,
      ),
    keysUnseen: (n, names) =>
      count(
        n,
        `Niemand hat bestätigt, den Schlüssel „${names}“ gespeichert zu haben.`,
        `Niemand hat bestätigt, ${n} Schlüssel gespeichert zu haben: ${names}.`,
      ),
    secretsUnstored: (n, names) =>
      count(
        n,
        `Niemand hat bestätigt, das Secret des Webhooks ${names} gespeichert zu haben.`,
        `Niemand hat bestätigt, die Secrets von ${n} Webhooks gespeichert zu haben: ${names}.`,
      ),
    keysUnused: (n, names) =>
      count(
        n,
        `Der Schlüssel „${names}“ wurde seit 90 Tagen nicht genutzt.`,
        `${n} Schlüssel wurden seit 90 Tagen nicht genutzt: ${names}.`,
      ),
    lookAtThem: 'Ansehen',
    lookAtWhy: 'Grund ansehen',
    lookAtUsage: 'Nutzung ansehen',
    replaceThem: 'Rotieren',
    revokeThem: 'Widerrufen',
    ourErrors: (n, text) =>
      count(
        n,
        '1 Anfrage ist durch einen Fehler bei uns fehlgeschlagen.',
        `${text} Anfragen sind durch einen Fehler bei uns fehlgeschlagen.`,
      ),
    atLeast: (n) => `mindestens ${n}`,
  },
  finder: {
    open: 'Suchen',
    title: 'Alles durchsuchen',
    label: 'Seite, Schlüssel, Webhook, Mitglied oder ID',
    placeholder: 'Adresse, Name, kopierte ID oder Meldung',
    found: 'Ergebnisse',
    hint:
      'Pfeiltasten zum Auswählen, Enter zum Öffnen. „/“ oder Strg-K öffnet die Suche ' + 'überall.',
    secret:
      'Das ist ein Secret. Wir haben es nirgendwohin gesendet; das Ergebnis ist der ' +
      'zugehörige Schlüssel.',
    page: 'Seite',
    key: 'Anfragen des Schlüssels',
    webhook: 'Webhook',
    member: 'Mitglied',
    request: 'Anfrage',
    delivery: 'Zustellung',
    history: 'Einträge im Audit-Log',
    person: 'Seite des Mitglieds',
    deed: 'Aktion',
  },
  deeds: {
    invite: { name: 'Mitglied einladen', words: 'person hinzufügen einladung neu' },
    newKey: { name: 'API-Schlüssel erstellen', words: 'neuer schlüssel anlegen token key' },
    newWebhook: { name: 'Webhook-Endpunkt hinzufügen', words: 'neuer anlegen erstellen' },
    resend: {
      name: 'Fehlgeschlagene Zustellungen erneut senden',
      words: 'wiederholen noch einmal resend',
    },
    connectCrm: { name: 'CRM verbinden', words: 'hubspot pipedrive anbinden neu' },
    failedDeliveries: { name: 'Fehlgeschlagene Zustellungen ansehen', words: 'fehler webhook' },
    failedRequests: { name: 'Fehlgeschlagene Anfragen ansehen', words: 'fehler 4xx 5xx' },
    revokeKey: {
      name: 'API-Schlüssel widerrufen oder rotieren',
      words: 'ersetzen wechseln löschen beenden',
    },
    mailAlerts: { name: 'E-Mail-Benachrichtigungen einrichten', words: 'meldungen mail alarm' },
    memberData: { name: 'Daten der Mitglieder zeigen oder verbergen', words: 'datenschutz dsgvo' },
  },
  member: {
    missing: 'Dieses Mitglied ist nicht im Team',
    missingHint:
      'Es hat das Team verlassen, die Einladung ist abgelaufen, oder es gehörte nie dazu.',
    toList: 'Zu allen Mitgliedern',
    keys: 'Erstellte API-Schlüssel',
    assignments: 'Zuweisungen',
    noAssignment: 'Noch keine Zuweisung.',
    assignmentStates: {
      open: 'Offen',
      done: 'Erledigt',
      revoked: 'Widerrufen',
    },
    history: 'Verlauf',
    noHistory: 'Das Audit-Log hat keinen Eintrag zu diesem Mitglied',
    allAbout: 'Alles zu diesem Mitglied',
    allBy: 'Alles, was dieses Mitglied getan hat',
  },
  limits: {
    keys: (n: string) =>
      `${n} von ${n} Schlüsseln sind vergeben. Widerrufen Sie einen, um einen neuen zu erstellen.`,
    toKeys: 'Zu den Schlüsseln',
    endpoints: (n: string) =>
      `${n} von ${n} Endpunkten sind vergeben. Löschen Sie einen, um einen neuen hinzuzufügen.`,
    toEndpoints: 'Zu den Endpunkten',
    connections: (n: string) =>
      `${n} von ${n} CRM-Verbindungen sind vergeben. Trennen Sie zuerst eine.`,
  },
  steps: {
    title: 'Erste Schritte',
    hide: 'Liste ausblenden',
    done: (n, of) => `${n} von ${of} erledigt`,
    isDone: 'Erledigt',
    isOpen: 'Offen',
    rehearse: 'In einer Sandbox ohne echte Daten proben',
    key: 'Einen API-Schlüssel für Ihr Programm anlegen',
    request: 'Die erste Anfrage senden, wie in der Dokumentation beschrieben',
    webhook: 'Einen Webhook-Endpunkt hinzufügen, um Ereignisse zu empfangen',
    test: 'Ein Testereignis an den Endpunkt senden',
    colleague: 'Einer weiteren Person das Recht für Schlüssel erteilen',
  },
};
