/**
 * Serves the developer pages. Everything that they need comes from this process: no page loads
 * anything from another host. A page is made when it is first asked for, and kept.
 */
import { Router, type Request, type Response } from 'express';
import type { oas31 } from 'zod-openapi';
import type { Deprecation } from '../core/deprecation.ts';
import { once } from '../core/once.ts';
import { readAssets } from './assets.ts';
import { pageHeaders } from '../http/api/page-headers.ts';
import { notFoundPage, searchPage, searchPathOf } from './own-pages.ts';
import type { Page } from './page.ts';
import { createResource, type Resource } from '../http/api/resource.ts';
import { sendResource } from '../http/api/send-resource.ts';
import { createSearch } from './assets/search.js';
import { DEFAULT_LANGUAGE, LANGUAGES } from './samples/languages.ts';
import { searchEntries, type SearchSource } from './search-index.ts';
import { renderPage, type Frame } from './shell.ts';
import { createSite, navigationOf, pagesOf } from './site.ts';
import { llmsFull, llmsIndex, markdownPage } from './llms.ts';

export interface DocsOptions {
  /** The service's public URL. Its path, if it has one, precedes every link. */
  readonly publicUrl: string;
  /** The text of the OpenAPI document as it is served. */
  readonly document: string;
  /** Whether webhooks may go to `http://localhost`, as in development. */
  readonly allowsLocalReceivers: boolean;
  /** The end of v1, or null. */
  readonly deprecation: Deprecation | null;
  readonly admitReader: AdmitReader;
}

/**
 * Resolves when it is the caller's turn for an answer that costs so much; false: too many of the
 * caller's wait, so the request was refused, and no work may be done for it.
 */
export type AdmitReader = (request: Request, response: Response, cost: number) => Promise<boolean>;

/** A resource costs one answer for each of these. Most pages cost one. */
const BYTES_PER_COST = 65_536;
/**
 * No two readers search for the same, so each search takes up to 7 ms. What an address gets at once
 * must not take longer than anybody may wait.
 */
const SEARCH_COST = 10;

const PATHS = ['/docs{/*path}', '/docs.md', '/llms.txt', '/llms-full.txt'];

const QUERY_MAX_CHARACTERS = 200;

const HTML = 'text/html; charset=utf-8';
const MARKDOWN = 'text/markdown; charset=utf-8';
const TEXT = 'text/plain; charset=utf-8';
const JSON_TYPE = 'application/json';

