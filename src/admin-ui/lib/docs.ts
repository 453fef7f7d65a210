/** Where the page leads into the documentation. */
import type { PageLanguage } from '../i18n/languages.ts';

/** The pages that it leads to. All of them are there in German, too. */
export const DOCS_PAGES = ['', '/quickstart', '/webhooks', '/events', '/errors'] as const;

export type DocsPage = (typeof DOCS_PAGES)[number];

/** The path of such a page in a language, without that of the service. */
export function docsPath(language: PageLanguage, page: DocsPage): string {
  return `/docs${language === 'de' ? '/de' : ''}${page}`;
}
