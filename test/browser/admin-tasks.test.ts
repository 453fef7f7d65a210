// Each task of a team's admin, once by the mouse and once by the keyboard alone. The steps stand
// here once; `Hands` takes them in either way.
import { readFile } from 'node:fs/promises';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { openAdminPage } from '../support/admin-page.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { syncAtOnce } from '../support/crm-sync.ts';
import { appAsMember } from '../support/app.ts';
import { findFaults, launchBrowser, SKIPPED } from '../support/browser.ts';
import { startCrm } from '../support/crm/fake.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { WAY_NAMES, WAYS, type Hands, type Way } from '../support/hands.ts';
import { logCall } from '../support/request-log.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import {
  makeFailed,
  makeMember,
  makeSeed,
  makeTeam,
  makeTraining,
  memberId,
  type TeamSeed,
} from '../support/seed.ts';

let api: TestApi;
let browser: Browser;
let receiver: Receiver;

/** What a task needs. `way` is the name of its team, too. */
interface World {
  readonly page: Page;
  readonly hands: Hands;
  readonly way: Way;
  /** Finds a button or link by its name. */
  readonly button: (name: string) => Locator;
  readonly link: (name: string) => Locator;
  /** Finds a field by its label; a choice with a hint by the beginning of its label. */
  readonly field: (label: string | RegExp) => Locator;
  readonly says: (text: string | RegExp) => Promise<void>;
}

/** Where the admin begins, and what they do until they see that it worked. */
type Task = readonly [name: string, path: string, act: (world: World) => Promise<void>];

const keyOf = ({ way }: World, name: string): string => api.key(`team_${way}`, name);
const statusOf = async (key: string): Promise<number> => (await api.call(key, 'GET', '/me')).status;

const storeSecret = async ({ page, hands, button }: World, label: string): Promise<string> => {
  const secret = await page.getByRole('dialog').locator('code').first().innerText();
  await hands.check(page.getByLabel(label));
  await hands.press(button('Done'));
  return secret;
};

const KEY_TASKS: readonly Task[] = [
  [
    'creates a key',
    '/keys',
    async (world) => {
      const { hands, link, field, button, page } = world;
      await hands.press(link('Create a key'));
      await hands.write(field('Name'), 'Payroll import');
      await hands.check(field(/^Read plus assignments/));
      await hands.check(field(/^No expiry/));
      await hands.press(button('Create a key'));
      const secret = await storeSecret(world, 'I have stored the key');
      await page.getByRole('rowheader', { name: 'Payroll import' }).waitFor();
      expect(await statusOf(secret)).toBe(200);
    },
  ],
  [
    'replaces a key at once',
    '/keys',
    async (world) => {
      const { hands, button, field, page } = world;
      await hands.press(button('Rotate: users:read'));
      await hands.check(field(/^End it now/));
      await hands.press(button('Rotate the key'));
      const secret = await storeSecret(world, 'I have stored the key');
      await page.getByRole('rowheader', { name: 'users:read (2)' }).waitFor();
      expect(await statusOf(secret)).toBe(200);
      expect(await statusOf(keyOf(world, 'users:read'))).toBe(401);
    },
  ],
  [
    'revokes a key after reading what it was used for',
    '/keys',
    async (world) => {
      const { hands, button, says } = world;
      await logCall(api, {
        teamId: `team_${world.way}`,
        keyName: 'users:write',
        route: '/users',
        status: 201,
      });
      await hands.press(button('Revoke: users:write'));
      await says(/Its last request: POST \/users\. Source networks: 203\.0\.113\.0\/24\./);
      await hands.press(button('Revoke the key'));
      await says('The key “users:write” no longer works.');
      expect(await statusOf(keyOf(world, 'users:write'))).toBe(401);
    },
  ],
];

