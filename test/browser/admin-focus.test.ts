// Where the focus is, and what the document is called, as someone learns who does not see the page.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAdminPage, settle } from '../support/admin-page.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { launchBrowser, SKIPPED } from '../support/browser.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';

const FOCUSED = `document.activeElement.tagName + ' ' + document.activeElement.textContent`;

describe.skipIf(SKIPPED !== '')(`the admin page: focus${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;

  beforeAll(async () => {
    api = await startTestApi({ seed: makeSeed([makeFullTeam('full')]) });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await api.stop();
  });

  /** Waits until the page with this heading has been come to. */
  const comeTo = async (page: Page, heading: string): Promise<void> => {
    await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor();
    await settle(page);
    expect(await page.evaluate(FOCUSED)).toBe(`H1 ${heading}`);
    expect(await page.title()).toBe(`${heading} – Team full`);
  };

  it('goes to the heading of each page, which names the document', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/', team: 'full' });
    expect(await page.title()).toBe('Overview – Team full');
    const navigation = page.getByRole('navigation');
    const names = await navigation.getByRole('link').allTextContents();
    expect(names.length).toBeGreaterThan(10);
    for (const name of [...names.slice(1), 'Overview']) {
      await navigation.getByRole('link', { name, exact: true }).focus();
      await page.keyboard.press('Enter');
      await comeTo(page, name);
    }
    await page.goBack();
    await comeTo(page, names.at(-1) ?? '');
  });

  it('goes to the heading of a page that reads first what it is called', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/webhooks', team: 'full' });
    await page.getByRole('rowheader').getByRole('link').first().press('Enter');
    await page.getByRole('heading', { level: 2 }).first().waitFor();
    const heading = (await page.getByRole('heading', { level: 1 }).textContent()) ?? '';
    expect(heading).not.toBe('Webhooks');
    await comeTo(page, heading);
  });

  it('goes to the heading when what had it is removed', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/keys', team: 'full' });
    await page
      .getByRole('button', { name: /^Revoke/ })
      .first()
      .press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Revoke the key' }).press('Enter');
    await dialog.waitFor({ state: 'detached' });
    await expect.poll(() => page.evaluate(FOCUSED)).toBe('H1 API keys');
  });

  it('finds the groups of the navigation by their names', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/', team: 'full' });
    for (const [group, link] of [
      ['Integration', 'Webhooks'],
      ['Team', 'Privacy'],
      ['Insights', 'Audit log'],
    ] as const)
      expect(
        await page.getByRole('group', { name: group }).getByRole('link', { name: link }).count(),
      ).toBe(1);
  });
});
