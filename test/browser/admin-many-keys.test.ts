// The admin page of a team whose many ended keys are newer than those that work: no page may miss
// a key that works, nor the name of one that has ended.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { en } from '../../src/admin-ui/i18n/en.ts';
import { openAdminPage, refuse } from '../support/admin-page.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { launchBrowser, SKIPPED } from '../support/browser.ts';
import { logCall } from '../support/request-log.ts';
import { makeSeed, makeTeam, memberId } from '../support/seed.ts';

const TEAM = 'rotating';
const TEAM_ID = `team_${TEAM}`;
/** More than the newest keys that a page reads. */
const ENDED = 250;

describe.skipIf(SKIPPED !== '')(`the admin page: many ended keys${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;

  beforeAll(async () => {
    api = await startTestApi({ seed: makeSeed([makeTeam(TEAM)]) });
    await addEndedKeys(api);
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  const open = (path: string) => openAdminPage(browser, api, { path, team: TEAM });

  it('names a live key of who leaves, however old it is', async () => {
    const { page, complaints } = await open('/members');
    const actions = `${en.common.actions}: member@${TEAM}.test`;
    await page.getByRole('button', { name: actions }).click();
    await page.getByRole('button', { name: en.members.remove, exact: true }).click();
    await page.getByText(en.members.leaverKeys(1, 'by_member')).waitFor();
    expect(complaints).toEqual([]);
  });

  it('counts the live keys that a switch of privacy concerns', async () => {
    const { page, complaints } = await open('/privacy');
    const { detail, turnOff, keysWith } = en.privacy;
    await page.getByRole('button', { name: `${detail}: ${turnOff}` }).click();
    // Those with every permission, and the one that is called like this permission.
    await page.getByText(keysWith(4, en.keys.scopeNames['users:read'] ?? '')).waitFor();
    expect(complaints).toEqual([]);
  });

  it('warns of a live key that ends soon', async () => {
    const { page, complaints } = await open('/');
    await page.getByText('by_admin').waitFor();
    expect(complaints).toEqual([]);
  });

  it('lists the live keys without those that ended, and those if they are wanted', async () => {
    const { page, complaints } = await open('/keys');
    await page.getByRole('rowheader', { name: 'by_member' }).waitFor();
    expect(await page.getByText('Import (').count()).toBe(0);
    await page.getByLabel(en.keys.showEnded).check();
    await page.getByRole('rowheader', { name: 'Import (250)' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('finds a live key', async () => {
    const { page, complaints } = await open('/members');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: en.finder.label }).fill('by_mem');
    await page.getByRole('option', { name: 'by_member' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('names the keys of calls, live or ended, and offers each as a filter', async () => {
    const call = { teamId: TEAM_ID, route: '/assignments', status: 404 };
    await logCall(api, { ...call, keyName: 'Oldest' });
    const id = await logCall(api, { ...call, keyName: 'by_member' });
    const { page, complaints } = await open('/requests');
    const ended = page.getByRole('cell', { name: 'Oldest' });
    await ended.waitFor();
    await page.getByRole('cell', { name: 'by_member' }).waitFor();
    await page.getByLabel(en.usage.key, { exact: true }).selectOption('by_member');
    await ended.waitFor({ state: 'detached' });
    await page.goto(`${api.url}/admin/requests/${id}`);
    await page.getByRole('link', { name: 'by_member' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it.each([2, -2])(
    'finds the last calls by the time of the service (%i h ahead)',
    async (hours) => {
      const { page } = await open('/');
      await page.clock.setFixedTime(Date.now() + hours * 3_600_000);
      const id = await logCall(api, {
        teamId: TEAM_ID,
        route: '/members/{member_id}',
        status: 404,
        keyName: 'by_member',
      });
      await api.db.pool.query(
        `update request_log set created_at = now() - interval '90 minutes' where id <> $1`,
        [id],
      );
      await page.goto(`${api.url}/admin/requests?past=1h`);
      await page.getByRole('cell', { name: 'by_member' }).waitFor();
      await page.getByText(en.common.shown(1)).first().waitFor();
      expect(await page.getByRole('cell', { name: 'Oldest' }).count()).toBe(0);
    },
  );

  it('finds them, too, when the clock was put right while the page was shown', async () => {
    const { page } = await open('/');
    await page.clock.setFixedTime(Date.now() + 2 * 3_600_000);
    await page.goto(`${api.url}/admin/audit`);
    await page.getByRole('cell', { name: 'Oldest' }).waitFor();
    await page.clock.setFixedTime(Date.now());
    await page.getByRole('link', { name: en.nav.members }).click();
    await page.getByRole('rowheader').first().waitFor();
    const asked = page.waitForRequest(/admin\.requests\.list.*since/);
    await page.getByRole('link', { name: en.nav.requests }).click();
    await page.getByLabel(en.times.label).selectOption('1h');
    const [, since = ''] = /since":"([^"]+)/.exec(decodeURIComponent((await asked).url())) ?? [];
    expect(Math.abs(Date.now() - 3_600_000 - Date.parse(since))).toBeLessThan(120_000);
  });

  it('names a key that has ended in the audit log, and as a filter of the usage', async () => {
    const { page, complaints } = await open('/audit');
    await page.getByRole('cell', { name: 'Oldest' }).waitFor();
    await page.goto(`${api.url}/admin/usage?key=key_first`);
    const choice = page.getByLabel(en.usage.key, { exact: true });
    await expect.poll(() => choice.inputValue()).toBe('key_first');
    const offered = await choice.locator('option').allInnerTexts();
    expect(offered).toEqual(expect.arrayContaining(['Oldest', 'by_member']));
    expect(complaints).toEqual([]);
  });

  it('shows what a leaked key has called, behind ten thousand calls of others', async () => {
    await logCall(api, { teamId: TEAM_ID, route: '/cases', status: 201, keyName: 'by_admin' });
    await api.db.pool.query(
      `insert into request_log
         (team_id, slot, id, created_at, key_id, method, route, status, duration_ms)
       select team_id, slot, 'req_' || n, created_at + n * interval '1 us', 'key_first', 'GET',
         '/me', 200, 3
       from (select * from request_log where route = '/cases') mine, generate_series(1, 10100) n`,
    );
    const { page, complaints } = await open('/keys');
    const revoke = page.getByRole('button', { name: `${en.keys.revoke}: by_admin` });
    await revoke.click();
    await page.getByText(en.keys.revokeCalls(1, 'POST /cases')).waitFor();
    expect(complaints).toEqual([]);
    await page.getByRole('button', { name: en.common.cancel }).click();
    await page.reload();
    await refuse(page, 'auditLog.list');
    await revoke.click();
    await page.getByLabel(en.keys.leakYes).check();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    expect(await page.getByText(en.keys.leakUnchanged).count()).toBe(0);
  });
});

/** Adds ended keys: the oldest key of the team, and many that are newer than the live ones. */
async function addEndedKeys({ db }: TestApi): Promise<void> {
  const owner = memberId(TEAM, 'owner');
  await db.pool.query(
    `update api_key
     set created_at = '2026-01-02Z',
       expires_at = case name when 'by_admin' then now() + interval '3 days' end
     where team_id = $1`,
    [TEAM_ID],
  );
  await db.pool.query(
    `insert into api_key
       (team_id, id, name, prefix, secret_hash, scopes, created_by, created_at, revoked_at)
     select $1, case n when 0 then 'key_first' else 'key_' || n end,
       case n when 0 then 'Oldest' else 'Import (' || n || ')' end, lpad(n::text, 12, '0'),
       decode(repeat('00', 32), 'hex'), '{users:read}', $2,
       timestamptz '2026-01-01Z' + n * interval '25 hours', now() - interval '1 minute'
     from generate_series(0, $3::int) n`,
    [TEAM_ID, owner, ENDED],
  );
  await db.pool.query(
    `insert into audit_log
       (team_id, id, action, actor_kind, actor_id, target_id, request_id, created_at)
     values ($1, 'aud_1', 'api_key.revoked', 'user', $2, 'key_first', 'req_1', now())`,
    [TEAM_ID, owner],
  );
}
