/** What programs read: a Markdown twin of each page, llms.txt and llms-full.txt. */
import { joinMarkdown, type Reader } from './block.ts';
import type { NavigationGroup, Page, Site } from './page.ts';
import { pagesOf } from './site.ts';

const SUMMARY =
  "A REST API to read and change a team's members, trainings, evaluations, assignments and " +
  'cases, with signed webhooks.';

/** A link to a page of the service. */
const LINK = /\[([^\]]*)\]\((\/[^)#\s]*)(#[^)\s]*)?\)/g;

/** The page as Markdown. Links lead to the Markdown of other pages. */
export function markdownPage(site: Site, page: Page, reader: Reader): string {
  return pageText(page, reader).replaceAll(LINK, (link) => toTwin(site, link));
}

function pageText(page: Page, reader: Reader): string {
  return `# ${page.title}\n\n${joinMarkdown(page.content(), reader)}\n`;
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
/** A field in a list of fields, with enough about it to be worth saying once. */
const FIELD = /^( *- `\w+`) \(.{30,}$/gm;

/**
 * All pages, one after the other, with their samples in one language: small enough for a program
 * that reads it at once. What pages repeat stands once, and history is left out. JSON has no white
 * space, and a link to a page of this file is its title.
 */
export function llmsFull(site: Site, pages: readonly Page[], language: string): string {
  const reader = { language, hasAllPages: true };
  const shown = pages.filter(
    ({ isHistory, languages = [language] }) => isHistory !== true && languages.includes(language),
  );
  const titles = new Map(shown.map(({ path, title }) => [path, title]));
  const toTitle = (link: string, text: string, path: string): string => {
    const title = titles.get(path);
    if (title === undefined) return toTwin(site, link);
    // An operation is found by its method and path, too.
    const isFound = text.toLowerCase() === title.toLowerCase() || /^[A-Z]+ \//.test(text);
    return isFound ? text : `${text} (_${title}_)`;
  };
  return shown
    .map((page) => {
      const text = pageText(page, reader).replaceAll(LINK, toTitle);
      return describeOnce(text.replaceAll(JSON_BLOCK, (_match, json: string) => compact(json)));
    })
    .join('\n---\n\n');
}

function compact(json: string): string {
  return `\`\`\`json\n${JSON.stringify(JSON.parse(json))}\n\`\`\``;
}

/** A field that is described in the same words as one above says only that. */
function describeOnce(text: string): string {
  const seen = new Set<string>();
  return text.replaceAll(FIELD, (line, name: string) => {
    if (seen.has(line)) return `${name}: as above.`;
    seen.add(line);
    return line;
  });
}
