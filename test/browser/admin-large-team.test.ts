// The admin page of a team of two thousand: each of them is found in two steps, wherever a person
// is looked for, and no page grows with the team.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { de } from '../../src/admin-ui/i18n/de.ts';
import { en } from '../../src/admin-ui/i18n/en.ts';
import { holdBack, openAdminPage, settle } from '../support/admin-page.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { findFaults, launchBrowser, photograph, SKIPPED } from '../support/browser.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

const COUNT = 2_000;
const NODES_MAX = 3_000;
const REQUESTS_MAX = 5;
const BYTES_MAX = 20_000;
const ROW_MAX_PX = 44;
const TEAM = 'large';

/** Keeps the texts that are new in a live region, as a screen reader is told of them. */
const WATCH_STATUS = `
  window.said = [];
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes)
      for (const node of addedNodes) if (node.textContent) window.said.push(node.textContent);
  }).observe(document.querySelector('[role=search] [role=status]'), {
    childList: true,
    subtree: true,
  });`;

describe.skipIf(SKIPPED !== '')(`the admin page: a large team${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;

  beforeAll(async () => {
    const hooks = Array.from({ length: 50 }, (_, n) => ({
      id: `whe_${n}`,
      url: `https://receiver-${n}.test/hooks`,
      events: ['member.joined' as const],
    }));
    api = await startTestApi({
      seed: makeSeed([makeTeam(TEAM, { webhook_endpoints: hooks }), makeTeam('huge')]),
    });
    await api.db.pool.query(
      `with e as (
         insert into event (team_id, id, type, data, created_at, fanned_out_at)
         select 'team_large', 'evt_' || n, 'member.joined', '{}', now(), now()
         from generate_series(1, 100) n
         returning team_id, id
       )
       insert into webhook_delivery (team_id, id, endpoint_id, event_id, event_type, status,
         attempt, created_at, last_attempt_at, response_ms)
       select e.team_id, w.id || e.id, w.id, e.id, 'member.joined',
         case when substr(e.id, 5)::int % 4 = 0 then 'gave_up' else 'ok' end,
         8, now(), now(), 40
       from e join webhook_endpoint w on w.team_id = e.team_id`,
    );
    await api.db.pool.query(
      `insert into member (team_id, id, email, role, status, created_at)
       select 'team_large', 'mem_' || n, 'person.' || n || '@large.test', 'member', 'invited',
         timestamptz '2026-01-01Z' + n * interval '1 second'
       from generate_series(1, $1::int) n`,
      [COUNT],
    );
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  const firstRow = (page: Page) => page.getByRole('rowheader').first().innerText();

  it('finds a member in two steps, and shows a page of them however many there are', async () => {
    const { page, complaints } = await openAdminPage(browser, api, {
      path: '/members',
      team: TEAM,
    });
    await settle(page);
    await page.getByText(/Seats taken: 2,0\d\d of [\d,]+\./).waitFor();
    await photograph(page, 'members-large');
    expect(await findFaults(page)).toEqual([]);
    expect(await page.locator('*').count()).toBeLessThan(NODES_MAX);
    const row = await page.getByRole('row').nth(1).boundingBox();
    expect(row?.height).toBeLessThanOrEqual(ROW_MAX_PX);
    const search = page.getByLabel('Address or ID');
    await search.fill('PERSON.1903@');
    await search.press('Enter');
    await until(async () => (await page.getByRole('rowheader').count()) === 1);
    expect(await firstRow(page)).toContain('person.1903@large.test');
    await page.reload();
    await until(async () => (await page.getByRole('rowheader').count()) === 1);
    expect(await search.inputValue()).toBe('PERSON.1903@');
    expect(complaints).toEqual([]);
  });

  it('shows the actions of the last row within the window, and gives the focus back', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/members', team: TEAM });
    await settle(page);
    const opener = page.getByRole('button', { name: /^Actions: / }).last();
    await opener.focus();
    await page.keyboard.press('Enter');
    const withdraw = page.getByRole('button', { name: 'Withdraw' });
    const change = page.getByRole('button', { name: 'Change' });
    await expect.poll(() => change.evaluate((one) => one === document.activeElement)).toBe(true);
    const { y, height } = (await withdraw.boundingBox()) ?? { y: -1, height: 0 };
    expect(y).toBeGreaterThan(0);
    expect(y + height).toBeLessThan(page.viewportSize()?.height ?? 0);
    await photograph(page, 'members-menu');
    expect(await findFaults(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await withdraw.waitFor({ state: 'hidden' });
    expect(await opener.evaluate((one) => one === document.activeElement)).toBe(true);
  });

  it('keeps the place on Back and on a reload', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/members', team: TEAM });
    await settle(page);
    const first = await firstRow(page);
    await page.getByRole('link', { name: 'Next page' }).click();
    await until(async () => (await firstRow(page)) !== first);
    const second = await firstRow(page);
    await page.reload();
    await settle(page);
    expect(await firstRow(page)).toBe(second);
    await page.goBack();
    await until(async () => (await firstRow(page)) === first);
    await page.goForward();
    await until(async () => (await firstRow(page)) === second);
    await page.getByRole('link', { name: 'First page' }).click();
    await until(async () => (await firstRow(page)) === first);
  });

  it('sorts the members by the keyboard, and keeps the order on a reload and Back', async () => {
    const { page, complaints } = await openAdminPage(browser, api, {
      path: '/members',
      team: TEAM,
    });
    await settle(page);
    const order = page.getByLabel('Sort by');
    const sorted = () =>
      page.getByRole('columnheader').evaluateAll((all) =>
        all.flatMap((one) => {
          const value = one.getAttribute('aria-sort');
          return value === null ? [] : [`${one.firstChild?.textContent}: ${value}`];
        }),
      );
    const newest = await firstRow(page);
    expect(await sorted()).toEqual([]);
    await order.focus();
    // By address: the first option is that of an address without an order.
    await page.keyboard.press('ArrowDown');
    await until(async () => (await firstRow(page)).startsWith('admin@'));
    expect(await sorted()).toEqual(['Member: ascending']);
    expect(await findFaults(page)).toEqual([]);
    await photograph(page, 'members-sorted');
    await page.getByRole('link', { name: 'Next page' }).click();
    await until(async () => /^person\.10[34]/.test(await firstRow(page)));
    const second = await firstRow(page);
    expect(page.url()).not.toContain('%40');
    await page.reload();
    await settle(page);
    expect(await firstRow(page)).toBe(second);
    expect(await order.inputValue()).toBe('address');
    await page.goBack();
    await until(async () => (await firstRow(page)).startsWith('admin@'));
    await order.selectOption('Role: admins first');
    await until(async () => (await firstRow(page)).startsWith('owner@'));
    expect(await sorted()).toEqual(['Role: other']);
    await order.selectOption('Joined: oldest first');
    await settle(page);
    expect(await firstRow(page)).toContain('admin@');
    expect(await page.getByRole('row').nth(1).innerText()).not.toContain('Invited');
    expect(await sorted()).toEqual(['Since: ascending']);
    await order.selectOption('Joined: newest first');
    await settle(page);
    expect(await page.getByRole('row').nth(1).innerText()).toContain('Invited');
    expect(await sorted()).toEqual(['Since: descending']);
    // A filter keeps the order, and the order of before is that of an address without one.
    await page.getByLabel('Role').selectOption('Member');
    await until(async () => page.url().includes('role=member'));
    expect(await order.inputValue()).toBe('joined');
    await order.selectOption('Added: newest first');
    await until(async () => !page.url().includes('sort='));
    await page.getByLabel('Role').selectOption('All');
    await until(async () => (await firstRow(page)) === newest);
    expect(complaints).toEqual([]);
  });

  it('marks rows of before as busy, under the heading of their own order', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/members', team: TEAM });
    await settle(page);
    const ordered = page.locator('[aria-sort]');
    const table = page.getByRole('table');
    const status = page.getByRole('search').getByRole('status');
    const first = await firstRow(page);
    expect(await status.innerText()).toBe('50 entries shown');
    const release = await holdBack(page, 'members.search');
    await page.getByLabel('Sort by').selectOption('address');
    await until(async () => (await table.getAttribute('aria-busy')) === 'true');
    await photograph(page, 'members-busy');
    expect(await firstRow(page)).toBe(first);
    expect(await ordered.count()).toBe(0);
    await page.evaluate(WATCH_STATUS);
    release();
    await settle(page);
    expect(await firstRow(page)).toContain('admin@');
    expect(await ordered.innerText()).toContain('Member');
    // As many rows as before, so only a new node lets who hears the page know of them.
    expect(await page.evaluate('window.said')).toEqual(['50 entries shown']);
    await page.getByRole('link', { name: 'Next page' }).click();
    await until(async () => (await page.evaluate<string[]>('window.said')).length === 2);
    expect(await page.evaluate('window.said')).toEqual(['50 entries shown', '50 entries shown']);
  });

  it('says why addresses cannot be an order while they are withheld', async () => {
    await api.db.pool.query(
      `update team set member_detail_enabled = false where id = 'team_large'`,
    );
    const { page } = await openAdminPage(browser, api, {
      path: '/members?sort=address',
      team: TEAM,
      locale: 'de-DE',
    });
    await page.getByRole('alert').waitFor();
    await photograph(page, 'members-sort-withheld');
    expect(await findFaults(page)).toEqual([]);
    await page.getByLabel(de.members.sort).selectOption(de.members.sorts.role);
    await page.getByText(de.members.hidden).waitFor();
    await api.db.pool.query(`update team set member_detail_enabled = true where id = 'team_large'`);
  });

  it('shows the health of fifty webhooks in a few requests', async () => {
    const { page, complaints } = await openAdminPage(browser, api, { path: '/keys', team: TEAM });
    await settle(page);
    let requests = 0;
    let bytes = 0;
    page.on('response', async (response) => {
      if (!response.url().includes('/trpc/')) return;
      requests += 1;
      bytes += (await response.request().sizes()).responseBodySize;
    });
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    await page.getByRole('rowheader').nth(49).waitFor();
    await page.getByText('75% of the last 100').first().waitFor();
    await photograph(page, 'webhooks-large');
    console.log(`the health of 50 webhooks: ${requests} requests, ${bytes} bytes`);
    expect(requests).toBeLessThanOrEqual(REQUESTS_MAX);
    expect(bytes).toBeLessThan(BYTES_MAX);
    expect(await page.locator('*').count()).toBeLessThan(NODES_MAX);
    expect(await findFaults(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('draws what waits at an endpoint, by the time of the next attempt', async () => {
    await api.db.pool.query(
      `update webhook_delivery
       set status = 'retrying', attempt = 3,
         next_try_at = now() + substr(event_id, 5)::int * interval '10 minutes'
       where endpoint_id = 'whe_7' and status = 'gave_up'`,
    );
    const { page } = await openAdminPage(browser, api, { path: '/webhooks/whe_7', team: TEAM });
    await settle(page);
    const backlog = page.getByRole('group', { name: 'Waiting deliveries' });
    const bars = backlog.getByRole('img');
    await bars.first().waitFor();
    const names = (await bars.all()).map((bar) => bar.getAttribute('aria-label'));
    expect(await Promise.all(names)).toEqual([
      '0: for the first attempt',
      '0: now',
      '0: within 1 minute',
      '0: within 5 minutes',
      '0: within 30 minutes',
      '3: within 2 hours',
      '6: within 6 hours',
      '9: within 12 hours',
      '7: within 24 hours',
      '0: later',
    ]);
    expect(await findFaults(page)).toEqual([]);
    await bars.last().focus();
    await photograph(page, 'backlog');
  });

  it('gives any member a policy of their own', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/catalog', team: TEAM });
    const who = page.getByLabel('Policy for');
    await who.pressSequentially('person.190');
    await page.getByText('Type part of the address and choose a member.').waitFor();
    // While nobody is chosen, no policy can be changed by mistake.
    await until(async () => (await page.getByRole('rowheader').count()) === 0);
    await until(async () => (await page.locator('datalist option').count()) === 11);
    await who.fill('person.1900@large.test');
    await page.getByLabel('Allow Tough').click();
    await until(async () => {
      const { rows } = await api.db.pool.query(
        `select entry_id from member_block where team_id = 'team_large' and member_id = 'mem_1900'`,
      );
      return rows.length === 1;
    });
    expect(await findFaults(page)).toEqual([]);
    await who.fill('nobody@large.test');
    await page.getByText('No member of the team matches.').waitFor();
  });

  it('finds somebody behind ten thousand newer members, by a part of their address', async () => {
    await api.db.pool.query(
      `insert into member (team_id, id, email, role, status, created_at)
       select 'team_huge', 'mem_' || n, n || '@newer.test', 'member', 'invited', now()
       from generate_series(1, 10500) n`,
    );
    const { page } = await openAdminPage(browser, api, { path: '/catalog', team: 'huge' });
    await page.getByLabel('Policy for').fill('member@hu');
    await page.locator('datalist option[value="member@huge.test"]').waitFor({ state: 'attached' });
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: en.finder.label }).fill('member@hu');
    const found = page.getByRole('option', { name: 'member@huge.test' });
    await expect.poll(() => found.count()).toBe(1);
  });
});
