/** The page of search results, for readers without JavaScript. */
import { excerpt, search, type SearchEntry } from '../assets/search.js';
import { block, type Block } from '../block.ts';
import { html } from '../html.ts';
import type { Page, Site } from '../page.ts';

const LIMIT = 30;

export function searchPage(site: Site, entries: readonly SearchEntry[], query: string): Page {
  return {
    path: '/docs/search',
    title: 'Search',
    description: 'Search the documentation.',
    content: () => [results(site, entries, query)],
  };
}

function results({ prefix }: Site, entries: readonly SearchEntry[], query: string): Block {
  const found = search(entries, query, LIMIT);
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
                <p>${excerpt(entry, query)}</p>
              </li> `,
          )}
        </ol>`,
    '',
  );
}
