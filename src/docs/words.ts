/** What is around the texts of the pages, in the languages in which there are pages. */
import type { Language } from '../core/language.ts';
import type { Scope } from '../core/scopes.ts';

type Theme = 'system' | 'light' | 'dark';

/** What a list of fields says about each. */
export interface FieldWords {
  readonly required: string;
  readonly optional: string;
  /** Between two types. */
  readonly or: string;
  readonly values: string;
  /** Where a later version may add some. */
  readonly knownValues: string;
  readonly default: string;
  readonly example: string;
}

export interface Words {
  /** The name in the titles of windows, which differ by language. */
  readonly site: string;
  readonly skip: string;
  readonly menu: string;
  readonly documentation: string;
  readonly search: string;
  readonly searchLabel: string;
  readonly searchFor: string;
  readonly searchHint: string;
  readonly best: (count: number) => string;
  readonly results: (count: number) => string;
  readonly theme: string;
  readonly themes: Readonly<Record<Theme, string>>;
  readonly onThisPage: string;
  readonly neighbours: string;
  readonly previous: string;
  readonly next: string;
  readonly asMarkdown: string;
  readonly adminPage: string;
  readonly copyPage: string;
  readonly copied: string;
  readonly lastChanged: string;
  /** The life of a delivery, as boxes: a state, and what it means. */
  readonly life: readonly (readonly [state: string, meaning: string])[];
  readonly response: string;
  readonly body: string;
  readonly delivery: string;
  /** Around what is the same in every event. */
  readonly envelope: string;
  readonly fields: FieldWords;
  readonly run: string;
  readonly sampleLanguage: string;
  readonly key: { readonly label: string; readonly text: string };
  readonly scope: string;
  readonly allows: string;
  readonly deliveryError: string;
  readonly means: string;
  readonly status: string;
  readonly code: string;
  readonly title: string;
  readonly cause: string;
  readonly remedy: string;
  readonly allCodes: string;
}

export const WORDS: Readonly<Record<Language, Words>> = {
  en: {
    site: 'Team Customer API',
    skip: 'Skip to content',
    menu: 'Menu',
    documentation: 'Documentation',
    search: 'Search',
    searchLabel: 'Search the documentation',
    searchFor: 'Search for',
    searchHint: 'Enter one or more words.',
    best: (count) => `The best ${count} results`,
    results: (count) => `Results: ${count}`,
    theme: 'Theme',
    themes: { system: 'as the system', light: 'light', dark: 'dark' },
    onThisPage: 'On this page',
    neighbours: 'Neighbouring pages',
    previous: 'Previous',
    next: 'Next',
    asMarkdown: 'This page as Markdown',
    adminPage: 'Admin page',
    copyPage: 'Copy page',
    copied: 'Copied',
    lastChanged: 'Last changed:',
    life: [
      ['pending', 'waits for its first attempt'],
      ['ok', 'your receiver answered 2xx'],
      ['retrying', 'anything else: the next attempt is at `next_try_at`'],
      ['gave_up', 'the last attempt failed: send it again, or read `GET /events`'],
    ],
    response: 'Response',
    body: 'Body',
    delivery: 'A delivery',
    envelope: 'Envelope',
    fields: {
      required: 'required',
      optional: 'optional',
      or: 'or',
      values: 'Values',
      knownValues: 'Known values',
      default: 'Default',
      example: 'Example',
    },
    run: 'Run it',
    sampleLanguage: 'Language',
    key: {
      label: 'Your API key',
      text:
        'It goes into the samples on these pages. It stays in the memory of this tab: nothing ' +
        'is stored.',
    },
    scope: 'Scope',
    allows: 'Allows',
    deliveryError: '`error` of a delivery',
    means: 'Means',
    status: 'Status',
    code: 'Code',
    title: 'Title',
    cause: 'Cause',
    remedy: 'Remedy',
    allCodes: 'All codes',
  },
  de: {
    site: 'Team Customer API (Deutsch)',
    skip: 'Zum Inhalt',
    menu: 'Menü',
    documentation: 'Dokumentation',
    search: 'Suche',
    searchLabel: 'In der Dokumentation suchen',
    searchFor: 'Suchen nach',
    searchHint: 'Geben Sie ein oder mehrere Wörter ein.',
    best: (count) => `Die besten ${count} Treffer`,
    results: (count) => `Treffer: ${count}`,
    theme: 'Farben',
    themes: { system: 'wie das System', light: 'hell', dark: 'dunkel' },
    onThisPage: 'Auf dieser Seite',
    neighbours: 'Benachbarte Seiten',
    previous: 'Zurück',
    next: 'Weiter',
    asMarkdown: 'Diese Seite als Markdown',
    adminPage: 'Admin-Seite',
    copyPage: 'Seite kopieren',
    copied: 'Kopiert',
    lastChanged: 'Zuletzt geändert:',
    life: [
      ['pending', 'wartet auf den ersten Versuch'],
      ['ok', 'Ihr Empfänger hat mit 2xx geantwortet'],
      ['retrying', 'alles andere: der nächste Versuch kommt um `next_try_at`'],
      ['gave_up', 'der letzte Versuch ist fehlgeschlagen: erneut senden oder `GET /events` lesen'],
    ],
    response: 'Antwort',
    body: 'Body',
    delivery: 'Eine Zustellung',
    envelope: 'Umschlag',
    fields: {
      required: 'erforderlich',
      optional: 'optional',
      or: 'oder',
      values: 'Werte',
      knownValues: 'Bekannte Werte',
      default: 'Vorgabe',
      example: 'Beispiel',
    },
    run: 'Starten',
    sampleLanguage: 'Sprache',
    key: {
      label: 'API-Schlüssel',
      text:
        'Er erscheint in den Beispielen dieser Seiten und bleibt im Speicher dieses Tabs: Nichts ' +
        'wird abgelegt.',
    },
    scope: 'Scope',
    allows: 'Erlaubt',
    deliveryError: '`error` einer Zustellung',
    means: 'Bedeutet',
    status: 'Status',
    code: 'Code',
    title: 'Titel',
    cause: 'Ursache',
    remedy: 'Abhilfe',
    allCodes: 'Alle Codes',
  },
};

/** What `SCOPE_DESCRIPTIONS` says, in German. */
export const GERMAN_SCOPES: Readonly<Record<Scope, string>> = {
  'users:read': 'Mitglieder lesen.',
  'users:write': 'Mitglieder einladen, ihre Rolle ändern und sie entfernen.',
  'trainings:read': 'Metadaten von Trainings lesen.',
  'evaluations:read': 'Bewertungen lesen: Punktzahl, Dimensionen und Tipps, kein Transkript.',
  'assignments:read': 'Zuweisungen lesen.',
  'assignments:write': 'Zuweisungen anlegen, ändern und löschen.',
  'cases:read': 'Fälle des Teams, CRM-Deals und Einwände lesen.',
  'cases:write': 'Fälle des Teams anlegen, ändern und löschen.',
  'catalog:read': 'Den Katalog im Rahmen der geltenden Vorgaben lesen.',
  'analytics:read': 'Zusammengefasste Auswertungen des Teams lesen.',
  'webhooks:manage':
    'Webhook-Endpunkte verwalten, Tests senden, Zustellungen auflisten und wiederholen.',
  'sandbox:write':
    'Die Sandbox zurücksetzen und in ihr Ereignisse simulieren. Nur für Testschlüssel.',
};
