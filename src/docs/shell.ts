/** The frame of every page: head, navigation, table of contents, footer. */
import type { Language } from '../core/language.ts';
import { BASE_PATH } from '../http/api/exchange.ts';
import { headingsOf, type Heading } from './markdown.ts';
import { html, type Html } from './html.ts';
import type { NavigationEntry, NavigationGroup, NavigationLink, Page, Site } from './page.ts';
import { searchPathOf } from './own-pages.ts';
import { slugOf } from './slug.ts';
import { WORDS, type Words } from './words.ts';

/** It has the same name in every language. */
const PRODUCT = 'Team Customer API';

export interface Frame {
  readonly site: Site;
  readonly navigation: readonly NavigationGroup[];
  /** All pages in the order of the navigation. */
  readonly pages: readonly Page[];
  /** The path of the same page in the other language, by the path of a page. */
  readonly twins: ReadonlyMap<string, string>;
  /** The versioned address of a file in assets/. */
  readonly asset: (name: string) => string;
}

export function renderPage(frame: Frame, page: Page): string {
  const source = page.source();
  const toc = page.isWide ? null : tableOfContents(frame, headingsOf(source));
  const layout = page.isWide ? 'wide' : toc === null ? 'narrow' : 'with-toc';
  const words = WORDS[frame.site.language];
  return html`<!doctype html>
    <html lang="${frame.site.language}">
      ${head(frame, page)}
      <body>
        <a class="skip" href="#content">${words.skip}</a>
        ${bar(frame, page)}
        <div class="frame ${layout}">
          <nav id="menu" popover aria-label="${words.documentation}">
            ${frame.navigation.map((group) => navigationGroup(frame, group, page))}
          </nav>
          <main id="content" tabindex="-1">
            <header>
              ${placeOf(frame, page)}
              <h1>${page.title}</h1>
              ${copyButton(frame, page)}
            </header>
            ${frame.site.markdown.toHtml(source)} ${footer(frame, page)}
          </main>
          ${toc}
        </div>
      </body>
    </html> `.html;
}

