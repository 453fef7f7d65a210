// Whatever the admin page changes can be refused: the network fails, the input is not valid, the
// reader has lost their role, the service has an error. Each time the reader sees it where they
// look, in words that help, and loses nothing. And each status of the session.
import type { Browser, Locator, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { en } from '../../src/admin-ui/i18n/en.ts';
import { PROBLEMS } from '../../src/core/problem.ts';
import { appRouter } from '../../src/routers/routers.ts';
import { openAdminPage, settle } from '../support/admin-page.ts';
import { findMutations } from '../support/admin-ui.ts';
import type { TestApi } from '../support/api.ts';
import { tokenOf } from '../support/app.ts';
import { launchBrowser, openPage, SKIPPED } from '../support/browser.ts';
import { startCrm, type FakeCrm } from '../support/crm/fake.ts';
import { CATALOG, userId } from '../support/seed.ts';
import { cardOf, CHANGES, placeOn, sendToFake, startService, TEAM } from './changes.ts';

/** So low that an alert above a long list, or below a long form, is out of sight by itself. */
const LOW = { width: 1280, height: 500 };
const WAIT = { timeout: 30_000 };

let api: TestApi;
let browser: Browser;
let crm: FakeCrm;
/** The team of the change that is tried. */
let team: string = TEAM;

/** Does what the service would refuse. */
async function unrecorded(work: () => Promise<void>): Promise<void> {
  await entriesAre('disabled');
  await work();
  await entriesAre('enabled');
}

/** Whether an entry of the audit log can be refused, and with it a change. */
const entriesAre = (state: 'enabled' | 'disabled'): Promise<unknown> =>
  api.db.pool.query(
    // Changes that write no entry are refused at their table.
    ['audit_log', 'alert_subscription']
      .map((table) => `alter table ${table} ${state.slice(0, -1)} trigger refuse_entry`)
      .join(';'),
  );

/** The changes whose response shows a secret. */
const SECRET = new Set([
  'admin.apiKeys.create',
  'admin.apiKeys.rotate',
  'v1.webhooks.createEndpoint',
  'v1.webhooks.rotateSecret',
]);

/** They are no procedures, so they have tests of their own, below. */
const NO_PROCEDURES = [
  'lib/session.ts DELETE URL_OF_SESSION',
  'lib/session.ts POST URL_OF_SESSION',
  'lib/session.ts POST path',
];

/**
 * The kinds of refusal, and what becomes of the request. The service itself refuses: the body is
 * one that it does not know, the reader one that may not, and no audit entry of the team can be
 * written, so that what arrives as it was sent is an error of the service.
 */
const REFUSALS: Readonly<
  Record<'network' | 'validation_error' | 'forbidden' | 'internal', (route: Route) => Promise<void>>
> = {
  network: (route) => route.abort('connectionreset'),
  validation_error: (route) => route.continue({ postData: '{"unknown":1}' }),
  forbidden: async (route) => {
    const identity = { kind: 'user', userId: userId(team, 'member'), teamId: `team_${team}` };
    const token = await tokenOf(identity as Parameters<typeof tokenOf>[0]);
    const headers = { ...route.request().headers(), authorization: `Bearer ${token}` };
    await route.continue({ headers });
  },
  internal: (route) =>
    route.request().url().endsWith('crm.connect') ? sendToFake(route, crm) : route.continue(),
};
type Kind = keyof typeof REFUSALS;
const KINDS = Object.keys(REFUSALS) as Kind[];

/** Whether a person sees it: it is on the screen, and nothing covers it. */
const IS_SEEN = (element: Element): boolean => {
  const { x, y, width, height } = element.getBoundingClientRect();
  const top = document.elementFromPoint(x + width / 2, y + height / 2);
  return top !== null && element.contains(top);
};

/** The alert of a change. Those of readings offer another try. */
const alertOf = (page: Page, text: string): Locator =>
  page
    .getByRole('alert')
    .filter({ hasText: text, hasNot: page.getByRole('button', { name: 'Try again' }) });

const idOf = async (table: string, condition: string): Promise<string> => {
  const { rows } = await api.db.pool.query<{ id: string }>(
    `select id from ${table} where team_id = 'team_refused' and ${condition}`,
  );
  return rows[0]?.id ?? '';
};

/** What a change sends: all that was chosen, and nothing of what was not. */
async function inputOf(procedure: string, name: string): Promise<unknown> {
  const connection_id = await idOf('crm_connection', `status = 'active'`);
  const right = 'schnittstellen';
  const ofMember = { member_id: 'mem_refused_member' };
  const ofLast = { member_id: 'mem_refused_last' };
  const ofEndpoint = { endpoint_id: 'whe_1' };
  if (name === 'pages/endpoint-status.ts v1.webhooks.updateEndpoint')
    return { ...ofEndpoint, status: 'disabled' };
  if (name === 'pages/end-key.tsx admin.apiKeys.rotate')
    return { key_id: await idOf('api_key', `name = 'users:write'`), grace_s: 0 };
  if (name === 'pages/sandbox.tsx v1.sandbox.simulate')
    return { play: 'webhooks_failing', for_s: 0 };
  const inputs: Readonly<Record<string, unknown>> = {
    'admin.alerts.set': { kinds: ['keys'] },
    'admin.sandbox.create': { scenario: 'large' },
    'admin.sandbox.remove': {},
    'v1.sandbox.reset': { scenario: 'empty' },
    'v1.sandbox.simulate': { play: 'training_completed', score: 88 },
    'v1.sandbox.update': { speed: 60 },
    'admin.team.policy.set': { blocked: ['per_tough'], was: [] },
    'admin.team.memberPolicy.set': { ...ofMember, blocked: ['per_tough'], was: [] },
    'admin.team.release.set': { released: CATALOG.map(({ id }) => id).toSorted(), was: 'all' },
    'v1.members.update': { ...ofMember, role: 'admin' },
    'admin.team.grantRight': { member_id: 'mem_refused_admin', right },
    'admin.team.withdrawRight': { member_id: 'mem_refused_holder', right },
    'admin.crm.connect': {
      provider: 'pipedrive',
      credentials: crm.token,
      objection_marker: 'Objection:',
    },
    'admin.crm.replaceCredentials': {
      connection_id,
      provider: 'pipedrive',
      credentials: crm.token,
    },
    'admin.crm.disconnect': { connection_id },
    'admin.crm.pause': { connection_id },
    'admin.crm.resume': { connection_id: await idOf('crm_connection', `status = 'paused'`) },
    'admin.crm.syncNow': { connection_id },
    'v1.webhooks.retryDelivery': { delivery_id: 'whd_1' },
    'v1.members.create': { email: 'kim@refused.test', role: 'admin', lang: 'en' },
    'admin.apiKeys.confirmStored': {
      key_id: await idOf('api_key', `name like 'catalog:read%' and revoked_at is null`),
    },
    'admin.webhooks.confirmStored': {
      endpoint_id: 'whe_2',
      secret: expect.stringMatching(/^whsec_\w{44}$/) as unknown,
    },
    'admin.apiKeys.revoke': { key_id: await idOf('api_key', `name = 'users:write'`) },
    'admin.invitations.resend': ofLast,
    'admin.invitations.withdraw': ofLast,
    'v1.members.remove': ofMember,
    'admin.apiKeys.create': {
      name: 'Payroll import',
      scopes: ['trainings:read'],
      allowed_ips: ['203.0.113.7', '203.0.113.9'],
      expires_at: null,
    },
    'v1.webhooks.createEndpoint': {
      url: 'http://127.0.0.1:9/hook',
      events: ['evaluation.completed'],
      description: 'Mine',
    },
    'admin.team.privacy.set': { leaderboard_enabled: false },
    'admin.deliveries.startResend': {
      ...ofEndpoint,
      since: '2026-01-02T08:30:00.000Z',
      until: '2099-01-02T08:30:00.000Z',
      event_type: 'member.joined',
    },
    'admin.deliveries.cancelResend': { resend_id: await idOf('webhook_resend', 'true') },
    'admin.apiKeys.rotate': {
      key_id: await idOf('api_key', `name = 'users:read'`),
      grace_s: 30 * 86_400,
    },
    'v1.webhooks.rotateSecret': { ...ofEndpoint, grace_s: 7 * 86_400 },
    'v1.webhooks.updateEndpoint': { ...ofEndpoint, description: 'Mine' },
    'v1.webhooks.testEndpoint': { ...ofEndpoint, event_type: 'ping' },
    'v1.webhooks.removeEndpoint': ofEndpoint,
  };
  return inputs[procedure];
}

describe.skipIf(SKIPPED !== '')(`the admin page: refusals${SKIPPED}`, () => {
  beforeAll(async () => {
    crm = await startCrm('pipedrive');
    api = await startService(crm);
    await api.db.pool.query(
      `create function refuse_entry() returns trigger language plpgsql as
         $$ begin raise exception 'no entry can be written'; end $$;
       create trigger refuse_entry before insert on alert_subscription
         for each row execute function refuse_entry();
       create trigger refuse_entry before insert on audit_log
         for each row
         when (new.team_id in ('team_refused', 'team_rehearsed', 'team_rehearsed:sandbox'))
         execute function refuse_entry()`,
    );
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
  });

  it('knows every change that the page makes, and every one that an admin can make', () => {
    const changes = findMutations();
    expect([...Object.keys(CHANGES), ...NO_PROCEDURES].toSorted()).toEqual(changes);
    const procedures = Object.entries(appRouter._def.procedures as Record<string, object>);
    const mutations = procedures
      .filter(([, procedure]) => '_def' in procedure && isMutation(procedure))
      .map(([path]) => path);
    const called = new Set(changes.map((change) => change.split(' ')[1]));
    expect(mutations.filter((path) => path.startsWith('admin.') && !called.has(path))).toEqual([]);
    expect(mutations.filter((path) => called.has(path))).toHaveLength(
      new Set(Object.keys(CHANGES).map((change) => change.split(' ')[1])).size,
    );
  });

  it.each(Object.entries(CHANGES))('is seen: %s', async (name, change) => {
    ({ team = TEAM } = change);
    const { page } = await openAdminPage(browser, api, {
      path: change.path,
      team,
      viewport: LOW,
    });
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    await settle(page);
    const place = placeOn(page, { crm, prepare: unrecorded });
    const procedure = name.split(' ')[1] ?? '';
    let kind: Kind = 'network';
    const sent: unknown[] = [];
    await page.route(
      (url) => url.pathname === `/trpc/${procedure}`,
      (route) => {
        sent.push(route.request().postDataJSON());
        return REFUSALS[kind](route);
      },
    );
    await change.open?.(place);
    await settle(page);
    let looks = 0;
    page.on('request', (one) => {
      if (one.method() === 'GET' && isCall(one.url())) looks += 1;
    });
    for (kind of KINDS) {
      await change.send(place);
      const alert = alertOf(page, en.problems[kind]);
      await alert.waitFor(WAIT);
      await expect.poll(() => alert.evaluate(IS_SEEN), WAIT).toBe(true);
      const requestId = /Request ID for support: [\w-]{36}/.test(await alert.innerText());
      expect([kind, requestId]).toEqual([kind, kind === 'forbidden' || kind === 'internal']);
      // What is said at a field is one, too.
      expect(await page.locator('.notice[role=alert]').count()).toBe(1);
    }
    // Nobody knows whether it was made, so the page looks.
    await expect.poll(() => change.readsNothing === true || looks > 0, WAIT).toBe(true);
    const input = await inputOf(procedure, name);
    // What shows a secret is sent three times if there is no answer.
    const times = (one: Kind): number => (one === 'network' && SECRET.has(procedure) ? 3 : 1);
    expect(sent).toEqual(KINDS.flatMap((one) => Array.from({ length: times(one) }, () => input)));
    expect(errors).toEqual([]);
    await page.context().close();
  });

  it('says what came of the last change, not of one before', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/crm', team: TEAM });
    const answers: Readonly<Record<string, Kind>> = { pause: 'network', syncNow: 'forbidden' };
    for (const [name, kind] of Object.entries(answers))
      await page.route(`**/trpc/admin.crm.${name}`, (route) => REFUSALS[kind](route));
    for (const name of ['Pause', 'Sync now', 'Pause'] as const) {
      await cardOf(page, 'Working').getByRole('button', { name, exact: true }).click();
      await alertOf(page, en.problems[name === 'Pause' ? 'network' : 'forbidden']).waitFor();
      expect(await page.getByRole('alert').count()).toBe(1);
    }
  });

  it('says that the role was saved when the right was not, and shows it', async () => {
    const { page } = await openAdminPage(browser, api, { path: '/members', team: 'other' });
    const roles: unknown[] = [];
    page.on('request', (request) => {
      if (request.url().endsWith('/v1.members.update')) roles.push(request.postDataJSON());
    });
    await page.route('**/trpc/admin.team.grantRight', REFUSALS.validation_error);
    await page.getByRole('button', { name: 'Actions: member@other.test' }).click();
    await page.getByRole('button', { name: 'Change' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel(/^Admin/).check();
    await dialog.getByLabel(en.members.right).check();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await alertOf(page, en.problems.validation_error).waitFor();
    await dialog.getByText(en.members.roleSaved).waitFor();
    const row = page.locator('tr').filter({ hasText: 'member@other.test' });
    expect(await row.getByText('Admin', { exact: true }).count()).toBe(1);
    await page.unroute('**/trpc/admin.team.grantRight');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await page.getByText(en.members.changed).waitFor();
    expect(await row.getByText(en.members.right).count()).toBe(1);
    expect(roles).toEqual([{ member_id: 'mem_other_member', role: 'admin' }]);
  });

  describe('the session', () => {
    const onSession = (url: URL): boolean => url.pathname === '/trpc-session';

    it.each([
      ['the network', (route: Route) => route.abort('connectionreset')],
      ['a server on the way', (route: Route) => route.fulfill({ status: 502, body: '<html>' })],
    ])('says when %s kept the reader from signing out, who stays signed in', async (_, refuse) => {
      const { page } = await openAdminPage(browser, api, { path: '/keys', team: 'other' });
      const errors: string[] = [];
      page.on('pageerror', (error) => errors.push(error.message));
      const isSignOut = (route: Route): boolean => route.request().method() === 'DELETE';
      await page.route(onSession, (route) => (isSignOut(route) ? refuse(route) : route.continue()));
      await page.getByRole('button', { name: 'Sign out' }).click();
      const alert = alertOf(page, en.session.signOutFailed);
      await alert.waitFor();
      // What is read meanwhile may move it.
      await expect.poll(() => alert.evaluate(IS_SEEN), WAIT).toBe(true);
      expect(await page.getByRole('heading', { name: 'API keys' }).count()).toBe(1);
      await page.unroute(onSession);
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      expect(await page.context().cookies()).toEqual([]);
      expect(errors).toEqual([]);
    });

    it.each([
      ['its token', '/trpc-session/development/usr_refused_owner'],
      ['the session', '/trpc-session'],
    ])('says when the development login does not get %s', async (_, address) => {
      const { page } = await openPage(browser, api.url, { locale: 'en-GB' });
      await page.goto(`${api.url}/admin/keys`);
      await page.route(
        (url) => url.pathname === address,
        (route) =>
          route.request().method() === 'POST'
            ? route.fulfill({ status: 503, body: '<html>' })
            : route.continue(),
      );
      await page.getByRole('button', { name: 'Continue as owner' }).click();
      const alert = alertOf(page, en.problems.network);
      await alert.waitFor();
      expect(await alert.evaluate(IS_SEEN)).toBe(true);
    });

    /** Every status that the service documents, and those of servers on the way. */
    const STATUSES = [
      ...new Set([...Object.values(PROBLEMS).map(({ status }) => status), 302, 502, 504]),
    ].toSorted((a, b) => a - b);
    const titleAt = (status: number): string => {
      if (status === 401) return en.session.welcome;
      return status === 403 ? en.session.closed : en.session.unreachable;
    };

    it('says what each status means when the page is opened', async () => {
      const { page } = await openPage(browser, api.url, { locale: 'en-GB' });
      const seen: Record<number, string> = {};
      for (const status of STATUSES) {
        await page.route(onSession, (route) =>
          route.fulfill({ status, contentType: 'text/html', body: '<html>' }),
        );
        await page.goto(`${api.url}/admin/keys`);
        seen[status] = await page.locator('h1').innerText();
        await page.unroute(onSession);
      }
      expect(seen).toEqual(Object.fromEntries(STATUSES.map((one) => [one, titleAt(one)])));
      await page.goto(`${api.url}/admin/keys`);
      await page.route(onSession, (route) =>
        route.fulfill({ status: 200, contentType: 'text/html', body: '<html>' }),
      );
      await page.reload();
      await page.getByRole('heading', { name: en.session.unreachable }).waitFor();
      await page.unroute(onSession);
      await page.getByRole('button', { name: 'Try again' }).click();
      await page.getByRole('heading', { name: en.session.welcome }).waitFor();
    });

    it('keeps what was entered, whatever the service answers meanwhile', async () => {
      const { page } = await openAdminPage(browser, api, { path: '/keys/new', team: 'other' });
      await page.getByLabel('Name').fill('Kept text');
      for (const status of STATUSES.filter((one) => one !== 403)) {
        const answered = page.waitForResponse((response) => onSession(new URL(response.url())));
        await page.route(onSession, (route) => route.fulfill({ status, body: '<html>' }));
        await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
        await (await answered).finished();
        if (status === 401) await page.getByRole('heading', { name: en.session.ended }).waitFor();
        await page.unroute(onSession);
        expect([status, await page.getByLabel('Name').inputValue()]).toEqual([status, 'Kept text']);
      }
      await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
      await page.getByRole('heading', { name: en.session.ended }).waitFor({ state: 'detached' });
      // A team that is closed has nothing to go on with.
      await page.route(onSession, (route) => route.fulfill({ status: 403, body: '' }));
      await page.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`);
      await page.getByRole('heading', { name: en.session.closed }).waitFor();
    });
  });
});

const isCall = (url: string): boolean => new URL(url).pathname.startsWith('/trpc/');

function isMutation(procedure: object): boolean {
  const { type } = (procedure as { _def: { type: string } })._def;
  return type === 'mutation';
}
