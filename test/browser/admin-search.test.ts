// The admin page in a real browser: a search for what is rare in a large log goes on by itself for
// a while, says how far it has looked, and goes on when it is told to.
import { Client } from 'pg';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SLOTS } from '../../src/features/requests/rules.ts';
import { holdBack, openAdminPage, settle } from '../support/admin-page.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { findFaults, launchBrowser, photograph, SKIPPED } from '../support/browser.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

/** Two times as many as the page looks through by itself, and some. They fill an hour. */
const CALLS = 220_000;
const END = new Date(Date.now() - 60_000);
const ENTRIES = 25_000;
const REACHED = /^Searched back to \d\d:\d\d on \d{1,2} \p{L}+\.$/u;
const FOUND = 'GET /oldest';
const FOCUSED = `document.activeElement.textContent`;

describe.skipIf(SKIPPED !== '')(`the admin page: a long search${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;

  beforeAll(async () => {
    api = await startTestApi({ seed: makeSeed([makeTeam('deep')]) });
    // The service's own connections would end the statement after some seconds.
    const client = new Client({ connectionString: api.databaseUrl });
    await client.connect();
    // The oldest call is the only one that failed, and the newest the only one that was refused.
    await client.query(
      `insert into request_log
         (team_id, slot, id, created_at, key_id, method, route, status, duration_ms)
       select 'team_deep', extract(epoch from at)::bigint / 86400 % $3, 'call_' || n, at, 'key_1',
         'GET', case when n = 1 then '/oldest' else '/users' end,
         case when n = 1 then 500 when n = $1 then 404 else 200 end, 1
       from (
         select n, date_trunc('milliseconds',
           $2::timestamptz - ($1::int - n) * interval '1 hour' / $1::int) as at
         from generate_series(1, $1::int) n
       ) calls`,
      [CALLS, END, SLOTS],
    );
    // What each key does is frequent, and only the oldest entry is of both.
    await client.query(
      `insert into audit_log
         (team_id, id, created_at, actor_kind, actor_id, action, target_id, request_id)
       select 'team_deep', 'aud_' || n, now() - interval '1 hour' + n * interval '1 millisecond',
         'api_key', case when n = 1 or n % 2 = 0 then 'key_even' else 'key_odd' end,
         case when n % 2 = 0 then 'assignment.created' else 'case.created' end, 'target_' || n, 'r'
       from generate_series(1, $1::int) n`,
      [ENTRIES],
    );
    await client.end();
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
  });

  /** Opens a search and waits for its first page. */
  async function open(path: string, options: object = {}) {
    const opened = await openAdminPage(browser, api, { path, team: 'deep', ...options });
    await settle(opened.page);
    return opened;
  }
  const further = (page: Page) => page.getByRole('button', { name: 'Search further', exact: true });

  it('goes on by itself, says how far it has looked, and goes on to the end', async () => {
    let asked = 0;
    const { page, complaints } = await openAdminPage(browser, api, { path: '/', team: 'deep' });
    page.on('request', (request) => {
      if (request.url().includes('requests.list')) asked += 1;
    });
    await page.goto(`${api.url}/admin/requests?status=5xx`);
    await further(page).waitFor();
    const looked = await page.locator('.more .hint').textContent();
    expect(looked).toMatch(REACHED);
    // Ten pages at most. A slow machine looks through less in its three seconds.
    expect(asked).toBeGreaterThan(1);
    expect(asked).toBeLessThanOrEqual(10);
    expect(await page.getByText('No results').count()).toBe(0);
    // Who hears the page is told the same.
    expect(await page.getByRole('search').getByRole('status').textContent()).toBe(
      `0 entries shown. ${looked}`,
    );
    expect(await findFaults(page)).toEqual([]);
    await photograph(page, 'a long search');

    await further(page).focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('.more .hint').textContent()).not.toBe(looked);
    expect(await page.evaluate(FOCUSED)).toBe('Search further');
    expect(await page.getByRole('search').getByRole('status').textContent()).toMatch(
      /^0 entries shown\. Searched back to /,
    );
    // To the end. What is shown does not wait for the name of a key that comes with a later page.
    const release = await holdBack(page, 'admin.apiKeys.names');
    const found = page.getByRole('rowheader', { name: FOUND });
    while (!(await found.isVisible())) {
      await further(page).press('Enter');
      await expect.poll(async () => (await found.isVisible()) || !(await isBusy(page))).toBe(true);
    }
    release();
    await further(page).waitFor({ state: 'detached' });
    expect(await page.getByRole('row').count()).toBe(2);
    expect(await page.getByRole('search').getByRole('status').textContent()).toBe('1 entry shown');
    await expect.poll(() => page.evaluate(FOCUSED)).toBe('Requests');
    expect(complaints).toEqual([]);
  });

  const isBusy = async (page: Page): Promise<boolean> =>
    (await page.locator('.more button[data-busy]').count()) > 0;

  it('shows what it has found, and that it can look further', async () => {
    const { page } = await open('/requests?status=404');
    await page.getByRole('rowheader', { name: 'GET /users' }).waitFor();
    expect(await page.locator('.more .hint').textContent()).toMatch(REACHED);
    expect(await further(page).count()).toBe(1);
  });

  it('says that nothing matches only where it has looked through all', async () => {
    const { page } = await open('/requests?status=404&past=custom&until=2020-01-01T00:00:00.000Z');
    await page.getByText('No results for these filters').waitFor();
    expect(await further(page).count()).toBe(0);
  });

  it('says it in German', async () => {
    const { page } = await open('/requests?status=5xx', { locale: 'de-DE' });
    await page.getByRole('button', { name: 'Weiter suchen', exact: true }).waitFor();
    expect(await page.locator('.more .hint').textContent()).toMatch(
      /^Zurück bis \d{1,2}\. \p{L}+, \d\d:\d\d Uhr durchsucht\.$/u,
    );
  });

  it('finds the oldest entry of the audit log by two frequent filters', async () => {
    const { page } = await open('/audit?actor=key_even&action=case.created');
    await page.getByRole('rowheader', { name: 'case.created' }).waitFor();
    expect(await further(page).count()).toBe(0);
  });
});
