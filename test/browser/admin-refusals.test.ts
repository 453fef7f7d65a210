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
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember, tokenOf } from '../support/app.ts';
import { launchBrowser, openPage, SKIPPED } from '../support/browser.ts';
import { startCrm, type FakeCrm } from '../support/crm/fake.ts';
import { appInSandbox, openSandbox } from '../support/sandbox.ts';
import { CATALOG, makeMember, makeSeed, makeTeam, userId } from '../support/seed.ts';

const TEAM = 'refused';
/** Has a sandbox. */
const REHEARSED = 'rehearsed';
/** So low that an alert above a long list, or below a long form, is out of sight by itself. */
const LOW = { width: 1280, height: 500 };
const WAIT = { timeout: 10_000 };

let api: TestApi;
let browser: Browser;
let crm: FakeCrm;
/** The team of the change that is tried. */
let team: string = TEAM;

/** What a row needs. */
interface Place {
  readonly page: Page;
  /** Presses the button of this name, and of nothing else. */
  readonly press: (name: string, within?: Locator) => Promise<void>;
  readonly dialog: Locator;
}

interface Change {
  readonly path: string;
  /** Another team than `TEAM`. */
  readonly team?: typeof REHEARSED;
  /** Leads to where the change is made. */
  readonly open?: (place: Place) => Promise<void>;
  /** Tries to make it; once for each kind of refusal. */
  readonly send: (place: Place) => Promise<void>;
  /** There is nothing on the page that it could look at again. */
  readonly readsNothing?: true;
}

const cardOf = (page: Page, name: string): Locator =>
  page.locator('section.card').filter({ hasText: name });

const byButton = (path: string, name: string): Change => ({
  path,
  send: ({ press }) => press(name),
});

const inCard = (card: string, name: string): Change => ({
  path: '/crm',
  send: ({ page, press }) => press(name, cardOf(page, card)),
});

/** The dialog is opened by one button, and the change made by another one in it. */
const inDialog = (
  path: string,
  opener: string | readonly [row: string, button: string],
  sender: string,
  fill: Change['open'] = async () => undefined,
): Change => ({
  path,
  open: async (place) => {
    const [row, button] = typeof opener === 'string' ? [null, opener] : opener;
    if (row !== null) await place.press(`Actions: ${row}`);
    await place.press(button);
    await fill(place);
  },
  send: ({ press, dialog }) => press(sender, dialog),
});

const inSandbox = (open: Change['open'], send: Change['send']): Change => ({
  path: '/sandbox/play',
  team: REHEARSED,
  ...(open && { open }),
  send,
});

