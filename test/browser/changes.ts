// How each change of the admin page is made, on a service where all of them can be.
import type { Locator, Page, Route } from 'playwright-core';
import { en } from '../../src/admin-ui/i18n/en.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember } from '../support/app.ts';
import type { FakeCrm } from '../support/crm/fake.ts';
import type { TestDatabase } from '../support/database.ts';
import { appInSandbox, openSandbox } from '../support/sandbox.ts';
import { makeFailed, makeMember, makeSeed, makeTeam } from '../support/seed.ts';

export const TEAM = 'refused';
/** Has a sandbox. */
export const REHEARSED = 'rehearsed';

/** What a change needs. */
export interface Place {
  readonly page: Page;
  /** Presses the button of this name, and of nothing else. */
  readonly press: (name: string, within?: Locator) => Promise<void>;
  readonly dialog: Locator;
  /** The token of this CRM is entered. */
  readonly crm: FakeCrm;
  /** Does what comes before the change, and must not be refused with it. */
  readonly prepare: (work: () => Promise<void>) => Promise<void>;
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

export const cardOf = (page: Page, name: string): Locator =>
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
export const CHANGES: Readonly<Record<string, Change>> = {
  'pages/alerts.tsx admin.alerts.set': {
    path: '/alerts',
    send: ({ page }) => page.getByLabel('an API key expires soon').click(),
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
    send: ({ page }) => page.getByLabel('Only those marked').click(),
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
    async ({ dialog, crm }) => {
      await dialog.getByLabel('CRM').selectOption('pipedrive');
      await dialog.getByLabel('Token').fill(crm.token);
      await dialog.getByLabel('Objection marker').fill('Objection:');
    },
  ),
  'pages/replace-token.tsx admin.crm.replaceCredentials': {
    path: '/crm',
    open: async ({ page, press, dialog, crm }) => {
      await press('Replace the token', cardOf(page, 'Working'));
      await dialog.getByLabel('Token').fill(crm.token);
    },
    send: ({ press, dialog }) => press('Test and replace', dialog),
  },
  'pages/crm.tsx admin.crm.disconnect': {
    path: '/crm',
    open: ({ page, press }) => press('Disconnect', cardOf(page, 'Working')),
    send: ({ press, dialog }) => press('Disconnect', dialog),
  },
  'pages/crm.tsx admin.crm.pause': inCard('Working', 'Pause'),
  'pages/crm.tsx admin.crm.resume': inCard('Paused', 'Resume'),
  'pages/crm.tsx admin.crm.syncNow': inCard('Working', 'Sync now'),
  'pages/delivery.tsx v1.webhooks.retryDelivery': byButton('/deliveries/whd_1', 'Retry now'),
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
  'pages/invite-member.tsx v1.members.create': inDialog(
    '/members',
    'Invite a member',
    'Send the invitation',
    async ({ dialog }) => {
      await dialog.getByLabel('Email address').fill('kim@refused.test');
      await dialog.getByLabel(/^Admin/).check();
      await dialog.getByLabel('Language of the invitation').selectOption('en');
    },
  ),
  'pages/endpoint-secret.tsx admin.webhooks.confirmStored': {
    path: '/webhooks/whe_2',
    open: async ({ press, dialog, prepare }) => {
      await press('Rotate the secret');
      await prepare(async () => {
        await press('Rotate the secret', dialog);
        await dialog.getByLabel('I have stored the secret').check();
      });
    },
    send: ({ press, dialog }) => press('Done', dialog),
  },
  'pages/key-secret.tsx admin.apiKeys.confirmStored': {
    path: '/keys',
    open: async ({ press, dialog, prepare }) => {
      await press('Rotate: catalog:read');
      await prepare(async () => {
        await press('Rotate the key', dialog);
        await dialog.getByLabel('I have stored the key').check();
      });
    },
    send: ({ press, dialog }) => press('Done', dialog),
  },
  'pages/members.tsx admin.invitations.resend': {
    path: '/members',
    send: async ({ press }) => {
      await press('Actions: last@refused.test');
      await press('Resend');
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
      await page.getByLabel('Choose individual permissions').check();
      await page.getByLabel('View trainings').check();
      await page.getByLabel('No expiry').check();
      await page.getByLabel('Allowed addresses').fill('203.0.113.7, 203.0.113.9');
    },
    send: ({ press }) => press('Create a key'),
  },
  'pages/new-webhook.tsx v1.webhooks.createEndpoint': {
    path: '/webhooks/new',
    open: async ({ page }) => {
      await page.getByLabel('Address').fill('http://127.0.0.1:9/hook');
      await page.getByLabel('Description').fill('Mine');
      await page.getByLabel('Training scored').check();
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
      await press('Resend failures');
      await dialog.getByLabel('Endpoint').selectOption('whe_1');
      await dialog.getByLabel('Event').selectOption('member.joined');
      await dialog.getByLabel('Time').selectOption('custom');
      await dialog.getByLabel('From').fill('2026-01-02T09:30');
      await dialog.getByLabel('To').fill('2099-01-02T09:30');
    },
    send: ({ press, dialog }) => press('Resend 1', dialog),
  },
  'pages/resend.tsx admin.deliveries.cancelResend': byButton('/deliveries', 'Stop'),
  'pages/rotate-key.tsx admin.apiKeys.rotate': inDialog(
    '/keys',
    'Rotate: users:read',
    'Rotate the key',
    ({ dialog }) => dialog.getByLabel(/^30 days/).check(),
  ),
  'pages/rotate-secret.tsx v1.webhooks.rotateSecret': inDialog(
    '/webhooks/whe_1',
    'Rotate the secret',
    'Rotate the secret',
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
  'pages/endpoint-status.ts v1.webhooks.updateEndpoint': inDialog(
    '/webhooks/whe_1',
    'Pause',
    'Pause',
  ),
};

/** Starts the service, with what the changes need. */
export async function startService(crm: FakeCrm, database?: TestDatabase): Promise<TestApi> {
  const endpoint = (id: string) => ({
    id,
    url: 'https://hooks.example.com/in',
    events: ['member.joined' as const],
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
    webhook_deliveries: [makeFailed('whd_1', 'whe_1'), makeFailed('whd_2', 'whe_2')],
  });
  const api = await startTestApi({
    ...(database && { database }),
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
  return api;
}

export function placeOn(page: Page, means: Pick<Place, 'crm' | 'prepare'>): Place {
  return {
    ...means,
    page,
    dialog: page.getByRole('dialog'),
    press: (button, within) =>
      (within ?? page).getByRole('button', { name: button, exact: true }).first().click(),
  };
}

/** Lets a CRM be connected that is on this machine: the service allows that only in tests. */
export async function sendToFake(route: Route, crm: FakeCrm): Promise<void> {
  const input = route.request().postDataJSON() as Record<string, unknown>;
  await route.continue({ postData: JSON.stringify({ ...input, base_url: crm.url }) });
}