const WEBHOOK_TASKS: readonly Task[] = [
  [
    'adds an endpoint',
    '/webhooks',
    async (world) => {
      const { hands, link, field, button, page, way } = world;
      await hands.press(link('Add an endpoint'));
      await hands.write(field('Address'), `${receiver.url}/${way}/new`);
      await hands.check(field(/^Training scored/));
      await hands.press(button('Add an endpoint'));
      expect(await storeSecret(world, 'I have stored the secret')).toMatch(/^whsec_/);
      await page.getByRole('heading', { name: 'Settings' }).waitFor();
    },
  ],
  [
    'pauses an endpoint and reactivates it',
    '/webhooks/whe_steady',
    async ({ hands, button, says, page }) => {
      await hands.press(button('Pause'));
      await hands.press(page.getByRole('dialog').getByRole('button', { name: 'Pause' }));
      await says('New events are not delivered while an endpoint is paused.');
      await hands.press(button('Reactivate'));
      await says('The endpoint is active again.');
    },
  ],
  [
    'replaces the secret of an endpoint, and both work for a while',
    '/webhooks/whe_steady',
    async (world) => {
      const { hands, button, field, says, page } = world;
      await hands.press(button('Rotate the secret'));
      await hands.check(field(/^7 days/));
      await hands.press(
        page.getByRole('dialog').getByRole('button', { name: 'Rotate the secret' }),
      );
      await storeSecret(world, 'I have stored the secret');
      await says('Also signed with the old secret until');
    },
  ],
  [
    'sends a test event and sees it arrive',
    '/webhooks/whe_steady',
    async ({ hands, button, says, way }) => {
      await hands.press(button('Send a test'));
      await says(/The test arrived: your server responded in \d+ ms/);
      expect(receiver.requestsTo(`/${way}/steady`)).not.toEqual([]);
    },
  ],
  [
    'finds a failed delivery, reads why, and tries it again',
    '/deliveries',
    async ({ hands, field, link, button, says, page }) => {
      await hands.choose(field('Status'), 'All failures');
      await hands.choose(field('Endpoint'), 'Back again');
      await page.waitForURL(/status=failed.*endpoint=whe_back|endpoint=whe_back.*status=failed/);
      await says('1 entry shown');
      await hands.press(link('Member joined the team'));
      await says('Your server had an internal error.');
      await says('Check the log of your server at the time of the attempt.');
      await hands.press(button('Retry now'));
      await says('Your server has accepted the event.');
    },
  ],
  [
    'sends everything again that the filter matches, and stops it',
    '/deliveries?endpoint=whe_dead',
    async ({ hands, button, field, says, page }) => {
      await hands.choose(field('Event'), 'Member left the team');
      await says('No results for these filters');
      await hands.press(button('Resend failures'));
      await says('No deliveries failed in this period.');
      await hands.choose(page.getByRole('dialog').getByLabel('Event'), 'Member joined the team');
      await hands.choose(page.getByRole('dialog').getByLabel('Time'), 'Last 7 days');
      await says('3 deliveries failed in this period');
      await hands.press(button('Resend 3'));
      await says('0 of 3 queued');
      // No job runs in this file, so it stays in progress.
      await hands.press(button('Stop'));
      await page.getByRole('cell', { name: /^Stopped/ }).waitFor();
      await field('Status').waitFor();
    },
  ],
  [
    'sends again what failed at every endpoint in a stretch of time',
    '/deliveries',
    async ({ hands, button, says, page }) => {
      await hands.press(button('Resend failures'));
      const dialog = page.getByRole('dialog');
      await dialog.getByText('All active endpoints').waitFor({ state: 'attached' });
      await hands.choose(dialog.getByLabel('Time'), 'From … to …');
      await hands.pick(dialog.getByLabel('From'), '2020-01-01T09:30');
      await hands.pick(dialog.getByLabel('To'), '2020-01-02T18:00');
      await says('No deliveries failed in this period.');
      await hands.pick(dialog.getByLabel('To'), '2099-01-01T00:00');
      await hands.press(dialog.getByRole('button', { name: /^Resend [1-9]\d*/ }));
      await says(/^0 of [1-9]\d* queued/);
      await page
        .getByRole('cell', { name: /^1 Jan 2020, 09:30 to / })
        .first()
        .waitFor();
    },
  ],
];

