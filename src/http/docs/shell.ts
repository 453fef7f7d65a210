/** The frame of every page: head, navigation, table of contents, footer. */
import { BASE_PATH } from '../api/exchange.ts';
import { wrap, type Block, type Heading } from './block.ts';
import { html, type Html } from './html.ts';
import type { NavigationEntry, NavigationGroup, NavigationLink, Page, Site } from './page.ts';
import { slugOf } from './slug.ts';
import { WORDS, type Words } from './words.ts';

export interface Frame {
  readonly site: Site;
  readonly navigation: readonly NavigationGroup[];
  /** All pages in the order of the navigation. */
  readonly pages: readonly Page[];
  /** The versioned address of a file in assets/. */
  readonly asset: (name: string) => string;
}

export function renderPage(frame: Frame, page: Page): string {
  const content = wrap(page.content(), (inner) => html`${inner}`);
  const toc = page.isWide ? null : tableOfContents(content);
  const layout = page.isWide ? 'wide' : toc === null ? 'narrow' : 'with-toc';
  const words = WORDS.en;
  return html`<!doctype html>
    <html lang="en">
      ${head(frame, page)}
      <body>
        <a class="skip" href="#content">${words.skip}</a>
        ${bar(frame)}
        <div class="frame ${layout}">
          <nav id="menu" popover aria-label="${words.documentation}">
            ${frame.navigation.map((group) => navigationGroup(frame, group, page))}
          </nav>
          <main id="content" tabindex="-1">
            <header>
              ${placeOf(frame, page)}
              <h1>${page.title}</h1>
            </header>
            ${content.render()} ${footer(frame, page)}
          </main>
          ${toc}
        </div>
      </body>
    </html> `.html;
}

function head({ site, asset }: Frame, { title, description, path }: Page): Html {
  const { prefix } = site;
  const { product } = WORDS.en;
  return html`<head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${title === product ? title : `${title} – ${product}`}</title>
    <meta name="description" content="${description}" />
    <link rel="icon" href="${asset('icon.svg')}" type="image/svg+xml" />
    <link rel="alternate" href="${prefix}${path}.md" type="text/markdown" />
    <link
      rel="preload"
      href="${asset('geist.woff2')}"
      as="font"
      type="font/woff2"
      crossorigin="anonymous"
    />
    <link rel="stylesheet" href="${asset('docs.css')}" />
    <script src="${asset('start.js')}"></script>
    <script type="module" src="${asset('docs.js')}"></script>
  </head>`;
}

function bar({ site: { prefix } }: Frame): Html {
  const words = WORDS.en;
  return html`<header class="bar">
    <button type="button" class="menu-button" popovertarget="menu">${words.menu}</button>
    <a class="brand" href="${prefix}/docs"><span>${words.product}</span></a>
    <form class="search" role="search" action="${prefix}/docs/search">
      <label class="hidden" for="search">${words.searchLabel}</label>
      <input
        id="search"
        type="search"
        name="q"
        placeholder="${words.search}"
        autocomplete="off"
        data-index="${prefix}/docs/search.json"
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
    ${themeButton(words)}
  </header>`;
}

/** Chooses among the themes, one after the other. It is shown only with JavaScript. */
function themeButton({ theme: { label, names } }: Words): Html {
  return html`<button
    type="button"
    class="theme"
    aria-label="${label}"
    data-label="${label}"
    data-system="${names.system}"
    data-light="${names.light}"
    data-dark="${names.dark}"
  >
    <svg class="is-system" viewBox="0 0 20 20" aria-hidden="true">
      <path d="M3 4.5h14v9H3zM7.5 17h5M10 13.5V17" />
    </svg>
    <svg class="is-light" viewBox="0 0 20 20" aria-hidden="true">
      <circle cx="10" cy="10" r="3.5" />
      <path d="M10 1.5v2M10 16.5v2M1.5 10h2M16.5 10h2" />
      <path d="M4 4l1.4 1.4M14.6 14.6 16 16M4 16l1.4-1.4M14.6 5.4 16 4" />
    </svg>
    <svg class="is-dark" viewBox="0 0 20 20" aria-hidden="true">
      <path d="M16.5 12A7 7 0 0 1 8 3.5a7 7 0 1 0 8.5 8.5Z" />
    </svg>
  </button>`;
}

/** Says above the title to which part of the navigation the page belongs. */
function placeOf({ navigation }: Frame, page: Page): Html | null {
  for (const { title, entries } of navigation)
    for (const entry of entries) {
      const pages = 'pages' in entry ? entry.pages : [entry];
      if (!pages.some((one) => one.page === page)) continue;
      return html`<p class="place">${'pages' in entry ? `${title} / ${entry.label}` : title}</p>`;
    }
  return null;
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
  return html`<nav class="toc" aria-label="${WORDS.en.onThisPage}">
    <h2>${WORDS.en.onThisPage}</h2>
    <ul>
      ${listed.map(
        ({ level, id, text }: Heading) =>
          html`<li class="level-${level}"><a href="#${id}">${text}</a></li> `,
      )}
    </ul>
  </nav>`;
}

/** The pages before and after, and the page for programs. */
function footer({ site: { prefix }, pages }: Frame, page: Page): Html {
  const words = WORDS.en;
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
    <nav class="neighbours" aria-label="${words.neighbours}">
      ${link(before, words.previous, 'prev')} ${link(after, words.next, 'next')}
    </nav>
    <p>
      <a href="${prefix}${page.path}.md">${words.asMarkdown}</a>
      <a href="${prefix}${BASE_PATH}/openapi.v1.json">openapi.v1.json</a>
      <a href="${prefix}/llms.txt">llms.txt</a>
    </p>
  </footer>`;
}
