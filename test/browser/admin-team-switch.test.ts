// Two teams in one browser: its tabs share a cookie, so the session of a page may become another
// team's. What was opened for one team must neither show nor change what is the other's.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAdminPage, settle, signIn } from '../support/admin-page.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { launchBrowser, SKIPPED } from '../support/browser.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

/** What a browser tells a page that comes to the front. */
const COMES_TO_FRONT = `document.dispatchEvent(new Event('visibilitychange'))`;
const DRAFT = 'https://draft-of-alpha.example.com/in';

describe.skipIf(SKIPPED !== '')(`the admin page: two teams in one browser${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;
  beforeAll(async () => {
    const teamWith = (name: string) =>
      makeTeam(name, {
        webhook_endpoints: [
          {
            id: 'whe_1',
            url: `https://${name}.example.com/in`,
            description: `Endpoint of ${name}`,
            events: ['member.joined'],
          },
        ],
      });
    api = await startTestApi({ seed: makeSeed([teamWith('alpha'), teamWith('beta')]) });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  const open = async (path: string): Promise<Page> => {
    const { page } = await openAdminPage(browser, api, { path, team: 'alpha' });
    await settle(page);
    return page;
  };
  /** What another tab does, for instance by a link of the host application. */
  const signInBeside = (page: Page, team: string, member = 'owner') =>
    signIn(page, api, { team, member });
  const teamOf = (page: Page) => page.locator('.side .team');
  /** Resolves when the document was loaded anew. */
  const reloaded = async (page: Page, act: () => Promise<unknown>): Promise<void> => {
    await Promise.all([page.waitForEvent('load'), act()]);
    await page.locator('h1').first().waitFor();
    await settle(page);
  };

  it('shows nothing of the other team under the name of the first one', async () => {
    const page = await open('/webhooks');
    await page.getByText('Endpoint of alpha').first().waitFor();
    await signInBeside(page, 'beta');
    const seen: string[] = [];
    page.on('response', (response) => {
      if (response.url().includes('/trpc/admin.members') && response.status() === 200)
        seen.push(response.request().headers()['svc-team'] ?? 'none');
    });
    await reloaded(page, () => page.getByRole('link', { name: 'Members' }).click());
    expect(await teamOf(page).textContent()).toContain('beta');
    await page.getByText('owner@beta.test').first().waitFor();
    expect(await page.getByText('@alpha.test').count()).toBe(0);
    expect(new Set(seen)).toEqual(new Set(['team_beta']));
  });

  it('takes no draft along, neither as a form nor as a change', async () => {
    const page = await open('/webhooks/new');
    const address = page.getByLabel(/^Address/).first();
    await address.fill(DRAFT);
    await signInBeside(page, 'beta');
    await reloaded(page, () => page.evaluate(COMES_TO_FRONT));
    expect(await teamOf(page).textContent()).toContain('beta');
    expect(await address.inputValue()).toBe('');
    const { rows } = await api.db.pool.query('select from webhook_endpoint where url = $1', [
      DRAFT,
    ]);
    expect(rows).toEqual([]);
  });

  it('shows nothing from its memory under the name of the other team', async () => {
    const page = await open('/webhooks');
    await page.getByText('Endpoint of alpha').first().waitFor();
    await page.getByRole('link', { name: 'Members' }).click();
    await settle(page);
    await signInBeside(page, 'beta');
    await reloaded(page, () => page.evaluate(COMES_TO_FRONT));
    await page.getByRole('link', { name: 'Webhooks' }).click();
    await page.getByText('Endpoint of beta').first().waitFor();
    expect(await page.getByText('Endpoint of alpha').count()).toBe(0);
  });

  it('does not go on for another person or team after the session has ended', async () => {
    const page = await open('/webhooks/new');
    const address = page.getByLabel(/^Address/).first();
    await address.fill(DRAFT);
    await page.context().clearCookies();
    await page.evaluate(COMES_TO_FRONT);
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    await signInBeside(page, 'alpha', 'admin');
    await reloaded(page, () => page.evaluate(COMES_TO_FRONT));
    expect(await address.inputValue()).toBe('');
    await address.fill(DRAFT);
    await page.context().clearCookies();
    await page.evaluate(COMES_TO_FRONT);
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor();
    await signInBeside(page, 'beta');
    await reloaded(page, () => page.evaluate(COMES_TO_FRONT));
    expect(await teamOf(page).textContent()).toContain('beta');
    expect(await address.inputValue()).toBe('');
  });

  it('keeps what was entered when the same person signs in again', async () => {
    const page = await open('/webhooks/new');
    const address = page.getByLabel(/^Address/).first();
    await address.fill(DRAFT);
    await signInBeside(page, 'alpha');
    const asked = page.waitForResponse(/trpc-session$/);
    await page.evaluate(COMES_TO_FRONT);
    await (await asked).finished();
    expect(await address.inputValue()).toBe(DRAFT);
    expect(await teamOf(page).textContent()).toContain('alpha');
  });
});