/** How each change of the page is made; `findMutations` names them. */
const CHANGES: Readonly<Record<string, Change>> = {
  'pages/alerts.tsx admin.alerts.set': {
    path: '/alerts',
    send: ({ page }) => page.getByLabel('an API key ends soon').click(),
  },
  'pages/catalog.tsx admin.team.policy.set': {
    path: '/catalog',
    send: ({ page }) => page.getByLabel('Allow Tough').click(),
  },
  'pages/catalog.tsx admin.team.memberPolicy.set': {
    path: '/catalog',
    open: async ({ page }) => {
      await page.getByLabel('Policy for').fill('member@refused.test');
    },
    send: ({ page }) => page.getByLabel('Allow Tough').click(),
  },
  'pages/catalog.tsx admin.team.release.set': {
    path: '/catalog',
    send: ({ page }) => page.getByLabel('Only those that are marked').click(),
  },
  'pages/change-member.tsx v1.members.update': inDialog(
    '/members',
    ['member@refused.test', 'Change'],
    'Save',
    ({ dialog }) => dialog.getByLabel(/^Admin/).check(),
  ),
  'pages/change-member.tsx admin.team.grantRight': inDialog(
    '/members',
    ['admin@refused.test', 'Change'],
    'Save',
    ({ dialog }) => dialog.getByLabel(en.members.right).check(),
  ),
  'pages/change-member.tsx admin.team.withdrawRight': inDialog(
    '/members',
    ['holder@refused.test', 'Change'],
    'Save',
    ({ dialog }) => dialog.getByLabel(en.members.right).uncheck(),
  ),
  'pages/connect-crm.tsx admin.crm.connect': inDialog(
    '/crm',
    'Connect a CRM',
    'Test and connect',
    async ({ dialog }) => {
      await dialog.getByLabel('CRM').selectOption('pipedrive');
      await dialog.getByLabel('Token').fill(crm.token);
      await dialog.getByLabel('Mark of objections').fill('Objection:');
    },
  ),
  'pages/replace-token.tsx admin.crm.replaceCredentials': {
    path: '/crm',
    open: async ({ page, press, dialog }) => {
      await press('Replace the token', cardOf(page, 'Works'));
      await dialog.getByLabel('Token').fill(crm.token);
    },
    send: ({ press, dialog }) => press('Test and replace', dialog),
  },
  'pages/crm.tsx admin.crm.disconnect': {
    path: '/crm',
    open: ({ page, press }) => press('Disconnect', cardOf(page, 'Works')),
    send: ({ press, dialog }) => press('Disconnect', dialog),
  },
  'pages/crm.tsx admin.crm.pause': inCard('Works', 'Pause'),
  'pages/crm.tsx admin.crm.resume': inCard('Paused', 'Resume'),
  'pages/crm.tsx admin.crm.syncNow': inCard('Works', 'Read now'),
  'pages/delivery.tsx v1.webhooks.retryDelivery': byButton('/deliveries/whd_1', 'Try again now'),
  'pages/create-sandbox.tsx admin.sandbox.create': {
    ...inDialog('/play', en.sandbox.create, en.sandbox.create, ({ dialog }) =>
      dialog.getByLabel(/^A large team/).check(),
    ),
    readsNothing: true,
  },
  'pages/plays.tsx v1.sandbox.simulate': inSandbox(
    ({ page }) => page.getByLabel(en.sandbox.score).first().fill('88'),
    ({ press }) => press(`${en.sandbox.playNow}: ${en.sandbox.plays.training_completed}`),
  ),
  'pages/remove-sandbox.tsx admin.sandbox.remove': {
    ...inDialog('/play', en.sandbox.remove, en.sandbox.remove),
    team: REHEARSED,
  },
  'pages/reset-sandbox.tsx v1.sandbox.reset': inSandbox(
    async ({ press, dialog }) => {
      await press(en.sandbox.reset);
      await dialog.getByLabel(/^An empty team/).check();
    },
    ({ press, dialog }) => press(en.sandbox.resetNow, dialog),
  ),
  'pages/sandbox.tsx v1.sandbox.simulate': inSandbox(undefined, ({ press }) =>
    press(`${en.sandbox.end}: ${en.sandbox.failingUntil}`),
  ),
  'pages/sandbox.tsx v1.sandbox.update': inSandbox(undefined, async ({ page }) => {
    await page.getByLabel(en.sandbox.speed).selectOption('60');
  }),
  'pages/end-key.tsx admin.apiKeys.revoke': inDialog(
    '/keys',
    'Revoke: users:write',
    'Revoke the key',
  ),
  'pages/end-key.tsx admin.apiKeys.rotate': inDialog(
    '/keys',
    'Revoke: users:write',
    'End it now and show a new key',
    ({ dialog }) => dialog.getByLabel('Yes, or I am not sure').check(),
  ),
  'pages/key-secret.tsx admin.handovers.create': {
    path: '/keys/new',
    open: ({ page, press }) => unrecorded(() => showKey(page, press, 'To hand over')),
    send: ({ press, dialog }) => press('Make a link', dialog),
  },
  'pages/endpoint-secret.tsx admin.endpointHandovers.create': {
    path: '/webhooks/whe_2',
    open: async ({ press, dialog }) => {
      await press('Replace the secret');
      await unrecorded(async () => {
        await press('Replace the secret', dialog);
        await dialog.getByRole('button', { name: 'Make a link' }).waitFor();
      });
    },
    send: ({ press, dialog }) => press('Make a link', dialog),
  },
  'lib/links.ts admin.endpointHandovers.withdraw': {
    path: '/webhooks/whe_2',
    open: async ({ press, dialog }) => {
      await press('Replace the secret');
      await unrecorded(async () => {
        await press('Replace the secret', dialog);
        await press('Make a link', dialog);
        await dialog.getByText(/^Send the link to one person/).waitFor();
      });
    },
    send: ({ press, dialog }) => press('Withdraw the link', dialog),
  },
  'lib/links.ts admin.handovers.withdraw': {
    path: '/keys/new',
    open: ({ page, press, dialog }) =>
      unrecorded(async () => {
        await showKey(page, press, 'To withdraw');
        await press('Make a link', dialog);
        await dialog.getByText(/^Send the link to one person/).waitFor();
      }),
    send: ({ press, dialog }) => press('Withdraw the link', dialog),
  },
  'pages/invite-member.tsx v1.members.create': inDialog(
    '/members',
    'Invite somebody',
    'Send the invitation',
    async ({ dialog }) => {
      await dialog.getByLabel('Email address').fill('kim@refused.test');
      await dialog.getByLabel(/^Admin/).check();
      await dialog.getByLabel('Language of the invitation').selectOption('en');
    },
  ),
  'pages/endpoint-secret.tsx admin.webhooks.confirmStored': {
    path: '/webhooks/whe_2',
    open: async ({ press, dialog }) => {
      await press('Replace the secret');
      await unrecorded(async () => {
        await press('Replace the secret', dialog);
        await dialog.getByLabel('I have stored the secret').check();
      });
    },
    send: ({ press, dialog }) => press('Done', dialog),
  },
  'pages/key-secret.tsx admin.apiKeys.confirmStored': {
    path: '/keys/new',
    open: async ({ page, press, dialog }) => {
      await unrecorded(() => showKey(page, press, 'To store'));
      await dialog.getByLabel('I have stored the key').check();
    },
    send: ({ press, dialog }) => press('Done', dialog),
  },
  'pages/members.tsx admin.invitations.resend': {
    path: '/members',
    send: async ({ press }) => {
      await press('Actions: last@refused.test');
      await press('Send again');
    },
  },
  'pages/members.tsx admin.invitations.withdraw': inDialog(
    '/members',
    ['last@refused.test', 'Withdraw'],
    'Withdraw',
  ),
  'pages/remove-member.tsx v1.members.remove': inDialog(
    '/members',
    ['member@refused.test', 'Remove'],
    'Remove',
  ),
  'pages/new-key.tsx admin.apiKeys.create': {
    path: '/keys/new',
    open: async ({ page }) => {
      await page.getByLabel('Name').fill('Payroll import');
      await page.getByLabel('Choose each permission').check();
      await page.getByLabel('See trainings').check();
      await page.getByLabel('No end').check();
      await page.getByLabel('Where may it be used from?').fill('203.0.113.7, 203.0.113.9');
    },
    send: ({ press }) => press('Create a key'),
  },
  'pages/new-webhook.tsx v1.webhooks.createEndpoint': {
    path: '/webhooks/new',
    open: async ({ page }) => {
      await page.getByLabel('Address').fill('http://127.0.0.1:9/hook');
      await page.getByLabel('Description').fill('Mine');
      await page.getByLabel('A training was scored').check();
    },
    send: ({ press }) => press('Add an endpoint'),
    readsNothing: true,
  },
  'pages/privacy.tsx admin.team.privacy.set': inDialog(
    '/privacy',
    'Comparison of members: Switch off …',
    'Switch it off',
  ),
  'pages/resend.tsx admin.deliveries.startResend': {
    path: '/deliveries',
    open: async ({ press, dialog }) => {
      await press('Send failures again');
      await dialog.getByLabel('Endpoint').selectOption('whe_1');
      await dialog.getByLabel('Event').selectOption('member.joined');
      await dialog.getByLabel('Time').selectOption('custom');
      await dialog.getByLabel('From').fill('2026-01-02T09:30');
      await dialog.getByLabel('To').fill('2099-01-02T09:30');
    },
    send: ({ press, dialog }) => press('Send 1 again', dialog),
  },
  'pages/resend.tsx admin.deliveries.cancelResend': byButton('/deliveries', 'Stop'),
  'pages/rotate-key.tsx admin.apiKeys.rotate': inDialog(
    '/keys',
    'Replace: users:read',
    'Replace the key',
    ({ dialog }) => dialog.getByLabel(/^30 days/).check(),
  ),
  'pages/rotate-secret.tsx v1.webhooks.rotateSecret': inDialog(
    '/webhooks/whe_1',
    'Replace the secret',
    'Replace the secret',
    ({ dialog }) => dialog.getByLabel(/^7 days/).check(),
  ),
  'pages/webhook-settings.tsx v1.webhooks.updateEndpoint': {
    path: '/webhooks/whe_1',
    open: ({ page }) => page.getByLabel('Description').fill('Mine'),
    send: ({ press }) => press('Save'),
  },
  'pages/webhook-test.tsx v1.webhooks.testEndpoint': byButton('/webhooks/whe_1', 'Send a test'),
  'pages/webhook.tsx v1.webhooks.removeEndpoint': inDialog(
    '/webhooks/whe_1',
    'Delete the endpoint',
    'Delete the endpoint',
  ),
  'pages/webhook.tsx v1.webhooks.updateEndpoint': byButton('/webhooks/whe_1', 'Pause'),
};

