// Where the admin page leads into the documentation.
import { expect, it } from 'vitest';
import { DOCS_PAGES, docsPath } from '../../src/admin-ui/lib/docs.ts';
import { EVENT_TYPES } from '../../src/core/events.ts';
import { PROBLEMS } from '../../src/core/problem.ts';
import { readAdminSources } from '../support/admin-ui.ts';
import { startTestApi } from '../support/api.ts';
import { makeSeed } from '../support/seed.ts';

/** What is linked within a page. */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  '/errors': Object.keys(PROBLEMS),
  '/events': EVENT_TYPES,
};

it.each(['de', 'en'] as const)(
  'leads a reader of %s to pages in it that exist',
  async (language) => {
    const { url } = await startTestApi({ seed: makeSeed([]) });
    const wanted = DOCS_PAGES.flatMap((page) => {
      const path = docsPath(language, page);
      return [path, ...(PARTS[page] ?? []).map((part) => `${path}#${part}`)];
    });
    const paths = new Set(wanted.map((link) => link.split('#')[0] ?? ''));
    expect(paths.size).toBe(DOCS_PAGES.length);
    const pages = new Map<string, string>();
    for (const path of paths) {
      const response = await fetch(url + path);
      expect([path, response.status]).toEqual([path, 200]);
      pages.set(path, await response.text());
      expect([path, pages.get(path)?.includes(`<html lang="${language}">`)]).toEqual([path, true]);
    }
    const lost = wanted.filter((link) => {
      const [path = '', part] = link.split('#');
      return part !== undefined && pages.get(path)?.includes(`id="${part}"`) !== true;
    });
    expect(lost).toEqual([]);
  },
);

it('leads there from nowhere else', () => {
  const knowing = [...readAdminSources()]
    .filter(([, text]) => /["'`}_]\/docs/.test(text))
    .map(([file]) => file);
  expect(knowing.toSorted()).toEqual(['lib/docs.ts']);
});