/** The developer pages, to be mounted at `/`. */
export function docsRouter(options: DocsOptions): Router {
  const router = Router({ caseSensitive: true });
  const contents = once(() => readContents(options));
  const prefix = new URL(options.publicUrl).pathname.replace(/\/+$/, '');
  router.get('/', (_request, response) => {
    response.redirect(302, `${prefix}/docs`);
  });
  router.get(
    PATHS,
    pageHeaders({ formAction: "'self'", hasFonts: true }),
    async (request, response, next) => {
      const { resources, searchResults, notFound } = contents();
      const path = request.path.replace(/(?<=.)\/$/, '');
      const english = path.replace(/^\/docs\/de\//, '/docs/');
      const resource = resources.get(path);
      const results = searchResults.get(path);
      if (resource) {
        const found = await resource(languageOf(request.query['language']));
        // One answer has been counted before.
        const extra = Math.floor(found.bytes / BYTES_PER_COST);
        if (extra > 0 && !(await options.admitReader(request, response, extra))) return;
        await sendResource(request, response, found);
      } else if (results) {
        const { q } = request.query;
        if (!(await options.admitReader(request, response, SEARCH_COST - 1))) return;
        await sendResource(request, response, await results(typeof q === 'string' ? q : ''));
      } else if (english !== path && resources.has(english)) {
        // What is not translated.
        response.redirect(302, prefix + english);
      } else if (/\/[\w-]+$/.test(path)) await sendResource(request, response, notFound(), 404);
      else next();
    },
  );
  return router;
}

/** Everything that is served. What is the same for every reader is kept once it is made. */
interface Contents {
  /** By path. What programs read has its samples in the given language. */
  readonly resources: ReadonlyMap<string, (language: string) => Resource | Promise<Resource>>;
  /** By path: each language has a search of its own. */
  readonly searchResults: ReadonlyMap<string, (query: string) => Promise<Resource>>;
  readonly notFound: () => Resource;
}

function readContents(options: DocsOptions): Contents {
  const assets = readAssets();
  const document = JSON.parse(options.document) as oas31.OpenAPIObject;
  const site = createSite({ ...options, document });
  const german = createSite({ ...options, document }, 'de');
  const navigation = navigationOf(site);
  const germanNavigation = navigationOf(german, navigation);
  const pages = pagesOf(navigation);
  const germanPages = pagesOf(germanNavigation).filter((page) => !pages.includes(page));
  const twins = new Map(
    pages.flatMap(({ path }) => {
      const twin = german.pathOf(path);
      return twin === path ? [] : [[path, twin] as const, [twin, path] as const];
    }),
  );
  const asset = (name: string): string =>
    `${site.prefix}/docs/assets/${name}?v=${assets.get(name)?.version}`;
  const frame: Frame = { site, navigation, pages, twins, asset };
  const germanFrame: Frame = {
    ...frame,
    site: german,
    navigation: germanNavigation,
    pages: pagesOf(germanNavigation),
  };
  const byPath = new Map([...pages, ...germanPages].map((page) => [page.path, page]));
  const twinOf = ({ path }: Page): Page | undefined => byPath.get(twins.get(path) ?? '');
  const searches = [searchOf(frame, twinOf), searchOf(germanFrame, twinOf)];
  const resources = new Map<string, (language: string) => Resource | Promise<Resource>>([
    ...[...assets].map(([name, one]) => [`/docs/assets/${name}`, () => one] as const),
    ...pages.flatMap((page) => pageResources(frame, page)),
    ...germanPages.flatMap((page) => pageResources(germanFrame, page)),
    ['/llms.txt', once(() => createResource(TEXT, llmsIndex(site, navigation, germanPages)))],
    [
      '/llms-full.txt',
      byLanguage(async (language) => createResource(TEXT, await llmsFull(site, pages, language))),
    ],
    ...searches.map(({ path, index }) => [`${path}.json`, index] as const),
  ]);
  return {
    resources,
    searchResults: new Map(searches.map(({ path, results }) => [path, results])),
    notFound: once(() => createResource(HTML, renderPage(frame, notFoundPage()))),
  };
}

/** The page, and its Markdown with samples in each language. */
function pageResources(
  frame: Frame,
  page: Page,
): (readonly [string, (language: string) => Resource])[] {
  return [
    [page.path, once(() => createResource(HTML, renderPage(frame, page)))],
    [
      `${page.path}.md`,
      byLanguage((language) =>
        createResource(MARKDOWN, markdownPage(frame.site, page, { language })),
      ),
    ],
  ];
}

/** The search over the pages of a language: its index for browsers, and its page of results. */
function searchOf(
  frame: Frame,
  twinOf: SearchSource['twinOf'],
): {
  readonly path: string;
  readonly index: () => Promise<Resource>;
  readonly results: (query: string) => Promise<Resource>;
} {
  const { site, pages } = frame;
  const entries = once(() =>
    searchEntries({ pages, operations: site.reference.operations, twinOf }),
  );
  const search = once(async () => createSearch(await entries()));
  return {
    path: searchPathOf(site),
    index: once(async () => {
      const index = { base: site.prefix, entries: await entries() };
      return createResource(JSON_TYPE, JSON.stringify(index));
    }),
    results: async (query) => {
      const page = searchPage(site, await search(), query.slice(0, QUERY_MAX_CHARACTERS));
      return createResource(HTML, renderPage(frame, page), false);
    },
  };
}

/** The language of the samples that a reader wants; the first one if there is no such language. */
function languageOf(wanted: unknown): string {
  return LANGUAGES.find(({ id }) => id === wanted)?.id ?? DEFAULT_LANGUAGE;
}

/** Makes each language's text once, when somebody reads it. */
function byLanguage<T>(make: (language: string) => T): (language: string) => T {
  const made = new Map(LANGUAGES.map(({ id }) => [id, once(() => make(id))]));
  return (language) => made.get(language)?.() ?? make(language);
}
