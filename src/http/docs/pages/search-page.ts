/** The page of search results, for readers without JavaScript. */
import { excerpt, type Found } from '../assets/search.js';
import { block, type Block } from '../block.ts';
import { html } from '../html.ts';
import type { Page, Site } from '../page.ts';

const LIMIT = 30;

/** A search that is ready. */
export type Search = (query: string, limit: number) => readonly Found[];

export function searchPage(site: Site, search: Search, query: string): Page {
  return {
    path: '/docs/search',
    title: 'Search',
    description: 'Search the documentation.',
    content: () => [results(site, search, query)],
  };
}

function results({ prefix }: Site, search: Search, query: string): Block {
  const found = search(query, LIMIT);
  const count = found.length === LIMIT ? `The best ${LIMIT} results` : `Results: ${found.length}`;
  return block(
    () =>
      html`<form class="search-page" action="${prefix}/docs/search">
          <label for="query">Search for</label>
          <input id="query" type="search" name="q" value="${query}" />
          <button type="submit">Search</button>
        </form>
        <p>${query.trim() === '' ? 'Enter one or more words.' : count}</p>
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
        </ol>`,
    '',
  );
}
