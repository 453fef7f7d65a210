/** All pages, and the navigation that leads to them. */
import type { oas31 } from 'zod-openapi';
import type { Deprecation } from '../core/deprecation.ts';
import type { Language } from '../core/language.ts';
import { BASE_PATH } from '../http/api/exchange.ts';
import { germanPathOf } from './german.ts';
import { guideFileOf, guidePage } from './guides.ts';
import { createMarkdown } from './markdown.ts';
import type { NavigationEntry, NavigationGroup, NavigationLink, Page, Site } from './page.ts';
import { changelogPage } from './pages/changelog-page.ts';
import { errorsPage } from './pages/errors-page.ts';
import { versionsPage } from './pages/versions-page.ts';
import { DEFAULT_LANGUAGE } from './samples/languages.ts';
import { eventsPage } from './reference/events.ts';
import { referenceIndex } from './reference/index-page.ts';
import { objectPage } from './reference/object-page.ts';
import { operationPage } from './reference/operation-page.ts';
import { objectNames, readReference } from './reference/operations.ts';

export interface SiteOptions {
  readonly publicUrl: string;
  /** The OpenAPI document as it is served. */
  readonly document: oas31.OpenAPIObject;
  /** Whether webhooks may go to `http://localhost`, as in development. */
  readonly allowsLocalReceivers: boolean;
  /** The end of the version, or null. */
  readonly deprecation: Deprecation | null;
}

export function createSite(options: SiteOptions, language: Language = 'en'): Site {
  const { publicUrl, document } = options;
  const url = publicUrl.replace(/\/+$/, '');
  const prefix = new URL(url).pathname.replace(/\/+$/, '');
  const pathOf = language === 'de' ? germanPathOf : (path: string) => path;
  return {
    language,
    pathOf,
    prefix,
    publicUrl: url,
    apiUrl: url + BASE_PATH,
    allowsLocalReceivers: options.allowsLocalReceivers,
    deprecation: options.deprecation,
    document,
    reference: readReference(document),
    markdown: createMarkdown((path) => prefix + pathOf(path)),
  };
}

/** The page is about one language. Who reads no language in particular has the first library. */
function inLanguages(languages: readonly string[], { page }: NavigationLink): NavigationLink {
  return { page: { ...page, languages } };
}

function asRecipe({ page }: NavigationLink): NavigationLink {
  return { page: { ...page, isRecipe: true } };
}

/** The navigation, with every page in it. */
export function navigationOf(site: Site): NavigationGroup[] {
  const guide = (path: string, title: string, description: string): NavigationLink => {
    return { page: guidePage(site, { path, title, description, file: guideFileOf(path) }) };
  };
  return [
    {
      title: 'Start',
      entries: [
        {
          ...guide('/docs', 'Team Customer API', 'What the API is, and where to begin.'),
          label: 'Introduction',
        },
        guide('/docs/quickstart', 'Quickstart', 'From a key to a verified webhook in minutes.'),
        guide(
          '/docs/sandbox',
          'The sandbox',
          'Rehearse on a team of its own: test keys, scenarios, and what you let happen.',
        ),
      ],
    },
    {
      title: 'Guides',
      entries: [
        guide(
          '/docs/authentication',
          'Authentication',
          'API keys, scopes, and how to change them.',
        ),
        guide(
          '/docs/pagination',
          'Pagination and synchronization',
          'Read all pages, poll for what is new, catch up after an outage.',
        ),
        guide(
          '/docs/idempotency',
          'Idempotency and retries',
          'What can be repeated, and how a POST acts only once.',
        ),
        guide(
          '/docs/conditional-requests',
          'Conditional requests',
          'Read only what is new, and change only what you have read.',
        ),
        guide(
          '/docs/rate-limits',
          'Rate limits',
          'How many requests are allowed, and what a 429 says.',
        ),
        { page: errorsPage(site) },
        inLanguages(
          [DEFAULT_LANGUAGE, 'javascript'],
          guide(
            '/docs/client',
            'Client library',
            'Call the API from JavaScript and TypeScript, with types, paging and retries.',
          ),
        ),
        inLanguages(
          ['python'],
          guide(
            '/docs/python',
            'Python library',
            'Call the API from Python, with types, paging and retries, also by asyncio.',
          ),
        ),
        guide(
          '/docs/privacy',
          'Privacy switches',
          'What a team can hide, and how responses change.',
        ),
        guide(
          '/docs/versioning',
          'Versioning and deprecation',
          'What can change within v1, and how a version ends.',
        ),
      ],
    },
    {
      title: 'Webhooks',
      entries: [
        guide(
          '/docs/webhooks',
          'Webhooks',
          'Receive, verify, handle duplicates and retries, test, send again.',
        ),
        { page: eventsPage(site) },
      ],
    },
    {
      title: 'Recipes',
      entries: [
        guide('/docs/nightly', 'Synchronize every night', 'A job that copies what has changed.'),
        guide(
          '/docs/low-score',
          'Assign practice automatically',
          'A receiver that assigns a practice after a conversation that went badly.',
        ),
        guide(
          '/docs/joiners-and-leavers',
          'Joiners and leavers',
          'Invite and remove members from the list of an HR system or LMS.',
        ),
        guide(
          '/docs/automation-tools',
          'Zapier, Make and n8n',
          'Verify webhooks in a tool without a server of your own.',
        ),
        guide('/docs/power-bi', 'Power BI and Excel', 'Read results page by page, or from a CSV.'),
      ].map(asRecipe),
    },
    { title: 'Reference', entries: referenceEntries(site) },
    {
      title: 'Releases',
      entries: [{ page: changelogPage(site) }, { page: versionsPage(site) }],
    },
  ];
}

/** All pages in the order of the navigation. */
export function pagesOf(groups: readonly NavigationGroup[]): Page[] {
  const flatten = (entry: NavigationEntry): Page[] =>
    'pages' in entry ? entry.pages.map(({ page }) => page) : [entry.page];
  return groups.flatMap(({ entries }) => entries.flatMap(flatten));
}

function referenceEntries(site: Site): NavigationEntry[] {
  const { tags, operations } = site.reference;
  const objects = objectNames(site.reference).map((name) => ({ page: objectPage(site, name) }));
  return [
    { page: referenceIndex(site), label: 'All operations' },
    ...tags.map(({ name }) => ({
      label: name,
      pages: operations
        .filter(({ tag }) => tag === name)
        .map((one) => ({ page: operationPage(site, one), method: one.method })),
    })),
    { label: 'Objects', pages: objects },
  ];
}
