// The admin page in a real browser when something is in the way: the network, another admin, a
// missing right, a refusal.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { en } from '../../src/admin-ui/i18n/en.ts';
import {
  comeBack,
  holdBack,
  loseAnswer,
  openAdminPage,
  refuse,
  settle,
} from '../support/admin-page.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember } from '../support/app.ts';
import { findFaults, launchBrowser, photograph, SKIPPED } from '../support/browser.ts';
import { makeMember, makeSeed, makeTeam } from '../support/seed.ts';

const OFFLINE = 'You are offline.';
const WAIT = { timeout: 30_000 };

describe.skipIf(SKIPPED !== '')(`the admin page: states${SKIPPED}`, () => {
  let api: TestApi;
  let browser: Browser;

  beforeAll(async () => {
    const endpoint = {
      id: 'whe_1',
      url: 'https://hooks.example.com/in',
      events: ['member.joined' as const],
    };
    const teamWith = (name: string, webhook_endpoints: (typeof endpoint)[]) =>
      makeTeam(name, {
        members: [makeMember(name, 'second', { role: 'admin' })],
        webhook_endpoints,
      });
    const second = { ...endpoint, id: 'whe_2', description: 'Of the second' };
    const teams = [
      ...['offline', 'rights', 'both', 'undone', 'lost'].map((name) => teamWith(name, [endpoint])),
      teamWith('quick', [endpoint, second]),
    ];
    api = await startTestApi({ seed: makeSeed(teams) });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  const open = async (team: string, path: string, member = 'owner') => {
    const { page } = await openAdminPage(browser, api, { path, team, member });
    await settle(page);
    return page;
  };

  it('says that the reader is offline, loses nothing and goes on by itself', async () => {
    const page = await open('offline', '/keys/new');
    await page.getByLabel('Name').fill('Kept text');
    await page.getByLabel(/^Read only/).check();
    await page.context().setOffline(true);
    await page.getByText(OFFLINE).waitFor();
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByText('The service is not responding.').waitFor();
    await photograph(page, 'offline');
    expect(await findFaults(page)).toEqual([]);
    expect(await page.getByLabel('Name').inputValue()).toBe('Kept text');
    await page.context().setOffline(false);
    await page.getByText(OFFLINE).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByRole('dialog', { name: 'Your new key' }).waitFor();
  });

  it('makes no change later that was refused while the reader was offline', async () => {
    const page = await open('offline', '/webhooks/whe_1');
    await page.getByRole('button', { name: 'Delete the endpoint' }).click();
    await page.context().setOffline(true);
    const dialog = page.getByRole('dialog', { name: 'Delete this endpoint?' });
    // The dialog covers the page, so it says so itself.
    await dialog.getByText(OFFLINE).waitFor();
    await dialog.getByRole('button', { name: 'Delete the endpoint' }).click();
    await dialog.getByText('The service is not responding.').waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    const read = page.waitForResponse((response) => response.url().includes('listEndpoints'));
    await page.context().setOffline(false);
    await read;
    const { rowCount } = await api.db.pool.query(
      `select from webhook_endpoint where team_id = 'team_offline'`,
    );
    expect(rowCount).toBe(1);
  });

  it('opens other pages offline, and fills them when the reader is online', async () => {
    const loaded: string[] = [];
    const { page } = await openAdminPage(browser, api, { path: '/webhooks', team: 'offline' });
    page.on('requestfinished', (request) => loaded.push(request.url()));
    await expect.poll(() => loaded.some((url) => /\/audit-[\w-]+\.js$/.test(url)), WAIT).toBe(true);
    await page.context().setOffline(true);
    await page.getByRole('link', { name: 'Members' }).click();
    await page.getByRole('heading', { name: 'Members' }).waitFor();
    await page.getByText(OFFLINE).waitFor();
    await page.context().setOffline(false);
    await page.getByText('owner@offline.test').waitFor();
  });

  it('shows a page that could not be loaded as soon as it can be', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/webhooks', team: 'offline' });
    const script = /\/members-[\w-]+\.js$/;
    await page.context().route(script, (route) => route.abort());
    await page.getByRole('link', { name: 'Members' }).click();
    await page.getByRole('heading', { name: 'This page could not be displayed' }).waitFor();
    expect(await findFaults(page)).toEqual([]);
    await page.context().setOffline(true);
    await page.getByText(OFFLINE).waitFor();
    await page.context().unroute(script);
    await page.context().setOffline(false);
    await page.getByText('owner@offline.test').waitFor();
  });

  it('says which right is missing, and notices when it is granted or taken', async () => {
    const page = await open('rights', '/keys', 'admin');
    await page.getByText('You need the right “Manage interfaces”.').first().waitFor();
    const owner = await appAsMember(api, 'rights', 'owner');
    const right = { member_id: 'mem_rights_admin', right: 'schnittstellen' } as const;
    await owner.admin.team.grantRight.mutate(right);
    await comeBack(page);
    await page.getByRole('link', { name: 'Create a key' }).click();
    await page.getByLabel('Name').fill('Too late');
    await page.getByLabel(/^Read only/).check();
    await owner.admin.team.withdrawRight.mutate(right);
    await page.getByRole('button', { name: 'Create a key' }).click();
    await page.getByText('The owner of the team can change them under Members.').waitFor();
    await page.getByText('You need the right “Manage interfaces”.').first().waitFor();
    expect(await findFaults(page)).toEqual([]);
    await owner.v1.members.update.mutate({ member_id: right.member_id, role: 'member' });
    await page.getByRole('link', { name: 'Audit log' }).click();
    await page.getByRole('heading', { name: 'This page is for admins' }).waitFor();
    await page.getByText('The owner or an admin of the team can make you an admin.').waitFor();
  });

  it('never covers what another admin has changed meanwhile', async () => {
    const page = await open('both', '/webhooks/whe_1');
    const other = await appAsMember(api, 'both', 'admin');
    const description = page.getByLabel('Description');
    const read = async () => (await other.v1.webhooks.listEndpoints.query({})).data[0];
    const change = (fields: { description?: string; events?: string[] }) =>
      other.v1.webhooks.updateEndpoint.mutate({ endpoint_id: 'whe_1', ...fields });
    await description.fill('Mine');
    await change({ description: 'Theirs', events: ['member.joined', 'member.removed'] });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Nothing was saved.').waitFor();
    const notice = page.getByRole('alert').filter({ hasText: 'The current values are:' });
    await notice.getByText('Theirs').waitFor();
    await notice.getByText('Member left the team').waitFor();
    await photograph(page, 'changed-meanwhile');
    expect(await findFaults(page)).toEqual([]);
    expect(await read()).toMatchObject({ description: 'Theirs' });
    expect(await description.inputValue()).toBe('Mine');
    await notice.getByRole('button', { name: 'Keep my entries' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    expect(await read()).toMatchObject({ description: 'Mine', events: ['member.joined'] });
    // Who comes back to the page is told before saving.
    await change({ description: 'Theirs again' });
    await comeBack(page);
    await notice.getByRole('button', { name: 'Use the current values' }).click();
    expect(await description.inputValue()).toBe('Theirs again');
    await notice.waitFor({ state: 'detached' });
  });

  /** Opens the dialog in which a member of the team `lost` is changed. */
  const changeOf = async (name: string) => {
    const page = await open('lost', '/members');
    await page.getByRole('button', { name: `Actions: ${name}@lost.test` }).click();
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    const dialog = page.getByRole('dialog');
    const save = () => dialog.getByRole('button', { name: 'Save' }).click();
    return { page, dialog, save };
  };
  const memberNow = async (name: string) => {
    const owner = await appAsMember(api, 'lost', 'owner');
    const { data } = await owner.admin.members.search.query({ text: `${name}@lost.test` });
    return { role: data[0]?.role, rights: data[0]?.rights };
  };

  it('saves the role that is chosen although the answer of an earlier try was lost', async () => {
    const { page, dialog, save } = await changeOf('member');
    await loseAnswer(page, 'v1.members.update');
    await dialog.getByLabel(/^Admin/).check();
    await save();
    await dialog.getByText(en.problems.network).waitFor();
    expect(await memberNow('member')).toEqual({ role: 'admin', rights: [] });
    await dialog.getByLabel(/^Member/).check();
    await save();
    await page.getByText(en.members.changed).waitFor();
    expect(await memberNow('member')).toEqual({ role: 'member', rights: [] });
  });

  it('does the same for the right', async () => {
    const { page, dialog, save } = await changeOf('second');
    await loseAnswer(page, 'admin.team.grantRight');
    await dialog.getByLabel(en.members.right).check();
    await save();
    await dialog.getByText(en.problems.network).waitFor();
    expect(await memberNow('second')).toEqual({ role: 'admin', rights: ['schnittstellen'] });
    await dialog.getByLabel(en.members.right).uncheck();
    await save();
    await page.getByText(en.members.changed).waitFor();
    expect(await memberNow('second')).toEqual({ role: 'admin', rights: [] });
  });

  it('takes back no role that another admin has given meanwhile, unless asked twice', async () => {
    const { page, dialog, save } = await changeOf('member');
    const { v1 } = await appAsMember(api, 'lost', 'second');
    await v1.members.update.mutate({ member_id: 'mem_lost_member', role: 'admin' });
    await save();
    await dialog.getByText(en.problems.changed_meanwhile).waitFor();
    await dialog.getByText('Role: Admin', { exact: true }).waitFor();
    expect(await dialog.getByText(en.members.roleSaved).count()).toBe(0);
    expect(await findFaults(page)).toEqual([]);
    expect(await memberNow('member')).toMatchObject({ role: 'admin' });
    await save();
    await page.getByText(en.members.changed).waitFor();
    expect(await memberNow('member')).toMatchObject({ role: 'member' });
  });

  it('names the address that an invitation was sent to, not one that is typed', async () => {
    const page = await open('lost', '/members');
    const release = await holdBack(page, 'v1.members.create');
    await page.getByRole('button', { name: 'Invite a member' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Email address').fill('kim@lost.test');
    await dialog.getByRole('button', { name: 'Send the invitation' }).click();
    await dialog.getByLabel('Email address').fill('lee@lost.test');
    release();
    await page.getByText(en.members.invited('kim@lost.test')).waitFor();
    expect(await page.getByText(en.members.invited('lee@lost.test')).count()).toBe(0);
  });

  it('calls no change refused whose answer was lost', async () => {
    const page = await open('lost', '/webhooks/whe_1');
    await loseAnswer(page, 'updateEndpoint');
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Pause' }).click();
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await dialog.getByText(en.problems.network).waitFor();
    await page.getByText('Paused', { exact: true }).waitFor();
    expect(await page.getByText(en.common.undone).count()).toBe(0);
  });

  it('calls nobody else’s what the reader saved although the answer was lost', async () => {
    const page = await open('lost', '/webhooks/whe_1');
    await loseAnswer(page, 'updateEndpoint');
    const save = page.getByRole('button', { name: 'Save' });
    const read = page.waitForResponse((one) => one.url().includes('listEndpoints'));
    await page.getByLabel('Description').fill('Mine');
    await save.click();
    await page.getByText(en.problems.network).waitFor();
    await (await read).finished();
    const notice = page.getByRole('alert').filter({ hasText: 'The current values are:' });
    await page.getByRole('heading', { name: 'Mine' }).waitFor();
    expect(await notice.count()).toBe(0);
    await save.click();
    await page.getByText('Saved', { exact: true }).waitFor();
    // Nor is it, if more was entered before the next try.
    await loseAnswer(page, 'updateEndpoint');
    await page.getByLabel('Description').fill('Mine, too');
    await save.click();
    await page.getByRole('heading', { name: 'Mine, too' }).waitFor();
    await page.getByLabel('Description').fill('Mine at last');
    await save.click();
    await page.getByRole('heading', { name: 'Mine at last' }).waitFor();
    expect(await notice.count()).toBe(0);
  });

  it('keeps what was typed for one endpoint from the form of another', async () => {
    const page = await open('quick', '/webhooks/whe_1');
    const description = page.getByLabel('Description');
    await description.fill('Of the first');
    await page.locator('.crumbs').getByRole('link', { name: 'Webhooks', exact: true }).click();
    await page.getByRole('link', { name: /Of the second/ }).click();
    await expect.poll(() => description.inputValue(), WAIT).toBe('Of the second');
    await description.fill('Not saved');
    await page.evaluate('history.go(-2)');
    await page.waitForURL('**/webhooks/whe_1');
    await expect.poll(() => description.inputValue(), WAIT).toBe('');
  });

  it('keeps both of two changes of the catalog that come together', async () => {
    const page = await open('quick', '/catalog');
    const release = await holdBack(page, 'policy.set');
    for (const label of ['Allow Tough', 'Allow Calm']) {
      const box = page.getByLabel(label);
      await box.click();
      await expect.poll(() => box.isChecked(), WAIT).toBe(false);
    }
    release();
    const owner = await appAsMember(api, 'quick', 'owner');
    const blocked = async () => (await owner.admin.team.policy.get.query({})).blocked.toSorted();
    await expect.poll(blocked, WAIT).toEqual(['per_calm', 'per_tough']);
  });

  it('keeps the failure of a change in view although the next one was saved', async () => {
    const page = await open('both', '/catalog');
    let release = (): void => undefined;
    const released = new Promise<void>((done) => (release = done));
    await page.route(
      '**/trpc/admin.team.policy.set',
      async (route) => {
        await released;
        await route.fulfill({ status: 503, body: '<html>' });
      },
      { times: 1 },
    );
    for (const label of ['Allow Tough', 'Allow Calm']) await page.getByLabel(label).click();
    release();
    await page.getByText(en.catalog.saved).waitFor();
    await page.getByRole('alert').filter({ hasText: en.problems.network }).waitFor(WAIT);
    await expect.poll(() => page.getByLabel('Allow Tough').isChecked()).toBe(true);
    // The next change is another matter.
    await page.getByLabel('Allow Calm').click();
    await page.getByRole('alert').waitFor({ state: 'detached' });
    await expect.poll(() => page.getByLabel('Allow Calm').isChecked()).toBe(true);
  });

  it('keeps what another admin changes while it sets a policy or the release', async () => {
    const other = (await appAsMember(api, 'both', 'admin')).admin.team;
    const page = await open('both', '/catalog');
    const set = await holdBack(page, 'policy.set');
    const asked = page.waitForRequest((one) => one.url().includes('policy.set'));
    await page.getByLabel('Allow Tough').click();
    await asked;
    await other.policy.set.mutate({ blocked: ['per_calm'] });
    set();
    const blocked = async () => (await other.policy.get.query({})).blocked.toSorted();
    await expect.poll(blocked, WAIT).toEqual(['per_calm', 'per_tough']);
  });

  it('turns a privacy switch as it was asked for, whatever another admin does', async () => {
    const page = await open('both', '/privacy');
    const other = await appAsMember(api, 'both', 'admin');
    await page.getByRole('button', { name: 'Data of individual members: Switch off' }).click();
    await other.admin.team.privacy.set.mutate({ member_detail_enabled: false });
    await comeBack(page);
    const dialog = page.getByRole('dialog', { name: 'Switch off “Data of individual members”?' });
    await dialog.getByText('Someone else has already set the switch this way.').waitFor();
    await dialog.getByRole('button', { name: 'Switch it off' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await other.admin.team.privacy.get.query({})).toMatchObject({
      member_detail_enabled: false,
    });
  });

  it('shows a change at once, and takes it back visibly when it is refused', async () => {
    const page = await open('undone', '/webhooks/whe_1');
    const release = await holdBack(page, 'updateEndpoint');
    const dialog = page.getByRole('dialog', { name: 'Pause this endpoint?' });
    await page.getByRole('button', { name: 'Pause' }).click();
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused', { exact: true }).waitFor();
    await setStatus('suspended');
    release();
    await page.getByText('The change was rejected and has been undone.').waitFor();
    await page
      .getByText(/Request ID for support: [\w-]{36}/)
      .first()
      .waitFor();
    await page.getByText('Active', { exact: true }).waitFor();
    await setStatus('active');
    await dialog.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('The endpoint is paused.').waitFor();
    // While the team was suspended, the endpoints could not be read anew. Now they are.
    await expect.poll(() => page.getByRole('alert').count(), WAIT).toBe(0);
  });

  it('does the same for the catalog', async () => {
    const page = await open('undone', '/catalog');
    const release = await holdBack(page, 'policy.set');
    const box = page.getByLabel('Allow Tough');
    expect(await box.isChecked()).toBe(true);
    await box.click();
    await expect.poll(() => box.isChecked()).toBe(false);
    await setStatus('suspended');
    release();
    await page.getByText('The change was rejected and has been undone.').waitFor();
    await expect.poll(() => box.isChecked()).toBe(true);
    await setStatus('active');
    await box.click();
    await page.getByText('The policy was saved.').waitFor();
    await expect.poll(() => box.isChecked()).toBe(false);
  });

  it('releases what was added meanwhile, and offers no choice before all is known', async () => {
    const page = await open('quick', '/privacy');
    const owner = await appAsMember(api, 'quick', 'owner');
    const released = async () => (await owner.admin.team.release.get.query({})).released;
    await owner.admin.team.release.set.mutate({ released: 'all' });
    const arrive = await holdBack(page, 'team.catalog');
    await page.getByRole('link', { name: en.nav.catalog }).click();
    await page.locator('.loading').waitFor();
    expect(await page.getByRole('radio').count()).toBe(0);
    arrive();
    const some = page.getByLabel(en.catalog.releaseSome);
    await some.waitFor();
    await refuse(page, 'team.catalog');
    await some.click();
    await page.getByText(en.common.undone).waitFor();
    expect(await released()).toBe('all');
    await page.unrouteAll();
    await api.db.pool.query(
      `insert into catalog_entry (id, kind) values ('ind_later', 'industry')`,
    );
    await some.click();
    await page.getByText(en.catalog.saved).waitFor();
    expect(await released()).toContain('ind_later');
  });

  it('says of no member that all is allowed before it knows it', async () => {
    const page = await open('quick', '/catalog');
    await refuse(page, 'memberPolicy.get');
    await page.getByLabel(en.catalog.forWhom).fill('second@quick.test');
    await page.getByRole('alert').waitFor();
    expect(await page.getByRole('checkbox').count()).toBe(0);
  });

  const setStatus = (status: string) =>
    api.db.pool.query(`update team set status = $1 where id = 'team_undone'`, [status]);
});
