/** The frame of every page: head, navigation, table of contents, footer. */
import { BASE_PATH } from '../api/exchange.ts';
import { wrap, type Block, type Heading } from './block.ts';
import { html, type Html } from './html.ts';
import type { NavigationEntry, NavigationGroup, NavigationLink, Page, Site } from './page.ts';
import { slugOf } from './slug.ts';

export interface Frame {
  readonly site: Site;
  readonly navigation: readonly NavigationGroup[];
  /** All pages in the order of the navigation. */
  readonly pages: readonly Page[];
  /** The versioned address of a file in assets/. */
  readonly asset: (name: string) => string;
}

const PRODUCT = 'Team Customer API';

export function renderPage(frame: Frame, page: Page): string {
  const content = wrap(page.content(), (inner) => html`${inner}`);
  const toc = page.isWide ? null : tableOfContents(content);
  const layout = page.isWide ? 'wide' : toc === null ? 'narrow' : 'with-toc';
  return html`<!doctype html>
    <html lang="en">
      ${head(frame, page)}
      <body>
        <a class="skip" href="#content">Skip to content</a>
        ${bar(frame)}
        <div class="frame ${layout}">
          <nav id="menu" popover aria-label="Documentation">
            ${frame.navigation.map((group) => navigationGroup(frame, group, page))}
          </nav>
          <main id="content" tabindex="-1">
            <h1>${page.title}</h1>
            ${content.render()} ${footer(frame, page)}
          </main>
          ${toc}
        </div>
      </body>
    </html> `.html;
}

function head({ site, asset, pages }: Frame, page: Page): Html {
  const { prefix } = site;
  const { title, description, path } = page;
  return html`<head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${title === PRODUCT ? title : `${title} – ${PRODUCT}`}</title>
    <meta name="description" content="${description}" />
    <link rel="icon" href="${asset('icon.svg')}" type="image/svg+xml" />
    ${
      pages.includes(page)
        ? html`<link rel="alternate" href="${prefix}${path}.md" type="text/markdown" />`
        : null
    }
    <link rel="stylesheet" href="${asset('docs.css')}" />
    <script src="${asset('start.js')}"></script>
    <script type="module" src="${asset('docs.js')}"></script>
  </head>`;
}

function bar({ site: { prefix } }: Frame): Html {
  return html`<header class="bar">
    <button type="button" class="menu-button" popovertarget="menu">Menu</button>
    <a class="brand" href="${prefix}/docs">${PRODUCT}</a>
    <form class="search" role="search" action="${prefix}/docs/search">
      <label class="hidden" for="search">Search the documentation</label>
      <input
        id="search"
        type="search"
        name="q"
        placeholder="Search"
        autocomplete="off"
        data-index="${prefix}/docs/search.json"
      />
    </form>
  </header>`;
}

function navigationGroup(frame: Frame, { title, entries }: NavigationGroup, current: Page): Html {
  const id = `menu-${slugOf(title)}`;
  return html`<section aria-labelledby="${id}">
    <h2 id="${id}">${title}</h2>
    <ul>
      ${entries.map((entry) => html`<li>${navigationEntry(frame, entry, current)}</li> `)}
    </ul>
  </section>`;
}

function navigationEntry({ site }: Frame, entry: NavigationEntry, current: Page): Html {
  if (!('pages' in entry)) return navigationLink(site, entry, current);
  const { label, pages } = entry;
  const isOpen = pages.some(({ page }) => page === current);
  return html`<details${isOpen ? html` open` : null}>
    <summary>${label}</summary>
    <ul>
      ${pages.map((one) => html`<li>${navigationLink(site, one, current)}</li> `)}
    </ul>
  </details>`;
}

function navigationLink(site: Site, { page, label, method }: NavigationLink, current: Page): Html {
  const isCurrent = page === current ? html` aria-current="page"` : null;
  const badge =
    method === undefined
      ? null
      : html`<span class="method ${method.toLowerCase()}">${method}</span> `;
  return html`<a href="${site.prefix}${page.path}" ${isCurrent}>${badge}${label ?? page.title}</a>`;
}

/** Lists the headings of a page. null for a page with few of them. */
function tableOfContents({ headings }: Block): Html | null {
  const listed = headings.filter(({ level }) => level === 2 || level === 3);
  if (listed.length < 3) return null;
  return html`<nav class="toc" aria-label="On this page">
    <h2>On this page</h2>
    <ul>
      ${listed.map(
        ({ level, id, text }: Heading) =>
          html`<li class="level-${level}"><a href="#${id}">${text}</a></li> `,
      )}
    </ul>
  </nav>`;
}

/** The pages before and after, and the page for programs. Search and 404 have no such page. */
function footer({ site: { prefix }, pages }: Frame, page: Page): Html {
  const position = pages.indexOf(page);
  const before = pages[position - 1];
  const after = pages[position + 1];
  const link = (one: Page | undefined, word: string, rel: string): Html | null =>
    position < 0 || one === undefined
      ? null
      : html`<a class="${rel}" rel="${rel}" href="${prefix}${one.path}"
          ><span>${word}</span> ${one.title}</a
        >`;
  return html`<footer>
    <nav class="neighbours" aria-label="Neighbouring pages">
      ${link(before, 'Previous', 'prev')} ${link(after, 'Next', 'next')}
    </nav>
    <p>
      ${position < 0 ? null : html`<a href="${prefix}${page.path}.md">This page as Markdown</a>`}
      <a href="${prefix}${BASE_PATH}/openapi.v1.json">openapi.v1.json</a>
      <a href="${prefix}/llms.txt">llms.txt</a>
    </p>
  </footer>`;
}
