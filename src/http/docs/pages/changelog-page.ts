import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page, Site } from '../page.ts';

const FILE = join(import.meta.dirname, '../../../../CHANGELOG.md');

/** The changelog of the project, without its title. */
export function changelogPage(site: Site): Page {
  return {
    path: '/docs/changelog',
    title: 'Changelog',
    description: 'What changed in each release, newest first.',
    isHistory: true,
    content: () => [
      site.markdown.block(
        readFileSync(FILE, 'utf8')
          .replace(/^# .*\n/, '')
          .replaceAll(/^## \[(.*?)\]/gm, '## $1')
          .trim(),
      ),
    ],
  };
}
