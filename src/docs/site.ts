/** All pages, and the navigation that leads to them. */
import type { oas31 } from 'zod-openapi';
import type { Deprecation } from '../core/deprecation.ts';
import type { Language } from '../core/language.ts';
import { BASE_PATH } from '../http/api/exchange.ts';
import { germanPathOf, guidePage, labelOf, readGuides } from './guides.ts';
import { createMarkdown } from './markdown.ts';
import type { NavigationEntry, NavigationGroup, NavigationLink, Page, Site } from './page.ts';
import { objectPage, operationPage } from './reference/pages.ts';
import { objectNames, readReference } from './reference/operations.ts';
import { WORDS } from './words.ts';

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
  const reference = readReference(document);
  const site: Site = {
    language,
    pathOf,
    prefix,
    publicUrl: url,
    apiUrl: url + BASE_PATH,
    allowsLocalReceivers: options.allowsLocalReceivers,
    deprecation: options.deprecation,
    document,
    reference,
    markdown: createMarkdown((path) => prefix + pathOf(path), {
      objects: new Set(objectNames(reference)),
      tabs: WORDS[language].sampleLanguage,
    }),
    guideAt: (path) => {
      const guide = readGuides().find((one) => one.path === path);
      if (!guide) throw new Error(`no guide has the path ${path}`);
      return guidePage(site, guide);
    },
  };
  return site;
}

/** The groups of the navigation, and what they are called in German. */
const GROUPS = {
  Start: 'Start',
  Guides: 'Anleitungen',
  Webhooks: 'Webhooks',
  Recipes: 'Rezepte (englisch)',
  Reference: 'Referenz (englisch)',
  Releases: 'Versionen (englisch)',
} as const;

/**
 * The navigation, with every page in it. That of another language has the pages of `english` which
 * are not translated.
 */
export function navigationOf(
  site: Site,
  english: readonly NavigationGroup[] = [],
): NavigationGroup[] {
  const known = new Map(english.flatMap(({ entries }) => entries).flatMap(linkAndPath));
  return Object.entries(GROUPS).map(([group, german], index) => {
    const links = readGuides()
      .filter((guide) => guide.group === group)
      .map((guide): NavigationLink => {
        const label = labelOf(site, guide);
        return (
          known.get(site.pathOf(guide.path)) ?? {
            page: guidePage(site, guide),
            ...(label === undefined ? {} : { label }),
          }
        );
      });
    const reference = english[index]?.entries.filter((entry) => 'pages' in entry);
    return {
      title: site.language === 'en' ? group : german,
      entries: group === 'Reference' ? [...links, ...(reference ?? referenceEntries(site))] : links,
    };
  });
}

function linkAndPath(entry: NavigationEntry): [string, NavigationLink][] {
  return 'pages' in entry ? [] : [[entry.page.path, entry]];
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
    ...tags.map(({ name }) => ({
      label: name,
      pages: operations
        .filter(({ tag }) => tag === name)
        .map((one) => ({ page: operationPage(site, one), method: one.method })),
    })),
    { label: 'Objects', pages: objects },
  ];
}
