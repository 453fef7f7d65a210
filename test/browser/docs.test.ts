// The developer pages in a real browser. Only there does it show whether the content security
// policy lets Swagger UI work.
import { existsSync } from 'node:fs';
import { chromium, type Browser, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const CHROMIUM = '/usr/bin/chromium';
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const isMissing = !existsSync(CHROMIUM);

describe.skipIf(isMissing)(
  `developer pages in a browser${isMissing ? ` (skipped: there is no ${CHROMIUM})` : ''}`,
  () => {
    let api: TestApi;
    let browser: Browser;

    beforeAll(async () => {
      api = await startTestApi({ seed: makeSeed([makeTeam('acme')]) });
      browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
    });
    afterAll(async () => {
      await browser?.close();
    });

    it('shows the reference, and GET /me with the entered key returns 200', async () => {
      const { page, complaints } = await openPage(browser, api.url);
      await page.goto(`${api.url}/docs`);
      await page.locator('.opblock-summary-path', { hasText: '/me' }).first().waitFor();
      await photograph(page, 'docs');

      await page.getByRole('button', { name: 'Authorize' }).first().click();
      await page.locator('.auth-container input').fill(api.key('team_acme'));
      await page.locator('.auth-btn-wrapper .authorize').click();
      await page.locator('.btn-done').click();
      const operation = page.locator('#operations-Account-meGet');
      await operation.locator('.opblock-summary-control').click();
      await operation.getByRole('button', { name: 'Try it out' }).click();
      await operation.getByRole('button', { name: 'Execute' }).click();
      const answer = operation.locator('.live-responses-table .response').first();
      await answer.waitFor();
      await photograph(page, 'docs-me');

      expect(await answer.locator('.response-col_status').innerText()).toMatch(/^200/);
      expect(await answer.innerText()).toContain('team_acme');
      expect(complaints).toEqual([]);
    });

    it('forgets the key when the page is closed', async () => {
      const { page, complaints } = await openPage(browser, api.url, { colorScheme: 'dark' });
      await page.goto(`${api.url}/docs`);
      await page.locator('.opblock-summary-path').first().waitFor();
      await photograph(page, 'docs-dark');
      await page.getByRole('button', { name: 'Authorize' }).first().click();
      await page.locator('.auth-container input').fill(api.key('team_acme'));
      await page.locator('.auth-btn-wrapper .authorize').click();
      const stored = await page.evaluate<string>(
        'JSON.stringify([localStorage, sessionStorage, document.cookie])',
      );
      expect(stored).not.toContain('svck_live_');
      expect(complaints).toEqual([]);
    });

    it.each(['light', 'dark'] as const)(
      'shows every error without JavaScript (%s)',
      async (colorScheme) => {
        const { page, complaints } = await openPage(browser, api.url, {
          javaScriptEnabled: false,
          colorScheme,
        });
        await page.goto(`${api.url}/docs/errors#seat_limit_reached`);
        await photograph(page, `errors-${colorScheme}`);
        expect(await page.locator('#seat_limit_reached [lang=de]').innerText()).toContain(
          'Alle Plätze sind belegt',
        );
        expect(await page.locator('#seat_limit_reached').isVisible()).toBe(true);
        expect(complaints).toEqual([]);
      },
    );

    it('shows the webhook page', async () => {
      const { page, complaints } = await openPage(browser, api.url);
      await page.goto(`${api.url}/docs/webhooks`);
      await photograph(page, 'webhooks');
      expect(await page.locator('h1').innerText()).toBe('Webhooks');
      expect(complaints).toEqual([]);
    });
  },
);

/**
 * Opens a page and records what must not happen: errors and warnings in the console, violations of
 * the policy, requests to other servers, and failed requests.
 */
async function openPage(
  browser: Browser,
  origin: string,
  options: NonNullable<Parameters<Browser['newContext']>[0]> = {},
): Promise<{ page: Page; complaints: string[] }> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning')
      complaints.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(`${origin}/`) && !url.startsWith('data:'))
      complaints.push(`request to ${url}`);
  });
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()} for ${response.url()}`);
  });
  return { page, complaints };
}

/** Takes a screenshot for people, if SCREENSHOTS names a folder. */
async function photograph(page: Page, name: string): Promise<void> {
  const folder = process.env['SCREENSHOTS'];
  if (folder) await page.screenshot({ path: `${folder}/${name}.png` });
}
