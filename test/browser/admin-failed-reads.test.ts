// The admin page when one of its reads fails: it says so, whatever the read is for.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { en } from '../../src/admin-ui/i18n/en.ts';
import { NAVIGATION } from '../../src/admin-ui/lib/navigation.ts';
import { openAdminPage, refuse, settle } from '../support/admin-page.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { launchBrowser, SKIPPED } from '../support/browser.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';

const PATHS = [
  ...NAVIGATION.flatMap(({ pages }) => pages.map(({ to }): string => to)),
  '/keys/new',
  '/webhooks/whe_b',
];
const AT_ONCE = 2;
const WAIT_MS = 30_000;

describe.skipIf(SKIPPED !== '')(`the admin page: failed reads${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;

  beforeAll(async () => {
    api = await startTestApi({ seed: makeSeed([makeFullTeam('b')]) });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  /** The reads of a page after whose failure it says nothing. */
  const findSilent = async (path: string): Promise<string[]> => {
    const { page } = await openAdminPage(browser, api, { path, team: 'b' });
    await settle(page);
    const reads = new Set<string>();
    page.on('request', (request) => {
      const [, read] = /\/trpc\/([\w.]+)/.exec(request.url()) ?? [];
      if (read !== undefined && request.method() === 'GET') reads.add(read);
    });
    await page.reload();
    await page.locator('h1').first().waitFor();
    await settle(page);
    const silent: string[] = [];
    for (const read of reads) {
      await refuse(page, `/${read}`);
      await page.reload();
      const alert = page.locator('[role=alert]').first();
      const isSaid = await alert.waitFor({ timeout: WAIT_MS }).then(
        () => true,
        () => false,
      );
      if (!isSaid) silent.push(`${path} ${read}`);
      await page.unrouteAll();
    }
    await page.context().close();
    return silent;
  };

  it('says so, of each read of each page', async () => {
    const paths = PATHS.values();
    const work = async (): Promise<string[]> => {
      const silent: string[] = [];
      for (const path of paths) silent.push(...(await findSilent(path)));
      return silent;
    };
    const found = await Promise.all(Array.from({ length: AT_ONCE }, work));
    expect(found.flat()).toEqual([]);
  }, 900_000);

  it('says it once, and claims nothing that was not read', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/alerts', team: 'b' });
    const openWithout = async (path: string, read: string) => {
      await page.unrouteAll();
      await refuse(page, read);
      await page.goto(`${api.url}/admin${path}`);
      await page.locator('[role=alert]').first().waitFor();
      await settle(page);
      expect(await page.locator('[role=alert]').count()).toBe(1);
      return page.locator('main').innerText();
    };
    expect(await openWithout('/usage', 'usage.daily')).toContain(`${en.usage.peak}\n\n…`);
    const { leaderboard, isOn } = en.privacy;
    const privacy = await openWithout('/privacy', 'analytics.results');
    expect(privacy.slice(privacy.lastIndexOf(leaderboard))).not.toContain(isOn);
    expect(await openWithout('/', 'members.search')).not.toContain(en.steps.colleague);
    expect(await openWithout('/deliveries', 'webhooks.listEndpoints')).toContain(en.resend.open);
    await page.unrouteAll();
    await page.getByRole('button', { name: en.common.retry }).click();
    await page.locator('[role=alert]').waitFor({ state: 'detached' });
  });
});
