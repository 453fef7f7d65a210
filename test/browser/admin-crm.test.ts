// The admin page in a real browser: a CRM connection without a token, which cannot be read.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAdminPage, settle } from '../support/admin-page.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { findFaults, launchBrowser, photograph, SKIPPED } from '../support/browser.ts';
import { startCrm, type FakeCrm } from '../support/crm/fake.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

describe.skipIf(SKIPPED !== '')(`the admin page: the CRM${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;
  let crm: FakeCrm;

  beforeAll(async () => {
    crm = await startCrm('pipedrive');
    const bare = { provider: 'pipedrive' as const };
    const none = { crm_deals: [], crm_objections: [] };
    const seed = makeSeed([
      makeTeam('bare', { crm_connections: [{ id: 'crm_bare', ...bare }], ...none }),
      makeTeam('paused', {
        crm_connections: [{ id: 'crm_paused', status: 'paused', ...bare }],
        ...none,
      }),
    ]);
    api = await startTestApi({ allowPrivateTargets: true, seed });
    // The fake CRM is on this machine.
    await api.db.pool.query(`update crm_connection set base_url = $1`, [crm.url]);
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  it('asks for the token that is missing, and offers to read when there is one', async () => {
    const { page, complaints } = await openAdminPage(browser, api, { path: '/', team: 'bare' });
    await settle(page);
    const figure = page.locator('.figure-link').filter({ hasText: '1 connection' });
    expect(await figure.innerText()).toMatch(/^CRM\s+Not working\s/);
    await page.getByRole('link', { name: 'Pipedrive has no token, so we cannot read it.' }).click();
    await settle(page);
    await expect.poll(() => buttonsOf(page)).toEqual(['Enter the token', 'Pause', 'Disconnect']);
    await page.getByText('No token', { exact: true }).waitFor();
    await page.getByText('We cannot read this CRM until you enter its token.').waitFor();
    expect(await findFaults(page)).toEqual([]);
    await photograph(page, 'crm-without-token');
    await page.getByRole('button', { name: 'Enter the token' }).click();
    const dialog = page.getByRole('dialog', { name: 'Enter the token of Pipedrive' });
    await dialog.getByLabel('Token').fill(crm.token);
    await dialog.getByRole('button', { name: 'Test and store' }).click();
    await page.getByText('The token was stored.').waitFor();
    await dialog.waitFor({ state: 'detached' });
    const all = ['Sync now', 'Pause', 'Replace the token', 'Disconnect'];
    await expect.poll(() => buttonsOf(page)).toEqual(all);
    const replace = page.getByRole('button', { name: 'Replace the token' });
    expect(await replace.evaluate(HAS_FOCUS)).toBe(true);
    await page.getByRole('button', { name: 'Sync now' }).click();
    await page.getByText('The sync has started.').waitFor();
    await page.getByRole('link', { name: 'Overview' }).click();
    await expect.poll(() => figure.innerText()).toMatch(/^CRM\s+Working\s/);
    expect(complaints).toEqual([]);
  });

  it('asks for it while the connection is paused, too', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/crm', team: 'paused' });
    await settle(page);
    expect(await buttonsOf(page)).toEqual(['Enter the token', 'Resume', 'Disconnect']);
  });

  it('says that a CRM is connected already, before it is connected twice', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/crm', team: 'paused' });
    await settle(page);
    await page.getByRole('button', { name: 'Connect a CRM' }).click();
    const choice = page.getByRole('dialog').getByLabel('CRM', { exact: true });
    const said = page.getByText('Pipedrive is already connected.');
    expect(await said.count()).toBe(0);
    await choice.selectOption('Pipedrive');
    expect(await said.innerText()).toContain('choose “Enter the token” instead');
    expect(await findFaults(page)).toEqual([]);
    await photograph(page, 'crm-connected-already');
    await choice.selectOption('HubSpot');
    expect(await said.count()).toBe(0);
  });
});

const HAS_FOCUS = (button: Element): boolean => button.matches(':focus');

/** The names of the buttons of the only connection. */
const buttonsOf = (page: Page): Promise<string[]> =>
  page.locator('section.card').getByRole('button').allInnerTexts();
