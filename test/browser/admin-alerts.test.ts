// The alerts by mail in a real browser: chosen on the admin page, ended by the link of a mail.
import type { Browser, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { en } from '../../src/admin-ui/i18n/en.ts';
import { unsubscribeToken } from '../../src/core/unsubscribe-token.ts';
import { holdBack, loseAnswer, openAdminPage, refuse, settle } from '../support/admin-page.ts';
import { startTestApi, TEST_APP_SECRET, type TestApi } from '../support/api.ts';
import { appAsMember } from '../support/app.ts';
import { findFaults, launchBrowser, openPage, photograph, SKIPPED } from '../support/browser.ts';
import { makeSeed, makeTeam, memberId } from '../support/seed.ts';

describe.skipIf(SKIPPED !== '')(`the admin page: alerts${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;

  beforeAll(async () => {
    api = await startTestApi({
      seed: makeSeed(['told', 'lost', 'kept'].map((name) => makeTeam(name))),
    });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  const kindsOf = async (name: string) =>
    (await (await appAsMember(api, 'told', name)).admin.alerts.get.query({})).kinds;

  it('switches each kind on and off for the reader alone, from the overview on', async () => {
    const { page, complaints } = await openAdminPage(browser, api, { path: '/', team: 'told' });
    await page.getByRole('link', { name: 'Alerts' }).click();
    const keys = page.getByLabel('an API key expires soon');
    const webhooks = page.getByLabel('webhooks fail');
    expect(await keys.isChecked()).toBe(false);
    // One after the other, without waiting: none is lost.
    await keys.click();
    await webhooks.click();
    await page.getByText('Saved').waitFor();
    await expect.poll(() => kindsOf('owner')).toEqual(['webhooks', 'keys']);
    expect(await kindsOf('admin')).toEqual([]);
    expect(await findFaults(page)).toEqual([]);
    await photograph(page, 'alerts');
    await page.reload();
    await keys.waitFor();
    expect([await keys.isChecked(), await webhooks.isChecked()]).toEqual([true, true]);
    await keys.focus();
    await page.keyboard.press('Space');
    await expect.poll(() => kindsOf('owner')).toEqual(['webhooks']);
    await expect.poll(() => keys.isChecked()).toBe(false);
    expect(complaints).toEqual([]);
  });

  it('loses none of two changes, although the first one is still on its way', async () => {
    const { page } = await openAdminPage(browser, api, {
      path: '/alerts',
      team: 'told',
      member: 'admin',
    });
    const release = await holdBack(page, 'admin.alerts.set');
    await page.getByLabel('an API key expires soon').click();
    await page.getByLabel('many requests fail').click();
    release();
    await expect.poll(() => kindsOf('admin')).toHaveLength(2);
  });

  it('shows again what was there before if a change is refused', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/alerts', team: 'told' });
    const errors = page.getByLabel('many requests fail');
    await errors.waitFor();
    await refuse(page, 'admin.alerts.set');
    await errors.click();
    await page.getByText('The change was rejected and has been undone.').waitFor();
    await expect.poll(() => errors.isChecked()).toBe(false);
  });

  it('says at each change that it was saved, although that was said just before', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/alerts', team: 'told' });
    const errors = page.getByLabel('many requests fail');
    await errors.waitFor();
    // Screen readers read what is put into the region, and only that.
    await page.evaluate(`
      said = [];
      new MutationObserver((changes) => {
        for (const { addedNodes } of changes)
          for (const { textContent } of addedNodes) said.push(textContent);
      }).observe(document.querySelector('.toast'), { childList: true, subtree: true });
    `);
    for (let times = 1; times <= 2; times += 1) {
      await errors.click();
      await expect.poll(() => page.evaluate('said.length')).toBe(times);
    }
    expect(await page.evaluate('said')).toEqual([en.common.saved, en.common.saved]);
  });

  it('calls no change refused whose answer was lost, and shows that it was made', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/alerts', team: 'lost' });
    const errors = page.getByLabel('many requests fail');
    await loseAnswer(page, 'admin.alerts.set');
    await errors.click();
    await page.getByText(en.problems.network).waitFor();
    expect(await page.getByText(en.common.undone).count()).toBe(0);
    await expect.poll(() => errors.isChecked()).toBe(true);
  });

  it('keeps the failure of a change in view although the next one was saved', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/alerts', team: 'kept' });
    await page.getByLabel('many requests fail').waitFor();
    await page.route('**/trpc/admin.alerts.set', (route) => route.abort(), { times: 1 });
    const release = await holdBack(page, 'admin.alerts.get');
    await page.getByLabel('many requests fail').click();
    await page.getByLabel('an API key expires soon').click();
    release();
    await page.getByText(en.common.saved, { exact: true }).waitFor();
    expect(await page.getByText(en.problems.network).count()).toBe(1);
  });

  it('keeps it, too, when the next one begins while the page reads again', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/alerts', team: 'kept' });
    await page.getByLabel('many requests fail').waitFor();
    await settle(page);
    const failed = Promise.withResolvers<() => void>();
    let reads = 0;
    page.on('request', (request) => {
      if (request.url().includes('admin.alerts.get')) reads += 1;
    });
    const fail = async (route: Route): Promise<void> => {
      // The first change ends with what the page reads behind it.
      failed.resolve(await holdBack(page, 'admin.alerts.get'));
      reads = 0;
      await route.abort();
    };
    await page.route('**/trpc/admin.alerts.set', fail, { times: 1 });
    await page.getByLabel('many requests fail').click();
    const release = await failed.promise;
    await expect.poll(() => reads).toBeGreaterThan(0);
    await page.getByLabel('an API key expires soon').click();
    release();
    await page.getByText(en.common.saved, { exact: true }).waitFor();
    await expect.poll(() => page.getByText(en.problems.network).count()).toBe(1);
  });

  it('is ended by the link of a mail, with one button and without signing in', async () => {
    const admin = await appAsMember(api, 'told', 'admin');
    await admin.admin.alerts.set.mutate({ kinds: ['keys'] });
    const subscriber = { teamId: 'team_told', memberId: memberId('told', 'admin') };
    const token = unsubscribeToken(subscriber, TEST_APP_SECRET);
    const { page, complaints } = await openPage(browser, api.url, { locale: 'en-GB' });
    await page.goto(`${api.url}/unsubscribe/${token}`);
    expect(await findFaults(page)).toEqual([]);
    expect(await kindsOf('admin')).toEqual(['keys']);
    await photograph(page, 'unsubscribe');
    await page.getByRole('button', { name: 'Unsubscribe' }).click();
    await page.getByText('You no longer get email alerts of this team.').waitFor();
    expect(await findFaults(page)).toEqual([]);
    expect(await kindsOf('admin')).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
