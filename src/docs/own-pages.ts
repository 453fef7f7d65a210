/** Pages that no navigation leads to: search results for readers without JavaScript, and 404. */
import { excerpt, type Found } from './assets/search.js';
import { html } from './html.ts';
import { container } from './markdown.ts';
import type { Page, Site } from './page.ts';
import { WORDS } from './words.ts';

const LIMIT = 30;

/** A search that is ready. */
export type Search = (query: string, limit: number) => readonly Found[];

export function searchPage(site: Site, search: Search, query: string): Page {
  const words = WORDS[site.language];
  return {
    path: searchPathOf(site),
    title: words.search,
    description: `${words.searchLabel}.`,
    source: () => results(site, search, query),
  };
}

/** Each language has a search of its own. */
export function searchPathOf({ language }: Site): string {
  return language === 'en' ? '/docs/search' : `/docs/${language}/search`;
}

function results(site: Site, search: Search, query: string): string {
  const { prefix } = site;
  const words = WORDS[site.language];
  const found = search(query, LIMIT);
  const count = found.length === LIMIT ? words.best(LIMIT) : words.results(found.length);
  const page = html`<form class="search-page" action="${prefix}${searchPathOf(site)}">
      <label for="query">${words.searchFor}</label>
      <input id="query" type="search" name="q" value="${query}" />
      <button type="submit">${words.search}</button>
    </form>
    <p>${query.trim() === '' ? words.searchHint : count}</p>
    <ol class="results">
      ${found.map(
        (entry) =>
          html`<li>
            <a href="${prefix}${entry.path}"
              >${entry.title}${entry.section === '' ? '' : ` › ${entry.section}`}</a
            >
            <p>${excerpt(entry)}</p>
          </li> `,
      )}
    </ol>`;
  return container('html', page.html);
}

export function notFoundPage(): Page {
  return {
    path: '/docs/not-found',
    title: 'Not found',
    description: 'There is no such page.',
    source: () =>
      'There is no such page. Search above, or begin with the [introduction](/docs) or the ' +
      '[API reference](/docs/reference).',
  };
}
