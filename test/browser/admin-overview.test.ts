// The overview: the first steps of a new team, and what needs attention, by the page's own rules.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAdminPage, settle } from '../support/admin-page.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember } from '../support/app.ts';
import { findFaults, launchBrowser, photograph, SKIPPED } from '../support/browser.ts';
import { openSandbox } from '../support/sandbox.ts';
import { makeMember, makeSeed, makeTeam } from '../support/seed.ts';

const endpoint = (id: string, description: string) => ({
  id,
  description,
  url: `https://${id}.test/`,
  events: ['member.joined' as const],
});

describe.skipIf(SKIPPED !== '')(`the admin page: overview${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;
  const run = (sql: string, values: unknown[] = []) => api.db.pool.query(sql, values);

  beforeAll(async () => {
    api = await startTestApi({
      allowPrivateTargets: true,
      seed: makeSeed([
        makeTeam('new', { members: [makeMember('new', 'friend', { role: 'admin' })] }),
        makeTeam('busy', {
          webhook_endpoints: [
            endpoint('whe_1', 'Planner'),
            endpoint('whe_2', 'Archive'),
            endpoint('whe_3', 'Mail'),
            endpoint('whe_4', 'Old'),
          ],
        }),
        makeTeam('calm', { webhook_endpoints: [endpoint('whe_c', 'Calm')] }),
      ]),
    });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await api?.stop();
  });

  /** Adds deliveries of `whe_…` that were made now. */
  const deliver = (team: string, hook: string, status: string, count: number) =>
    run(
      `with e as (
         insert into event (team_id, id, type, data, created_at, fanned_out_at)
         select $1, 'evt_' || $2 || $3 || n, 'member.joined', '{}', now(), now()
         from generate_series(1, $4::int) n
         returning team_id, id
       )
       insert into webhook_delivery (team_id, id, endpoint_id, event_id, event_type, status,
         attempt, created_at, next_try_at, last_attempt_at, response_ms, response_code)
       select $1, id, $2, id, 'member.joined', $3,
         case $3 when 'pending' then 0 when 'gave_up' then 8 else 1 end, now(),
         case when $3 in ('pending', 'retrying') then now() + interval '1 hour' end,
         case when $3 <> 'pending' then now() end, case when $3 <> 'pending' then 40 end,
         case when $3 = 'ok' then 200 when $3 <> 'pending' then 500 end
       from e`,
      [`team_${team}`, hook, status, count],
    );

  it('leads a new team from one step to the next, with ticks as they are done', async () => {
    await run(`delete from api_key where team_id = 'team_new'`);
    const { page, complaints } = await openAdminPage(browser, api, { path: '/', team: 'new' });
    const list = page.locator('.steps');
    // In one step, since a tick may go meanwhile.
    const state = () =>
      page.evaluate<string>(`
        [...document.querySelectorAll('.steps [role=img]')]
          .map((tick) => (tick.ariaLabel === 'Done' ? '✓' : '·')).join('') || 'gone'`);
    await list.getByRole('link', { name: 'Create an API key for your program' }).waitFor();
    expect(await state()).toBe('······');
    await photograph(page, 'overview-new-team');
    expect(await page.getByText('Everything is working.').count()).toBe(0);
    expect(await findFaults(page)).toEqual([]);
    const app = await appAsMember(api, 'new', 'owner');
    const look = async (expected: string) => {
      // The reader comes back to the window, once more if a reading was under way.
      const comeBack = async () => {
        await page.evaluate(
          `document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))`,
        );
        return state();
      };
      await expect.poll(comeBack, { interval: 200 }).toBe(expected);
    };
    await app.admin.apiKeys.create.mutate({ name: 'Mine', scopes: ['users:read'] });
    await look('·✓····');
    await run(`update api_key set last_used_at = now() where team_id = 'team_new'`);
    await look('·✓✓···');
    const { id } = await app.v1.webhooks.createEndpoint.mutate({
      url: 'http://127.0.0.1:9/',
      description: 'Planner',
      events: ['member.joined'],
    });
    await look('·✓✓✓··');
    await deliver('new', id, 'gave_up', 1);
    await look('·✓✓✓··');
    await deliver('new', id, 'ok', 1);
    await look('·✓✓✓✓·');
    await app.admin.team.grantRight.mutate({
      member_id: 'mem_new_friend',
      right: 'schnittstellen',
    });
    await look('·✓✓✓✓✓');
    await openSandbox(api, 'new', 'empty');
    await look('gone');
    expect(complaints).toEqual([]);
  });

  it('hides the steps for good where somebody does not want them', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/', team: 'calm' });
    await page.getByText('Everything is working.').waitFor();
    await page.locator('.steps').evaluate((list) => list.setAttribute('open', ''));
    await page.getByRole('button', { name: 'Hide the list' }).click();
    await page.reload();
    await settle(page);
    await page.getByText('Everything is working.').waitFor();
    expect(await page.locator('.steps').count()).toBe(0);
  });

  it('names what needs attention, equal things once, each with its next step', async () => {
    await deliver('busy', 'whe_1', 'ok', 90);
    await deliver('busy', 'whe_1', 'gave_up', 10);
    await deliver('busy', 'whe_2', 'retrying', 3);
    await deliver('busy', 'whe_3', 'pending', 150);
    await run(`update webhook_endpoint set status = 'disabled_failures' where id = 'whe_2'`);
    await run(`update webhook_endpoint set status = 'disabled' where id = 'whe_4'`);
    await run(
      `update webhook_endpoint set secret_unconfirmed_since = now() where id in ('whe_1', 'whe_3')`,
    );
    await run(
      `insert into api_key_usage (team_id, day, key_id, count_2xx, count_4xx, count_5xx)
       select team_id, current_date - n, id, 70, 28, 2
       from api_key, generate_series(0, 20) n where team_id = 'team_busy' and name = 'full'`,
    );
    await run(
      `update api_key set expires_at = now() + interval '3 days'
       where team_id = 'team_busy' and name in ('full', 'users:read')`,
    );
    const { page, complaints } = await openAdminPage(browser, api, { path: '/', team: 'busy' });
    await settle(page);
    const items = await page.locator('.attention li').allTextContents();
    await photograph(page, 'overview-busy-team');
    const paused = 'are paused: Archive and Old. New events are not delivered to them.';
    const failed = 'failed in the last 24 hours. Receivers: Planner and Archive.';
    expect(items).toEqual([
      `2 webhooks ${paused} Fix and reactivate`,
      `13 deliveries ${failed} View`,
      '150 deliveries are waiting. Receivers: Mail. View',
      '14 requests failed because of an error on our side. View',
      '30% of the requests in the last 7 days were rejected or failed. View',
      'Nobody has confirmed storing the secrets of 2 webhooks: Planner and Mail. Rotate',
      '2 keys expire soon, the first in 3 days: users:read and full. Rotate',
    ]);
    expect(await findFaults(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
