/** What programs read: a Markdown twin of each page, llms.txt and llms-full.txt. */
import { joinMarkdown, type Reader } from './block.ts';
import type { NavigationGroup, Page, Site } from './page.ts';
import { pagesOf } from './site.ts';

const SUMMARY =
  "A REST API to read and change a team's members, trainings, evaluations, assignments and " +
  'cases, with signed webhooks.';

/** The page as Markdown. Links lead to the Markdown of other pages. */
export function markdownPage(site: Site, page: Page, reader: Reader): string {
  const text = `# ${page.title}\n\n${joinMarkdown(page.content(), reader)}\n`;
  return text.replaceAll(/\]\((\/[^)#\s]*)(#[^)\s]*)?\)/g, (_match, path: string, hash = '') => {
    const isPage = path.startsWith('/docs');
    return `](${site.publicUrl}${site.pathOf(path)}${isPage ? '.md' : ''}${String(hash)})`;
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

/**
 * All pages, one after the other, with their samples in one language: small enough for a program
 * that reads it at once. What the pages of operations repeat stands once, and history is left out.
 */
export function llmsFull(site: Site, pages: readonly Page[], language: string): string {
  const reader = { language, hasAllPages: true };
  return pages
    .filter((page) => page.isHistory !== true && (page.language ?? language) === language)
    .map((page) => markdownPage(site, page, reader))
    .join('\n\n---\n\n');
}