const TEAM_TASKS: readonly Task[] = [
  [
    'invites an admin',
    '/members',
    async ({ hands, button, field, says, way }) => {
      await hands.press(button('Invite a member'));
      await hands.write(field('Email address'), `kim@${way}.example`);
      await hands.check(field(/^Admin/));
      await hands.press(button('Send the invitation'));
      await says(`The invitation to kim@${way}.example is on its way.`);
    },
  ],
  [
    'changes a role',
    '/members',
    async ({ hands, button, field, says, way }) => {
      await hands.press(button(`Actions: member@${way}.test`));
      await hands.press(button('Change'));
      await hands.check(field(/^Admin/));
      await hands.press(button('Save'));
      await says('Changed.');
      const { rows } = await api.db.pool.query(`select role from member where id = $1`, [
        memberId(way, 'member'),
      ]);
      expect(rows).toEqual([{ role: 'admin' }]);
    },
  ],
  [
    'removes a member after reading what becomes of their work',
    '/members',
    async ({ hands, button, says, page, way }) => {
      await hands.press(button(`Actions: leaver@${way}.test`));
      await hands.press(button('Remove'));
      await says('Open assignments are revoked at once.');
      await hands.press(page.getByRole('dialog').getByRole('button', { name: 'Remove' }));
      await says('The member was removed.');
      expect(await page.getByText(`leaver@${way}.test`).count()).toBe(0);
    },
  ],
  [
    'sees what a privacy switch hides, and switches it',
    '/privacy',
    async ({ hands, button, says, page }) => {
      await hands.press(button('Comparison of members: Switch on …'));
      await page.getByRole('region', { name: 'When switched off' }).waitFor();
      await hands.press(button('Switch it on'));
      await says('The switch was changed.');
      await button('Comparison of members: Switch off …').waitFor();
    },
  ],
  [
    'blocks an entry by a policy',
    '/catalog',
    async ({ hands, field, says, way }) => {
      await hands.write(field('Search'), 'tough');
      await says('1 entry shown');
      await hands.check(field('Allow Tough'));
      await says('The policy was saved.');
      const owner = await appAsMember(api, way, 'owner');
      expect(await owner.admin.team.policy.get.query({})).toEqual({ blocked: ['per_tough'] });
    },
  ],
  [
    'releases only some entries of the catalog',
    '/catalog',
    async ({ hands, field, says, way }) => {
      await hands.check(field(/^Only those marked/));
      await says('The policy was saved.');
      await hands.check(field('Release Renewal'));
      const owner = await appAsMember(api, way, 'owner');
      await expect
        .poll(async () => (await owner.admin.team.release.get.query({})).released)
        .toEqual(expect.not.arrayContaining(['sit_renewal']));
    },
  ],
];

const CRM_TASKS: readonly Task[] = [
  [
    'connects a CRM, pauses it, reads it now, replaces its token and disconnects it',
    '/crm',
    async (world) => {
      const { page, hands, button, field, says } = world;
      const crm = await startCrm('pipedrive');
      crm.token = 'the-first-token';
      // Pipedrive is on this machine: the service allows that only in tests.
      await page.route('**/trpc/admin.crm.connect', (route) =>
        route.continue({
          postData: JSON.stringify({ ...route.request().postDataJSON(), base_url: crm.url }),
        }),
      );
      await hands.press(button('Connect a CRM'));
      await hands.choose(page.getByRole('dialog').getByLabel('CRM'), 'Pipedrive');
      await hands.write(field('Token'), 'a-wrong-token');
      await hands.press(button('Test and connect'));
      await says('The CRM rejects the token.');
      await hands.write(field('Token'), crm.token);
      await hands.press(button('Test and connect'));
      await says('The CRM is connected.');
      await hands.press(button('Pause'));
      await hands.press(button('Resume'));
      await button('Pause').waitFor();
      crm.token = 'the-second-token';
      await syncAll(world);
      await hands.press(button('Sync now'));
      await says('The CRM rejects the token.');
      await hands.press(button('Replace the token'));
      await hands.write(field('Token'), crm.token);
      await hands.press(button('Test and replace'));
      await says('The token was replaced.');
      await syncAll(world);
      // The page looks by itself until what is due was read.
      await page.getByText('Working').waitFor();
      await hands.press(button('Disconnect'));
      await hands.press(page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }));
      await says('No CRM connected');
    },
  ],
];

