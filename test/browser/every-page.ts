// One walk through all pages: the admin page, whose pages are those of the routes, so a new one is
// covered by itself, and one page of each kind of the documentation. Each page is opened once, and
// resized in place.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PAGE_COUNT, PATHS } from '../support/admin-paths.ts';
import { findFaults, launchBrowser, SKIPPED } from '../support/browser.ts';
import { OVERFLOW, PAGES, SHIFT_MAX, startFullTeam, WATCH_SHIFTS, WIDTHS } from './full-team.ts';
import type { Visitor } from './full-team.ts';

export const NARROW = { width: 320, height: 640 };
export const WIDE = { width: 1280, height: 900 };
/** Calls of the service that a page may need. */
const REQUESTS_MAX = 5;
/** One page of the documentation of each kind. The reference is in English only. */
const DOCS = {
  en: [
    '/docs',
    '/docs/quickstart',
    '/docs/webhooks',
    '/docs/events',
    '/docs/errors',
    '/docs/reference',
    '/docs/reference/trainings-list',
    '/docs/reference/assignments-create',
    '/docs/objects/evaluation',
    '/docs/changelog',
    '/docs/search?q=webhook',
  ],
  de: ['/docs/de', '/docs/de/quickstart', '/docs/de/webhooks', '/docs/de/errors'],
} as const;

interface Look {
  readonly language: keyof typeof DOCS;
  readonly locale: string;
  readonly colorScheme: 'dark' | 'light';
  readonly viewport: { readonly width: number; readonly height: number };
}

/**
 * The names of what leads somewhere or does something in a list, if several have the same one. Who
 * hears only the names, without the rows, could not tell them apart. A page that is named twice is
 * one place.
 */
const NAMED_ALIKE = `
  const places = new Map();
  for (const one of document.querySelectorAll('tbody :is(a, button, summary, input, meter)')) {
    // What a closed menu holds is not offered. The button that opens the menu names the row.
    if (!one.checkVisibility()) continue;
    const label = one.labels?.[0]?.textContent;
    const name = one.getAttribute('aria-label') ?? label ?? one.textContent;
    const known = places.get(name.trim()) ?? new Set();
    places.set(name.trim(), known.add(one.href ?? one));
  }
  [...places].filter(([name, known]) => name === '' || known.size > 1).map(([name]) => name)`;

/** What is wrong with the page that has just been loaded, at the width that it has. */
async function findAll({ page }: Visitor): Promise<object> {
  const shift = await page.evaluate<number>('window.shift');
  const faults = await findFaults(page);
  const alike = await page.evaluate<string[]>(NAMED_ALIKE);
  const overflows: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    const overflow = await page.evaluate<number>(OVERFLOW);
    if (overflow > 0) overflows.push(`${width}: ${overflow}`);
  }
  const language = await page.getAttribute('html', 'lang');
  return { faults, alike, overflows, language, movedBy: shift <= SHIFT_MAX ? 0 : shift };
}

/** A walk in each of these looks. */
export function describeWalks(looks: readonly Look[]): void {
  describe.skipIf(SKIPPED !== '')(`every page${SKIPPED}`, () => {
    let team: Awaited<ReturnType<typeof startFullTeam>>;
    let browser: Browser;

    beforeAll(async () => {
      team = await startFullTeam();
      browser = await launchBrowser();
    });
    afterAll(async () => {
      await browser?.close();
    });

    it('covers every route', () => {
      expect(PATHS.length).toBe(PAGE_COUNT);
      expect(PATHS.length).toBeGreaterThan(15);
    });

    it.each(looks)('can be read in $locale, $colorScheme, and stays still', async (look) => {
      const { language, ...options } = look;
      const visitor = await team.open(browser, options);
      const { page, complaints, visit, load } = visitor;
      await page.addInitScript(WATCH_SHIFTS);
      const good = { faults: [], alike: [], overflows: [], language, movedBy: 0 };
      const found: Record<string, unknown> = {};
      const expected: Record<string, unknown> = {};
      let requests = 0;
      let rowLinks = 0;
      page.on('request', (request) => {
        if (request.url().includes('/trpc/')) requests += 1;
        if (request.isNavigationRequest()) requests = 0;
      });
      for (const path of PAGES) {
        await page.setViewportSize(look.viewport);
        await visit(path);
        const hasFewRequests = requests <= REQUESTS_MAX;
        const styles = await page.locator('style').count();
        rowLinks += await page.locator('tbody :is(a, button, summary)').count();
        found[path] = { ...(await findAll(visitor)), hasFewRequests, styles };
        expected[path] = { ...good, hasFewRequests: true, styles: 0 };
      }
      for (const path of DOCS[language]) {
        await page.setViewportSize(look.viewport);
        await load(path);
        found[path] = await findAll(visitor);
        expected[path] = good;
      }
      expect(found).toEqual(expected);
      // Otherwise no page has rows whose names could be alike.
      expect(rowLinks).toBeGreaterThan(2 * PAGES.length);
      // Among them would be requests to other servers, and violations of the policy.
      expect(complaints).toEqual([]);
    });
  });
}
