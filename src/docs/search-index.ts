/** The search index, made from the Markdown of the pages: one entry for each section. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { joinMarkdown, wrap } from './block.ts';
import { html } from './html.ts';
import type { Page } from './page.ts';
import { DEFAULT_LANGUAGE } from './samples/languages.ts';
import { otherWords } from './search-words.ts';
import type { Operation } from './reference/operations.ts';
import type { SearchEntry } from './assets/search.js';

/** These repeat in all pages of operations what other pages say. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'errors',
  'header-parameters',
  'path-parameters',
  'request',
]);

/** What the entries of a language are made from. */
export interface SearchSource {
  readonly pages: readonly Page[];
  readonly operations: readonly Operation[];
  /** The same page in the other language, if there is one. */
  readonly twinOf: (page: Page) => Page | undefined;
}

/** Makes them page by page: all at once would stop the process for up to half a second. */
export async function searchEntries(source: SearchSource): Promise<SearchEntry[]> {
  const entries: SearchEntry[] = [];
  for (const page of source.pages) {
    entries.push(...entriesOf(page, source));
    await nextTurn();
  }
  return entries;
}

function entriesOf(page: Page, { operations, twinOf }: SearchSource): SearchEntry[] {
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
  const translated = headingsOf(twinOf(page));
  return sections
    .filter(({ path }) => !(isOperation && LEFT_OUT.has(fragmentOf(path))))
    .map(({ path, section, lines }) => ({
      path,
      title: page.title,
      section,
      text: plain(lines.join(' ')),
      also: [otherWords(path, operations), translated.get(fragmentOf(path)) ?? '']
        .filter((words) => words !== '' && words !== (section || page.title))
        .join(', '),
    }));
}

/** What the parts of a page are called, by their ids: '' is its beginning. */
function headingsOf(page: Page | undefined): ReadonlyMap<string, string> {
  if (!page) return new Map();
  const { headings } = wrap(page.content(), (inner) => html`${inner}`);
  return new Map([['', page.title], ...headings.map(({ id, text }) => [id, text] as const)]);
}

function fragmentOf(path: string): string {
  return path.split('#')[1] ?? '';
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