const INSIGHT_TASKS: readonly Task[] = [
  [
    'finds in the audit log what a key did',
    '/audit',
    async (world) => {
      const { hands, field, page, says } = world;
      const body = { email: `guest@${world.way}.example` };
      expect((await api.call(keyOf(world, 'full'), 'POST', '/users', { body })).status).toBe(201);
      await hands.choose(field('Action'), 'Member invited');
      await hands.choose(field('API key'), 'full');
      await page.waitForURL(/action=member\.invited/);
      await says('1 entry shown');
      await page.getByRole('link', { name: 'full' }).waitFor();
    },
  ],
  [
    'looks at one stretch of time',
    '/audit',
    async ({ hands, field, page, says }) => {
      await hands.choose(field('Time'), 'From … to …');
      await page.waitForURL(/past=custom&since=/);
      await hands.pick(field('To'), '2020-01-02T09:30');
      await says('The end is before the start.');
      await says('No results for these filters');
      await hands.pick(field('To'), '2099-01-02T18:45');
      await says(/entries shown|entry shown/);
      expect(await findFaults(page)).toEqual([]);
      // It is in the address.
      await page.reload();
      await field('To').waitFor();
      expect(await field('To').inputValue()).toBe('2099-01-02T18:45');
      await says(/entries shown|entry shown/);
    },
  ],
  [
    'takes the results of the team home, with the day on which each week began',
    '/results',
    async ({ hands, button, page }) => {
      const download = page.waitForEvent('download');
      await hands.press(button('Download CSV'));
      const text = await readFile(await (await download).path(), 'utf8');
      const [, ...days] = text.split('\r\n').map((line) => line.split(',')[0]?.slice(1, -1) ?? '');
      expect(days).toHaveLength(12);
      expect(days.map((day) => new Date(day).getUTCDay())).toEqual(days.map(() => 1));
      expect(days).toEqual(days.toSorted());
      expect(Date.now() - Date.parse(days.at(-1) ?? '')).toBeLessThan(8 * 24 * 3_600_000);
    },
  ],
  [
    'takes the usage of a key home',
    '/usage?days=7',
    async ({ hands, field, button, page, says }) => {
      await hands.choose(field('API key'), 'by_admin');
      await says(/Successful 40,/);
      const download = page.waitForEvent('download');
      await hands.press(button('Download CSV'));
      expect((await download).suggestedFilename()).toBe('usage.csv');
    },
  ],
  [
    'finds out why a request was refused',
    '/',
    async (world) => {
      const { hands, link, field, says, page } = world;
      const id = await logCall(api, {
        teamId: `team_${world.way}`,
        keyName: 'full',
        route: '/assignments',
        status: 422,
        problem: {
          code: 'validation_error',
          errors: [{ path: 'body.title', code: 'too_big' }],
        },
      });
      await hands.press(link('Requests').first());
      await hands.choose(field('Status'), 'Rejected (4xx)');
      await hands.write(field('Request ID'), id);
      await page.keyboard.press('Enter');
      await page.waitForURL(new RegExp(`id=${id}`));
      await hands.press(link('POST /assignments'));
      await says('The value is too long or too large.');
      await page.getByRole('rowheader', { name: 'body.title' }).waitFor();
      expect(await findFaults(page)).toEqual([]);
      await page.goBack();
      await page.getByText('1 entry shown').waitFor();
    },
  ],
];

const TASKS = [...KEY_TASKS, ...WEBHOOK_TASKS, ...TEAM_TASKS, ...CRM_TASKS, ...INSIGHT_TASKS];

describe.skipIf(SKIPPED !== '')(`the admin page: tasks${SKIPPED}`, () => {
  beforeAll(async () => {
    receiver = await startReceiver();
    const teams = WAY_NAMES.map(makeTaskTeam);
    api = await startTestApi({ allowPrivateTargets: true, seed: makeSeed(teams) });
    await api.db.pool.query(
      `insert into api_key_usage (team_id, day, key_id, count_2xx)
       select team_id, current_date, id, 40
       from api_key
       where name = 'by_admin'`,
    );
    await startDeliveries(api, { clock: systemClock });
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await receiver?.stop();
  });

  describe.each(WAY_NAMES)('by the %s an admin', (way) => {
    it.each(TASKS)('%s', async (_name, path, act) => {
      const { page, complaints } = await openAdminPage(browser, api, { path, team: way });
      await act(worldOf(page, way));
      // A refusal is a part of some tasks.
      expect(complaints.filter((one) => !one.includes('422'))).toEqual([]);
      await page.context().close();
    });
  });
});

function worldOf(page: Page, way: Way): World {
  return {
    page,
    way,
    hands: WAYS[way](page),
    button: (name) => page.getByRole('button', { name, exact: true }),
    link: (name) => page.getByRole('link', { name }),
    field: (label) => page.getByLabel(label, { exact: true }),
    says: (text) => page.getByText(text).first().waitFor(),
  };
}

function makeTaskTeam(way: Way): TeamSeed {
  const endpoint = (id: string, description: string) => ({
    id: `whe_${id}`,
    url: `${receiver.url}/${way}/${id}`,
    description,
    events: ['member.joined' as const],
  });
  return makeTeam(way, {
    members: [makeMember(way, 'leaver')],
    trainings: [makeTraining(way, `trn_${way}`)],
    privacy: { leaderboard_enabled: false },
    webhook_endpoints: [
      endpoint('steady', 'Steady'),
      endpoint('back', 'Back again'),
      endpoint('dead', 'Dead'),
    ],
    webhook_deliveries: [
      makeFailed('whd_back', 'whe_back'),
      ...['1', '2', '3'].map((id) => makeFailed(`whd_dead_${id}`, 'whe_dead')),
    ],
  });
}

/** Reads the team's CRM as the job of a worker does. */
async function syncAll({ way }: World): Promise<void> {
  const { rows } = await api.db.pool.query<{ id: string }>(
    `select id from crm_connection where team_id = $1`,
    [`team_${way}`],
  );
  for (const { id } of rows)
    await syncAtOnce(
      { db: api.db, clock: systemClock },
      { teamId: `team_${way}`, connectionId: id },
    );
}
