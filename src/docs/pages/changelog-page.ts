import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page, Site } from '../page.ts';

const FILE = join(import.meta.dirname, '../../../CHANGELOG.md');

const INTRODUCTION = `
What each release brings for customers, newest first: the API, then its clients and this
documentation, then the admin page and the calls of the app. Within \`v1\` the API only grows: new
fields, new routes, new event types, new error codes, new values of known fields.
`.trim();

/** What the sections for other readers begin with. */
const OTHERS = /^(?:Operators|Contributors)/;

/** The changelog of the project, without its title and without what is not for customers. */
export function changelogPage(site: Site): Page {
  return {
    path: '/docs/changelog',
    title: 'Changelog',
    description: 'What each release brings, newest first.',
    isHistory: true,
    content: () => [site.markdown.block(`${INTRODUCTION}\n\n${forCustomers()}`)],
  };
}

function forCustomers(): string {
  const [, ...releases] = readFileSync(FILE, 'utf8').split(/^## /m);
  return releases
    .map((release) => {
      const [title = '', ...sections] = release.split(/^### /m);
      const shown = sections.filter((section) => !OTHERS.test(section));
      return [`## ${title.replace(/^\[(.*?)\]/, '$1')}`, ...shown].join('### ').trim();
    })
    .join('\n\n');
}
