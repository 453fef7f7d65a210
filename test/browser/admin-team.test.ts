// The admin page in a real browser: the team, its privacy and policies, and what happened.
import { setTimeout } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { holdBack, openAdminPage, settle } from '../support/admin-page.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { en } from '../../src/admin-ui/i18n/en.ts';
import { appAsMember, codeOf } from '../support/app.ts';
import { findFaults, launchBrowser, photograph, SKIPPED } from '../support/browser.ts';
import { makeMember, makeSeed, makeTeam, makeTraining, memberId, userId } from '../support/seed.ts';

describe.skipIf(SKIPPED !== '')(`the admin page: the team${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;

  beforeAll(async () => {
    const seed = makeSeed([
      makeTeam('crew'),
      makeTeam('five', {
        members: ['four', 'five'].map((name) => makeMember('five', name)),
        trainings: ['owner', 'admin', 'member', 'four', 'five'].map((name) =>
          makeTraining('five', `trn_${name}`, { user_id: userId('five', name) }),
        ),
      }),
      makeTeam('quiet', { trainings: [makeTraining('quiet', 'trn_1')] }),
      makeTeam('shelf', { released: 'all' }),
    ]);
    const own = { kind: 'role', id: 'rol_own', name: { en: 'Our own', de: 'Unsere' } } as const;
    seed.catalog = [...(seed.catalog ?? []), { ...own, icon: 'x', team: 'team_shelf' }];
    api = await startTestApi({ seed });
    await api.db.pool.query(
      `insert into api_key_usage (team_id, day, key_id, count_2xx, count_5xx)
       select team_id, current_date - n, id, 10 * n, 3
       from api_key, generate_series(0, 4) n
       where team_id = 'team_quiet' and name = 'full'`,
    );
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  it('invites, changes and removes members, and grants the right to manage keys', async () => {
    const { page, complaints } = await openAdminPage(browser, api, {
      path: '/members',
      team: 'crew',
    });
    await page.getByRole('button', { name: 'Invite a member' }).click();
    const invite = page.getByRole('dialog', { name: 'Invite a member' });
    await invite.getByLabel('Email address').fill('no address');
    await invite.getByRole('button', { name: 'Send the invitation' }).click();
    await invite.locator('[aria-invalid=true]').waitFor();
    expect(await findFaults(page)).toEqual([]);
    await invite.getByLabel('Email address').fill('admin@crew.test');
    await invite.getByRole('button', { name: 'Send the invitation' }).click();
    await invite.getByText('Someone with this email is already a member').waitFor();
    await invite.getByLabel('Email address').fill('kim@example.com');
    await invite.getByRole('button', { name: 'Send the invitation' }).click();
    await page.getByText('The invitation to kim@example.com is on its way.').waitFor();
    await page.getByRole('button', { name: 'Actions: kim@example.com' }).click();
    await page.getByRole('button', { name: 'Withdraw', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click();
    await page.getByText('The invitation was withdrawn.').waitFor();
    await page.getByRole('button', { name: 'Actions: admin@crew.test' }).click();
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await page.getByLabel('May manage API keys').check();
    await photograph(page, 'member-change');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Changed.').waitFor();
    const admin = await appAsMember(api, 'crew', 'admin');
    expect(
      await codeOf(admin.admin.apiKeys.create.mutate({ name: 'Mine', scopes: ['users:read'] })),
    ).toBe('ok');
    // What the member has is read slowly: nobody removes them before it is shown.
    await page.route('**/trpc/admin.members.leaver*', async (route) => {
      await setTimeout(500);
      await route.continue();
    });
    const told = page.waitForResponse(/admin\.members\.leaver/);
    await page.getByRole('button', { name: 'Actions: member@crew.test' }).click();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await page.getByText('Open assignments are revoked at once.').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByText('The member was removed.').waitFor();
    expect((await told).status()).toBe(200);
    expect(await page.getByText('member@crew.test').count()).toBe(0);
    expect(complaints.filter((one) => !/422|409/.test(one)).join('\n')).toBe('');
  });

  it('names the keys of a member who leaves, of those that work', async () => {
    await api.db.pool.query(
      `insert into api_key
       select (jsonb_populate_record(k, jsonb_build_object('id', 'key_old', 'name', 'Of before',
         'prefix', 'old' || substr(prefix, 4), 'revoked_at', now()))).*
       from api_key k where team_id = 'team_shelf' and name = 'by_admin'`,
    );
    const { page } = await openAdminPage(browser, api, { path: '/members', team: 'shelf' });
    await page.getByRole('button', { name: 'Actions: admin@shelf.test' }).click();
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    const left = page.getByRole('dialog').getByRole('listitem').filter({ hasText: 'by_admin' });
    expect(await left.innerText()).toContain(en.members.leaverKeys(1, 'by_admin'));
  });

  it('shows what a switch hides before it is switched, and then hides it here, too', async () => {
    const { page, complaints } = await openAdminPage(browser, api, {
      path: '/members',
      team: 'crew',
    });
    await page.getByText('owner@crew.test').waitFor();
    await page.getByRole('link', { name: en.privacy.title }).click();
    await page.getByText('No effect until five members have trained').waitFor();
    expect(await page.getByText('Switched on').count()).toBe(1);
    await page.getByRole('button', { name: 'Data of individual members: Switch off' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('region', { name: 'When switched off' }).waitFor();
    await dialog.getByText('Member IDs replace email addresses').waitFor();
    // Three that may do everything, and one of its own.
    await dialog.getByText(/^View evaluations: .*: 4 keys$/).waitFor();
    expect(await findFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Switch it off' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('The switch was changed.').waitFor();
    // The other switch is on, and changes nothing.
    await page.getByText('No effect while the first switch is off').waitFor();
    expect((await api.call(api.key('team_crew'), 'GET', '/trainings')).status).toBe(403);
    await page.getByRole('link', { name: 'Members' }).click();
    await page.getByText('usr_crew_owner').waitFor();
    await page.getByText('Addresses are hidden').waitFor();
    expect(await page.getByText('owner@crew.test').count()).toBe(0);
    await page.getByRole('link', { name: 'Audit log' }).click();
    await page.getByRole('rowheader', { name: /Privacy switch changed/ }).waitFor();
    await page.getByLabel('Action').selectOption('team.policy_changed');
    await page.getByText('No results for these filters').waitFor();
    expect(complaints).toEqual([]);
  });

  it('says that the comparison is on where it shows something', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/privacy', team: 'five' });
    await settle(page);
    await expect.poll(() => page.getByText('Switched on').count()).toBe(2);
    await page.getByRole('link', { name: 'Team results' }).click();
    await page.getByRole('group', { name: 'Distribution of average scores' }).waitFor();
  });

  it('says that somebody else has turned a switch meanwhile', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/privacy', team: 'five' });
    const { leaderboard, turnOff, changedAlready } = en.privacy;
    await page.getByRole('button', { name: `${leaderboard}: ${turnOff}` }).click();
    const alert = page.getByRole('alert').filter({ hasText: changedAlready });
    const { admin } = await appAsMember(api, 'five', 'owner');
    const turn = async (isOn: boolean) => {
      await admin.team.privacy.set.mutate({ leaderboard_enabled: isOn });
      await page.evaluate(`window.dispatchEvent(new Event('visibilitychange'))`);
    };
    expect(await alert.count()).toBe(0);
    await turn(false);
    await alert.waitFor();
    await turn(true);
    await alert.waitFor({ state: 'detached' });
  });

  it('keeps a dialog that was opened while an invitation is sent again', async () => {
    const body = { email: 'again@example.com' };
    const invited = await api.call(api.key('team_quiet'), 'POST', '/users', { body });
    expect(invited.status).toBe(201);
    const { page } = await openAdminPage(browser, api, { path: '/members', team: 'quiet' });
    const held = Promise.withResolvers<void>();
    await page.route('**/trpc/admin.invitations.resend*', async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.getByRole('button', { name: `${en.common.actions}: again@example.com` }).click();
    await page.getByRole('button', { name: en.members.resend, exact: true }).click();
    await page.getByRole('button', { name: en.members.invite }).click();
    const address = page.getByRole('dialog').getByLabel('Email address');
    await address.fill('typed@example.com');
    held.resolve();
    await page.getByText(en.members.resent).waitFor();
    expect(await address.inputValue()).toBe('typed@example.com');
  });

  it('keeps a question about a switch when the other one is turned late', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/privacy', team: 'shelf' });
    const { detail, leaderboard, turnOff, confirmOff, changed, titleOff } = en.privacy;
    const release = await holdBack(page, 'admin.team.privacy.set');
    await page.getByRole('button', { name: `${leaderboard}: ${turnOff}` }).click();
    await page.getByRole('dialog').getByRole('button', { name: confirmOff }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: `${detail}: ${turnOff}` }).click();
    const dialog = page.getByRole('dialog', { name: titleOff(detail) });
    await dialog.waitFor();
    release();
    await page.getByText(changed).waitFor();
    expect(await dialog.isVisible()).toBe(true);
  });

  it('sends one invitation again at a time, and says that it could not', async () => {
    for (const email of ['one@example.com', 'two@example.com'])
      await api.call(api.key('team_shelf'), 'POST', '/users', { body: { email } });
    const { page } = await openAdminPage(browser, api, { path: '/members', team: 'shelf' });
    const held = Promise.withResolvers<void>();
    await page.route('**/trpc/admin.invitations.resend*', async (route) => {
      await held.promise;
      await route.abort('connectionreset');
    });
    const menuOf = (email: string) =>
      page.getByRole('button', { name: `${en.common.actions}: ${email}` });
    const resend = page.getByRole('button', { name: en.members.resend, exact: true });
    await menuOf('one@example.com').click();
    await resend.click();
    await menuOf('two@example.com').click();
    expect(await resend.getAttribute('aria-disabled')).toBe('true');
    held.resolve();
    await page.getByRole('alert').filter({ hasText: en.problems.network }).waitFor();
    expect(await resend.getAttribute('aria-disabled')).toBeNull();
  });

  it('blocks an entry of the catalog after a search', async () => {
    const { page, complaints } = await openAdminPage(browser, api, {
      path: '/catalog',
      team: 'quiet',
    });
    await page.getByLabel('Search').fill('tough');
    await page.getByText('1 entry shown').waitFor();
    await page.getByLabel('Allow Tough').click();
    await page.getByText('The policy was saved.').waitFor();
    const { data } = await (
      await appAsMember(api, 'quiet', 'owner')
    ).admin.team.catalog.query({ kind: 'personality' });
    expect(data.filter(({ blocked }) => blocked).map(({ id }) => id)).toEqual(['per_tough']);
    expect(complaints).toEqual([]);
  });

  it('changes the policy of whom the boxes were clicked for, whoever is chosen then', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/catalog', team: 'five' });
    const whom = page.getByLabel(en.catalog.forWhom);
    const allow = (name: string) => page.getByLabel(en.catalog.allow(name));
    await allow('Calm').waitFor();
    const read = page.waitForResponse(/admin\.team\.memberPolicy\.get\?/);
    await whom.fill('four@five.test');
    await read;
    await settle(page);
    const held = Promise.withResolvers<void>();
    await page.route('**/trpc/admin.team.memberPolicy.set*', async (route) => {
      await held.promise;
      await route.continue();
    });
    await allow('Calm').click();
    await allow('Tough').click();
    await whom.fill('');
    // The team's boxes again. The second change waits for the first one.
    await expect.poll(() => allow('Tough').isChecked()).toBe(true);
    held.resolve();
    const { admin } = await appAsMember(api, 'five', 'owner');
    const who = { member_id: memberId('five', 'four') };
    const blocked = async () => (await admin.team.memberPolicy.get.query(who)).blocked.toSorted();
    await expect.poll(blocked).toEqual(['per_calm', 'per_tough']);
    expect((await admin.team.policy.get.query({})).blocked).toEqual([]);
  });

  it('releases some entries instead of all, beside the own ones', async () => {
    const { page, complaints } = await openAdminPage(browser, api, {
      path: '/catalog',
      team: 'shelf',
    });
    const { own, releaseSome, releaseOne, saved } = en.catalog;
    await page.getByText(own, { exact: true }).waitFor();
    await page.getByLabel(releaseSome).click();
    await page.getByText(saved).waitFor();
    await page.getByLabel(releaseOne('Tough')).click();
    const { admin } = await appAsMember(api, 'shelf', 'owner');
    const released = async () => (await admin.team.release.get.query({})).released;
    await expect.poll(released).not.toContain('per_tough');
    expect(await released()).toContain('per_calm');
    expect(complaints).toEqual([]);
  });

  it('shows a change although an older answer comes after it', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/catalog', team: 'shelf' });
    const allow = (name: string) => page.getByLabel(en.catalog.allow(name));
    await allow('Calm').waitFor();
    await settle(page);
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    // What follows the first change is answered before the second one, and arrives after it.
    await page.route('**/trpc/admin.team.catalog?*', async (route) => {
      const response = await route.fetch();
      await first.promise;
      await route.fulfill({ response });
    });
    const asked = page.waitForRequest(/admin\.team\.catalog\?/);
    await allow('Calm').click();
    await asked;
    await page.route('**/trpc/admin.team.policy.get?*', async (route) => {
      await second.promise;
      await route.continue();
    });
    const answered = page.waitForResponse(/admin\.team\.catalog\?/);
    await allow('Tough').click();
    await expect.poll(() => allow('Tough').isChecked()).toBe(false);
    first.resolve();
    await (await answered).finished();
    await page.waitForTimeout(300);
    expect(await allow('Tough').isChecked()).toBe(false);
    second.resolve();
    const { admin } = await appAsMember(api, 'shelf', 'owner');
    const blocked = async () => (await admin.team.policy.get.query({})).blocked.toSorted();
    await expect.poll(blocked).toEqual(['per_calm', 'per_tough']);
  });

  it('walks through a chart by the keyboard, with a table beside it', async () => {
    const { page, complaints } = await openAdminPage(browser, api, {
      path: '/usage?days=7',
      team: 'quiet',
    });
    const chart = page.getByRole('group', { name: 'Requests by day and outcome' });
    await chart.getByRole('img').last().focus();
    await page.keyboard.press('ArrowLeft');
    expect(await page.evaluate('document.activeElement.ariaLabel')).toContain('Successful 10,');
    await page.getByRole('cell', { name: '43' }).waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Download CSV' }).click();
    expect((await download).suggestedFilename()).toBe('usage.csv');
    expect(complaints).toEqual([]);
  });
});
