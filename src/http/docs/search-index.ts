/** The search index, made from the Markdown of the pages: one entry for each section. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { joinMarkdown, wrap } from './block.ts';
import { html } from './html.ts';
import type { Page } from './page.ts';
import { DEFAULT_LANGUAGE } from './samples/languages.ts';
import type { SearchEntry } from './assets/search.js';

/** These repeat in all pages of operations what the page of errors says. */
const LEFT_OUT: ReadonlySet<string> = new Set(['errors', 'request']);

/** Makes them page by page: all at once would stop the process for up to half a second. */
export async function searchEntries(pages: readonly Page[]): Promise<SearchEntry[]> {
  const entries: SearchEntry[] = [];
  for (const page of pages) {
    entries.push(...entriesOf(page));
    await nextTurn();
  }
  return entries;
}

function entriesOf(page: Page): SearchEntry[] {
  const blocks = page.content();
  const { headings } = wrap(blocks, (inner) => html`${inner}`);
  const isOperation = page.path.startsWith('/docs/reference/');
  const first = { path: page.path, section: '', lines: [page.description] };
  const sections = [first];
  let next = 0;
  for (const line of withoutCode(joinMarkdown(blocks, { language: DEFAULT_LANGUAGE })).split(
    '\n',
  )) {
    const heading = /^#{1,6} /.test(line) ? headings[next] : undefined;
    if (heading) {
      next += 1;
      sections.push({ path: `${page.path}#${heading.id}`, section: heading.text, lines: [] });
    } else {
      sections.at(-1)?.lines.push(line);
    }
  }
  return sections
    .filter(({ path }) => !(isOperation && LEFT_OUT.has(path.split('#')[1] ?? '')))
    .map(({ path, section, lines }) => ({
      path,
      title: page.title,
      section,
      text: plain(lines.join(' ')),
    }));
}

function withoutCode(markdown: string): string {
  return markdown.replaceAll(/^```[\s\S]*?^```$/gm, '');
}

/** Removes the marks of Markdown. */
function plain(markdown: string): string {
  return (
    markdown
      .replaceAll(/\]\([^)]*\)/g, ' ')
      .replaceAll(/[[\]*`|]/g, ' ')
      .replaceAll(/(?:^|\s)-+(?=\s)/g, ' ')
      .replaceAll(/\s+/g, ' ')
      // Marks stood between the words and these.
      .replaceAll(/ (?=[.,;:)](?:\s|$))/g, '')
      .trim()
  );
}