function head(frame: Frame, page: Page): Html {
  const { asset } = frame;
  const { prefix } = frame.site;
  const { title, description, path } = page;
  const { site } = WORDS[frame.site.language];
  return html`<head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${title === PRODUCT ? site : `${title} – ${site}`}</title>
    <meta name="description" content="${description}" />
    <link rel="icon" href="${asset('icon.svg')}" type="image/svg+xml" />
    ${
      frame.pages.includes(page)
        ? html`<link rel="alternate" href="${prefix}${path}.md" type="text/markdown" />`
        : null
    }
    ${alternates(frame, page)}
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

/** Tells search engines which pages are the same in another language. */
function alternates({ site, twins }: Frame, { path }: Page): readonly Html[] {
  const twin = twins.get(path);
  if (twin === undefined) return [];
  const [english, german] = site.language === 'en' ? [path, twin] : [twin, path];
  const links = [
    ['en', english],
    ['de', german],
    ['x-default', english],
  ] as const;
  return links.map(
    ([language, one]) =>
      html`<link rel="alternate" hreflang="${language}" href="${site.publicUrl}${one}" /> `,
  );
}

function bar(frame: Frame, page: Page): Html {
  const { site } = frame;
  const { prefix } = site;
  const words = WORDS[site.language];
  return html`<header class="bar">
    <button type="button" class="menu-button" popovertarget="menu">${words.menu}</button>
    <a class="brand" href="${prefix}${site.pathOf('/docs')}"><span>${PRODUCT}</span></a>
    <form class="search" role="search" action="${prefix}${searchPathOf(site)}">
      <label class="hidden" for="search">${words.searchLabel}</label>
      <input
        id="search"
        type="search"
        name="q"
        placeholder="${words.search}"
        autocomplete="off"
        data-index="${prefix}${searchPathOf(site)}.json"
      />
      <kbd aria-hidden="true">/</kbd>
    </form>
    <a class="admin" href="${prefix}/admin">${words.adminPage}</a>
    ${languageLink(frame, page)} ${themeButton(words)}
  </header>`;
}

/** Leads to the same page in the other language, or to its first page, and says which. */
function languageLink({ site: { language, prefix }, twins }: Frame, { path }: Page): Html {
  const [other, name, first, start] =
    language === 'en'
      ? ['de', 'Deutsch', '/docs/de', 'Startseite']
      : ['en', 'English', '/docs', 'start page'];
  const twin = twins.get(path);
  return html`<a
    class="language"
    lang="${other}"
    hreflang="${other}"
    href="${prefix}${twin ?? first}"
    >${name}${twin === undefined ? html` <span>(${start})</span>` : null}</a
  >`;
}

/** Chooses among the themes, one after the other. It is shown only with JavaScript. */
function themeButton({ theme: label, themes: names }: Words): Html {
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

/** Copies the Markdown of the page. It is shown only with JavaScript. */
function copyButton({ site, pages }: Frame, page: Page): Html | null {
  if (!pages.includes(page)) return null;
  const words = WORDS[site.language];
  return html`<button
    type="button"
    class="copy-page"
    data-copy="${site.prefix}${page.path}.md"
    data-done="${words.copied}"
  >
    ${words.copyPage}
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
    <summary${site.language === 'en' ? null : html` lang="en"`}>${label}</summary>
    <ul>
      ${pages.map((one) => html`<li>${navigationLink(site, one, current)}</li> `)}
    </ul>
  </details>`;
}

function navigationLink(site: Site, { page, label, method }: NavigationLink, current: Page): Html {
  const language = languageOf(page);
  const isForeign =
    language === site.language ? null : html` lang="${language}" hreflang="${language}"`;
  const isCurrent = page === current ? html` aria-current="page"` : null;
  const badge =
    method === undefined
      ? null
      : html`<span class="method ${method.toLowerCase()}">${method}</span> `;
  return html`<a href="${site.prefix}${page.path}" ${isCurrent}${isForeign}
    >${badge}${label ?? page.title}</a
  >`;
}

/** The language of a page is in its path. */
function languageOf({ path }: Page): Language {
  return /^\/docs\/de(?:\/|$)/.test(path) ? 'de' : 'en';
}

/** Lists the headings of a page. null for a page with few of them. */
function tableOfContents(frame: Frame, headings: readonly Heading[]): Html | null {
  const listed = headings.filter(({ level }) => level === 2 || level === 3);
  if (listed.length < 3) return null;
  return html`<nav class="toc" aria-label="${WORDS[frame.site.language].onThisPage}">
    <h2>${WORDS[frame.site.language].onThisPage}</h2>
    <ul>
      ${listed.map(
        ({ level, id, text }) =>
          html`<li class="level-${level}"><a href="#${id}">${text}</a></li> `,
      )}
    </ul>
  </nav>`;
}

/** The pages before and after, and the page for programs. Search and 404 have no such page. */
function footer(frame: Frame, page: Page): Html {
  const { pages } = frame;
  const { prefix } = frame.site;
  const words = WORDS[frame.site.language];
  const position = pages.indexOf(page);
  const before = pages[position - 1];
  const after = pages[position + 1];
  const link = (one: Page | undefined, word: string, rel: string): Html | null =>
    position < 0 || one === undefined
      ? null
      : html`<a class="${rel}" rel="${rel}" href="${prefix}${one.path}"
          ><span>${word}</span> <span lang="${languageOf(one)}">${one.title}</span></a
        >`;
  const { changed } = page;
  return html`<footer>
    ${
      changed === undefined
        ? null
        : html`<p>${words.lastChanged} <time datetime="${changed}">${changed}</time></p>`
    }
    <nav class="neighbours" aria-label="${words.neighbours}">
      ${link(before, words.previous, 'prev')} ${link(after, words.next, 'next')}
    </nav>
    <p>
      ${position < 0 ? null : html`<a href="${prefix}${page.path}.md">${words.asMarkdown}</a>`}
      <a href="${prefix}/admin">${words.adminPage}</a>
      <a href="${prefix}${BASE_PATH}/openapi.v1.json">openapi.v1.json</a>
      <a href="${prefix}/llms.txt">llms.txt</a>
    </p>
  </footer>`;
}
