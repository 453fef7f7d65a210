/**
 * The German pages: guides, errors and events. The texts of guides are in `guides/de/`. What has no
 * German page is linked in English, so the navigation of both languages is the same.
 */
import type { NavigationEntry, NavigationGroup, NavigationLink, Page, Site } from './page.ts';
import { guideFileOf, guidePage } from './guides.ts';
import { errorsPage } from './pages/errors-page.ts';
import { eventsPage } from './reference/events.ts';

/** By the path of the English page: title, description. */
const PAGES: Readonly<Record<string, readonly [title: string, description: string]>> = {
  '/docs': ['Team Customer API', 'Was die API ist und wo Sie anfangen.'],
  '/docs/quickstart': ['Schnellstart', 'In Minuten vom Schlüssel zum geprüften Webhook.'],
  '/docs/sandbox': [
    'Die Sandbox',
    'Proben in einem eigenen Team: Testschlüssel, Szenarien, und was Sie geschehen lassen.',
  ],
  '/docs/authentication': [
    'Authentifizierung',
    'API-Schlüssel, Scopes und das Rotieren von Schlüsseln.',
  ],
  '/docs/pagination': [
    'Seiten und Synchronisation',
    'Alle Seiten lesen, Neues abfragen, nach einem Ausfall aufholen.',
  ],
  '/docs/idempotency': [
    'Idempotenz und Wiederholungen',
    'Was sich wiederholen lässt, und wie ein POST nur einmal wirkt.',
  ],
  '/docs/conditional-requests': [
    'Bedingte Anfragen',
    'Nur Neues lesen und nur ändern, was Sie gelesen haben.',
  ],
  '/docs/client': [
    'Client-Bibliothek',
    'Die API aus JavaScript und TypeScript aufrufen, mit Typen, Seiten und Wiederholungen.',
  ],
  '/docs/python': [
    'Python-Bibliothek',
    'Die API aus Python aufrufen, mit Typen, Seiten und Wiederholungen, auch mit asyncio.',
  ],
  '/docs/privacy': [
    'Datenschutz-Schalter',
    'Was ein Team verbergen kann, und wie Antworten sich dann ändern.',
  ],
  '/docs/versioning': [
    'Versionen und ihr Ende',
    'Was sich innerhalb von v1 ändern kann, und wie eine Version endet.',
  ],
  '/docs/rate-limits': ['Limits', 'Wie viele Anfragen erlaubt sind und was ein 429 bedeutet.'],
  '/docs/errors': ['Fehler', 'Wie Fehler aussehen, und jeder Code mit Ursache und Abhilfe.'],
  '/docs/webhooks': [
    'Webhooks',
    'Empfangen, prüfen, Duplikate und Wiederholungen behandeln, testen, erneut senden.',
  ],
  '/docs/events': [
    'Ereigniskatalog',
    'Jedes Ereignis: wann es entsteht, was es enthält, was die Datenschutz-Schalter zurückhalten.',
  ],
};

const GROUPS: Readonly<Record<string, string>> = {
  Start: 'Start',
  Guides: 'Anleitungen',
  Webhooks: 'Webhooks',
  Recipes: 'Rezepte (englisch)',
  Reference: 'Referenz (englisch)',
  Releases: 'Versionen (englisch)',
};

const LABELS: Readonly<Record<string, string>> = { Introduction: 'Einführung' };

const HOME = '/docs/de';

/** The path of the German page, or that of the English one if there is none. */
export function germanPathOf(path: string): string {
  return path in PAGES ? path.replace('/docs', HOME) : path;
}

/** The navigation of the German pages. `english` is that of the English ones. */
export function germanNavigationOf(
  site: Site,
  english: readonly NavigationGroup[],
): NavigationGroup[] {
  const entryOf = (entry: NavigationEntry): NavigationEntry =>
    'pages' in entry ? entry : linkOf(site, entry);
  return english.map(({ title, entries }) => ({
    title: GROUPS[title] ?? title,
    entries: entries.map(entryOf),
  }));
}

function linkOf(site: Site, link: NavigationLink): NavigationLink {
  const page = germanPageOf(site, link.page.path);
  if (page === null) return link;
  const label = link.label === undefined ? undefined : LABELS[link.label];
  return label === undefined ? { page } : { page, label };
}

function germanPageOf(site: Site, english: string): Page | null {
  const [title, description] = PAGES[english] ?? [];
  if (title === undefined || description === undefined) return null;
  if (english === '/docs/errors') return errorsPage(site, { title, description });
  if (english === '/docs/events') return eventsPage(site, { title, description });
  const path = germanPathOf(english);
  return guidePage(site, { path, title, description, file: guideFileOf(english) });
}
