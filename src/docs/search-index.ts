/** The search index, made from the Markdown of the pages: one entry for each section. */
import { STATUS_CODES } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { PROBLEMS } from '../core/problem.ts';
import { headingsOf, markedText } from './markdown.ts';
import type { Page } from './page.ts';
import { DEFAULT_LANGUAGE } from './samples/languages.ts';
import { phrases } from './guides.ts';
import type { Operation } from './reference/operations.ts';
import { pathOfOperation } from './reference/paths.ts';
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
  const isOperation = page.path.startsWith('/docs/reference/');
  const first = { path: page.path, section: '', lines: [page.description] };
  const sections = [first];
  const text = markedText(page.source(), { language: DEFAULT_LANGUAGE });
  for (const line of withoutCode(text).split('\n')) {
    const [, title = '', id] = /^#+ (.*) \{#(.*)\}$/.exec(line) ?? [];
    if (id === undefined) sections.at(-1)?.lines.push(line);
    else sections.push({ path: `${page.path}#${id}`, section: plain(title), lines: [] });
  }
  const translated = titlesOf(twinOf(page));
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
function titlesOf(page: Page | undefined): ReadonlyMap<string, string> {
  if (!page) return new Map();
  return new Map([
    ['', page.title],
    ...headingsOf(page.source()).map(({ id, text }) => [id, text] as const),
  ]);
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

/** What else a reader calls what an operation does. The name of an operation has its verb. */
const VERBS: Readonly<Record<string, string>> = {
  create: 'add new create post insert',
  get: 'get read show fetch retrieve single details by id',
  list: 'get all list show fetch retrieve find search query filter export',
  update: 'update change edit modify patch set',
  remove: 'delete remove destroy',
};

const LANGUAGE = /^\/docs\/de(?=[/#]|$)/;
const ERROR = '/docs/errors#';

/** The phrases for the part with this path, with commas between them; '' for none. */
function otherWords(path: string, operations: readonly Operation[]): string {
  const english = path.replace(LANGUAGE, '/docs');
  const operation = operations.find(({ slug }) => english === pathOfOperation(slug));
  const problem = Object.entries(PROBLEMS).find(([code]) => english === ERROR + code)?.[1];
  return [
    ...(operation ? [wordsOfOperation(operation)] : []),
    ...(problem ? [`${problem.status} error, ${STATUS_CODES[problem.status]}`] : []),
    phrases().get(english) ?? '',
  ]
    .filter((words) => words !== '')
    .join(', ');
}

/** What it does, and the names of its address. */
function wordsOfOperation({ slug, path }: Operation): string {
  const verbs = slug.split('-').flatMap((word) => VERBS[word] ?? []);
  return [...verbs, ...path.split('/').filter((part) => !part.startsWith('{'))].join(' ');
}