/** Creates a key of this name and waits for its secret. */
async function showKey(page: Page, press: Place['press'], name: string): Promise<void> {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel(/^Read only/).check();
  await press('Create a key');
  await page.getByRole('dialog').waitFor();
}

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

/** They are no procedures, so they have tests of their own: below, and in handover.test.ts. */
const NO_PROCEDURES = [
  'handover.ts POST address',
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
  internal: (route) => {
    const input = route.request().postDataJSON() as Record<string, unknown>;
    // The CRM is on this machine: the service allows that only in tests.
    const isConnect = route.request().url().endsWith('crm.connect');
    const body = isConnect ? { ...input, base_url: crm.url } : input;
    return route.continue({ postData: JSON.stringify(body) });
  },
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
  if (name === 'pages/webhook.tsx v1.webhooks.updateEndpoint')
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
    'admin.team.policy.set': { blocked: ['per_tough'] },
    'admin.team.memberPolicy.set': { ...ofMember, blocked: ['per_tough'] },
    'admin.team.release.set': { released: CATALOG.map(({ id }) => id).toSorted() },
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
    'admin.apiKeys.confirmStored': { key_id: await idOf('api_key', `name = 'To store'`) },
    'admin.webhooks.confirmStored': {
      endpoint_id: 'whe_2',
      secret: expect.stringMatching(/^whsec_\w{44}$/) as unknown,
    },
    'admin.handovers.create': {
      handover_id: expect.stringMatching(/^[\w-]{43}$/) as unknown,
      key_id: await idOf('api_key', `name = 'To hand over'`),
      sealed: expect.stringMatching(/^[\w-]{100,}$/) as unknown,
    },
    'admin.endpointHandovers.create': {
      handover_id: expect.stringMatching(/^[\w-]{43}$/) as unknown,
      endpoint_id: 'whe_2',
      secret_hash: expect.stringMatching(/^[\w-]{43}$/) as unknown,
      sealed: expect.stringMatching(/^[\w-]{100,}$/) as unknown,
    },
    'admin.endpointHandovers.withdraw': {
      handover_id: expect.stringMatching(/^[\w-]{43}$/) as unknown,
    },
    'admin.handovers.withdraw': { handover_id: await idOf('handover', 'key_id is not null') },
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
    const endpoint = (id: string) => ({
      id,
      url: 'https://hooks.example.com/in',
      events: ['member.joined' as const],
    });
    const failed = (id: string, endpointId: string) => ({
      id,
      endpoint_id: endpointId,
      event_type: 'member.joined' as const,
      status: 'gave_up' as const,
      attempt: 8,
      created_at: new Date(Date.now() - 3 * 3_600_000).toISOString(),
      response_code: 503,
      response_excerpt: 'Maintenance',
      response_ms: 12,
    });
    const guests = Array.from({ length: 8 }, (_, n) =>
      makeMember(TEAM, `guest_${n}`, { status: 'invited' }),
    );
    const seeded = makeTeam(TEAM, {
      members: [
        makeMember(TEAM, 'holder', { role: 'admin', rights: ['schnittstellen'] }),
        ...guests,
        makeMember(TEAM, 'last', { status: 'invited', created_at: '2026-02-01T08:00:00Z' }),
      ],
      webhook_endpoints: [endpoint('whe_1'), endpoint('whe_2')],
      webhook_deliveries: [failed('whd_1', 'whe_1'), failed('whd_2', 'whe_2')],
    });
    api = await startTestApi({
      allowPrivateTargets: true,
      developmentTeamId: `team_${TEAM}`,
      seed: makeSeed([seeded, makeTeam('other'), makeTeam(REHEARSED)]),
    });
    await openSandbox(api, REHEARSED);
    const rehearsal = await appInSandbox(api, REHEARSED);
    await rehearsal.v1.sandbox.simulate.mutate({ play: 'webhooks_failing', for_s: 3_600 });
    const owner = await appAsMember(api, TEAM, 'owner');
    const settings = crm.connectInput();
    await owner.admin.crm.connect.mutate(settings);
    const paused = await owner.admin.crm.connect.mutate(settings);
    await owner.admin.crm.pause.mutate({ connection_id: paused.id });
    const since = new Date(0).toISOString();
    await owner.admin.deliveries.startResend.mutate({ endpoint_id: 'whe_2', since });
    await api.db.pool.query(
      `update crm_connection
       set last_synced_at = now(), next_sync_at = now() + interval '1 hour'
       where team_id = 'team_refused'`,
    );
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
    const place: Place = {
      page,
      dialog: page.getByRole('dialog'),
      press: (button, within) =>
        (within ?? page).getByRole('button', { name: button, exact: true }).first().click(),
    };
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
    // Nobody knows whether it was made, so the page looks.
    const looked = change.readsNothing
      ? null
      : page.waitForRequest((one) => one.method() === 'GET' && isCall(one.url()), WAIT);
    for (kind of KINDS) {
      await change.send(place);
      const alert = alertOf(page, en.problems[kind]);
      await alert.waitFor(WAIT);
      await expect.poll(() => alert.evaluate(IS_SEEN), WAIT).toBe(true);
      const requestId = /Request id for support: [\w-]{36}/.test(await alert.innerText());
      expect([kind, requestId]).toEqual([kind, kind === 'forbidden' || kind === 'internal']);
      // What is said at a field is one, too.
      expect(await page.locator('.notice[role=alert]').count()).toBe(1);
    }
    await looked;
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
    for (const name of ['Pause', 'Read now', 'Pause'] as const) {
      await cardOf(page, 'Works').getByRole('button', { name, exact: true }).click();
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
