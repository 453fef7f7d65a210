/** What programs read: a Markdown twin of each page, llms.txt and llms-full.txt. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { textOf, type Reader } from './markdown.ts';
import type { NavigationGroup, Page, Site } from './page.ts';
import { CONVENTIONS, SAID_ONCE } from './reference/conventions.ts';
import { pagesOf } from './site.ts';

const SUMMARY =
  "A REST API to read and change a team's members, trainings, evaluations, assignments and " +
  'cases, with signed webhooks.';

/** A row of a table. The files have their columns in line, which only people read. */
const ROW = /^\|.*\|$/gm;
/** A link to a page of the service. */
const LINK = /\[([^\]]*)\]\((\/[^)#\s]*)(#[^)\s]*)?\)/g;

/** The page as Markdown. Links lead to the Markdown of other pages. */
export function markdownPage(site: Site, page: Page, reader: Reader): string {
  return pageText(page, reader).replaceAll(LINK, (link) => toTwin(site, link));
}

function pageText(page: Page, reader: Reader): string {
  const text = `# ${page.title}\n\n${textOf(page.source(), reader)}\n`;
  return text.replaceAll(ROW, (row) => row.replaceAll(/ {2,}/g, ' ').replaceAll(/-{4,}/g, '---'));
}

function toTwin(site: Site, link: string): string {
  return link.replace(LINK, (_match, text: string, path: string, hash = '') => {
    const end = path.startsWith('/docs') ? '.md' : '';
    return `[${text}](${site.publicUrl}${site.pathOf(path)}${end}${String(hash)})`;
  });
}

/** An index of all pages in the form of llmstxt.org. */
export function llmsIndex(
  site: Site,
  navigation: readonly NavigationGroup[],
  germanPages: readonly Page[],
): string {
  const groups = navigation.map((group) => [group.title, pagesOf([group])] as const);
  const sections = [...groups, ['In German', germanPages] as const].map(([title, pages]) => {
    const lines = pages.map(
      ({ title, path, description }) => `- [${title}](${site.publicUrl}${path}.md): ${description}`,
    );
    return `## ${title}\n\n${lines.join('\n')}`;
  });
  return [
    '# Team Customer API',
    `> ${SUMMARY}`,
    `Base URL: ${site.apiUrl}. All pages in one file: ${site.publicUrl}/llms-full.txt. ` +
      `OpenAPI 3.1: ${site.apiUrl}/openapi.v1.json.`,
    ...sections,
    '',
  ].join('\n\n');
}

const JSON_BLOCK = /^```json\n(.*?)\n```$/gms;
/** A field in a list of fields. */
const FIELD = /^( *- (`\w+`))(?: \(([^)]*)\))?: (.+)$/gm;
/** A list of values that is worth saying once. */
const VALUES = /(?<=(?:values|Values|one of): )`[\w.:]+`(?:, `[\w.:]+`){3,}/g;

/**
 * All pages, one after the other, with their samples in one language: small enough for a program
 * that reads it at once. What pages repeat stands once, and history is left out. JSON has no white
 * space, and a link to a page of this file is its title. Made page by page: all at once would stop
 * the process for 150 ms.
 */
export async function llmsFull(
  site: Site,
  pages: readonly Page[],
  language: string,
): Promise<string> {
  const reader = { language, hasAllPages: true };
  const shown = pages.filter(
    ({ isHistory, languages = [language] }) => isHistory !== true && languages.includes(language),
  );
  const titles = new Map(shown.map(({ path, title }) => [path, title]));
  const toTitle = (link: string, text: string, path: string): string => {
    const title = titles.get(path);
    if (title === undefined) return toTwin(site, link);
    // An operation is found by its method and path, too.
    const isFound = title.toLowerCase().includes(text.toLowerCase()) || /^[A-Z]+ \//.test(text);
    return isFound ? text : `${text} (_${title}_)`;
  };
  const objects = new Map<string, string>();
  const fields = new Map<string, string>();
  const values = new Map<string, string>();
  const textOf = (page: Page): string => {
    const { title, path, description } = page;
    if (page.isRecipe) return `# ${title}\n\n${description} See ${site.publicUrl}${path}.md\n`;
    const text = pageText(page, reader).replaceAll(LINK, toTitle);
    const compacted = text.replaceAll(JSON_BLOCK, (_match, json: string) => compact(json));
    const own = SAID_ONCE.reduce((rest, [said, brief]) => rest.replaceAll(said, brief), compacted);
    return listOnce(describeOnce(expandOnce(own, title, objects), title, fields), title, values);
  };
  // In order, because what a page describes is left out of those that follow.
  const texts: string[] = [];
  for (const page of shown) {
    texts.push(textOf(page));
    await nextTurn();
  }
  return [`${CONVENTIONS}\n`, ...texts].join('\n');
}

function compact(json: string): string {
  return `\`\`\`json\n${JSON.stringify(JSON.parse(json))}\n\`\`\``;
}

/** A field whose object has no page of its own, with the fields of that. */
const OBJECT = /^(( *)- `\w+` \((?:array of )?([A-Z]\w+).*)\n((?:\2 +- .*\n)+)/gm;

/** The fields of an object are listed where it comes first. `seen` has the title of that page. */
function expandOnce(text: string, title: string, seen: Map<string, string>): string {
  return text.replaceAll(OBJECT, (all, line: string, _indent, name: string) => {
    const place = seen.get(name);
    if (place === undefined) seen.set(name, title);
    return place === undefined ? all : `${line} Its fields are in _${place}_.\n`;
  });
}

/**
 * A field that is described in the same words as one before says only where. `seen` has the title
 * of the page by what is said. A name with two meanings on its page is never one to look up.
 */
function describeOnce(text: string, title: string, seen: Map<string, string>): string {
  const meanings = Map.groupBy(
    new Set([...text.matchAll(FIELD)].map((match) => readField(match).said)),
    (said) => said.split(' ')[0],
  );
  return text.replaceAll(FIELD, (...match: string[]) => {
    const [line = ''] = match;
    const { name, start, requirement, said } = readField(match);
    if ((meanings.get(name)?.length ?? 0) > 1) return line;
    const place = seen.get(said);
    if (place === undefined) seen.set(said, title);
    const where = place === title ? 'as above' : `as in _${place}_`;
    const brief = `${start}${requirement === '' ? '' : ` (${requirement})`}: ${where}.`;
    return place !== undefined && brief.length < line.length ? brief : line;
  });
}

function readField([, start = '', name = '', about = '', text = '']: readonly string[]) {
  const [, type = '', requirement = ''] = /^(.*?)(?:, )?(required|optional)?$/.exec(about) ?? [];
  return { start, name, requirement, said: `${name} ${type} ${text}` };
}

/** The rows of a table whose first column is values. */
const VALUE_ROWS = /(?:^\| *`[^`]+` *\|.*\n)+/gm;

/**
 * A list of values that a page before has, as a list or as the rows of a table, is only its first
 * and its last one.
 */
function listOnce(text: string, title: string, seen: Map<string, string>): string {
  for (const [rows] of text.matchAll(VALUE_ROWS)) {
    const values = [...rows.matchAll(/^\| *(`[^`]+`)/gm)].map(([, value]) => value).join(', ');
    if (!seen.has(values)) seen.set(values, title);
  }
  return text.replaceAll(VALUES, (list) => {
    const place = seen.get(list);
    if (place === undefined) {
      seen.set(list, title);
      return list;
    }
    const values = list.split(', ');
    const where = place === title ? 'above' : `_${place}_`;
    const brief = `${values[0]} … ${values.at(-1)} (${where})`;
    return brief.length < list.length ? brief : list;
  });
}
