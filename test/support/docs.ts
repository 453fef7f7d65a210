import type { TestApi } from './api.ts';

/** A page of the documentation, as a browser without JavaScript gets it. */
export interface CrawledPage {
  /** Without the origin, for instance `/docs/errors`. */
  readonly path: string;
  readonly html: string;
  readonly headers: Headers;
}

/** Returns every page that links lead to from `/docs`, that page first. */
export async function crawl({ url }: Pick<TestApi, 'url'>): Promise<readonly CrawledPage[]> {
  const pages = new Map<string, CrawledPage>();
  const waiting = ['/docs'];
  for (const path of waiting) {
    const response = await fetch(url + path);
    if (response.status !== 200) throw new Error(`${path} is ${response.status}`);
    const html = await response.text();
    pages.set(path, { path, html, headers: response.headers });
    const next = linksOf(html)
      .map((link) => link.split('#')[0] ?? '')
      .filter((link) => /^\/docs(\/[\w/-]+)?$/.test(link) && !waiting.includes(link));
    waiting.push(...new Set(next));
  }
  return [...pages.values()];
}

/** The targets of all links of a page, with their fragments. */
export function linksOf(html: string): string[] {
  return [...html.matchAll(/<a\s[^>]*?href="([^"]*)"/g)].map(([, link]) => plain(link ?? ''));
}

/** The addresses of what a browser loads with the page. */
export function filesOf(html: string): string[] {
  const tags = html.matchAll(/<(?:script|img|link\s+rel="(?:stylesheet|icon|preload)")[^>]*>/g);
  return [...tags].map(([tag]) => /(?:src|href)="([^"]*)"/.exec(tag)?.[1] ?? tag);
}

/** Returns the text that a reader of the HTML sees. It does not use the escaping of the pages. */
export function plain(page: string): string {
  const named: Record<string, string> = {
    '&lt;': '<',
    '&gt;': '>',
    '&quot;': '"',
    '&#39;': "'",
    '&#x27;': "'",
    '&amp;': '&',
  };
  return page
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/&(?:lt|gt|quot|#39|#x27|amp);/g, (entity) => named[entity] ?? '');
}
