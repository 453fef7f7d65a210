// The list of a team's events, and the command for development that follows it.
import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createClient, followEvents, type WebhookEvent } from '../../src/client/index.ts';
import { runCommand } from '../../src/client/run-command.ts';
import { systemClock } from '../../src/core/clock.ts';
import { EVENT_TYPES } from '../../src/core/events.ts';
import { verifyWebhook } from '../../src/client/webhook-verification.ts';
import { verifyDelivery } from '../../src/docs/examples/verify-standardwebhooks.js';
import { startTestApi, type TestApi } from '../support/api.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { startReceiver, status, type Receiver } from '../support/receiver.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';
import { until } from '../support/until.ts';

const HOUR_MS = 3_600_000;
const TEAMS = ['client', 'list', 'filter', 'switch', 'past', 'follow', 'replay', 'foreign'];

let api: TestApi;
let receiver: Receiver;
/** Where the command keeps its secret. */
let config: string;
beforeAll(async () => {
  config = await makeFolder('config');
  receiver = await startReceiver();
  api = await startTestApi({
    seed: makeSeed(TEAMS.map((name) => makeFullTeam(name, { webhook_endpoints: [] }))),
  });
  // It gives events their places in the order that the client reads.
  await startDeliveries(api, { clock: systemClock });
});

const agoIso = (ms: number): string => new Date(Date.now() - ms).toISOString();

/** Stores an event of the team, as it is after its fan-out. */
const store = (team: string, id: string, type: string, at: string, data: object = {}) =>
  api.db.pool.query(
    `insert into event (team_id, id, type, data, created_at, fanned_out_at)
     values ($1, $2, $3, $4, $5, $5)`,
    [team, id, type, JSON.stringify({ team_id: team, ...data }), at],
  );

const list = async (team: string, query = '') =>
  (await api.call(api.key(team), 'GET', `/events${query}`)).body;
const idsOf = (page: { data: { id: string }[] }): string[] => page.data.map(({ id }) => id);

describe('GET /events', () => {
  test("200: has all of the team's events as webhooks deliver them, newest first", async () => {
    const invited = await api.call(api.key('team_list'), 'POST', '/users', {
      body: { email: 'new@list.test' },
    });
    await store('team_list', 'evt_old', 'crm.sync.failed', agoIso(HOUR_MS), { provider: 'x' });
    await store('team_foreign', 'evt_old', 'crm.sync.failed', agoIso(HOUR_MS));
    const page = await list('team_list');
    expect(page).toEqual({
      data: [
        {
          id: expect.stringMatching(/^evt_/),
          type: 'member.joined',
          created_at: expect.any(String),
          api_version: '2026-11',
          tenant_id: 'team_list',
          data: { team_id: 'team_list', member_id: invited.body.id, role: 'member', user_id: null },
        },
        {
          id: 'evt_old',
          type: 'crm.sync.failed',
          created_at: expect.any(String),
          api_version: '2026-11',
          tenant_id: 'team_list',
          data: { team_id: 'team_list', provider: 'x' },
        },
      ],
      next_cursor: null,
    });
  });

  test('200: pages and filters neither repeat nor skip an event', async () => {
    const at = Array.from({ length: 7 }, (_, index) => agoIso((7 - index) * 60_000));
    for (const [index, time] of at.entries())
      await store('team_filter', `evt_${index}`, EVENT_TYPES[index % 2] ?? '', time);
    const paged: string[] = [];
    let cursor: string | null = '';
    while (cursor !== null) {
      const more: string = cursor === '' ? '' : `&cursor=${cursor}`;
      const page = await list('team_filter', `?type=${EVENT_TYPES[0]}&limit=2${more}`);
      paged.push(...idsOf(page));
      cursor = page.next_cursor;
    }
    expect(paged).toEqual(['evt_6', 'evt_4', 'evt_2', 'evt_0']);
    expect(idsOf(await list('team_filter', `?since=${at[5]}`))).toEqual(['evt_6', 'evt_5']);
    const both = await list('team_filter', `?since=${at[3]}&type=${EVENT_TYPES[1]}`);
    expect(idsOf(both)).toEqual(['evt_5', 'evt_3']);
  });

  test.each([
    [true, true],
    [true, false],
    [false, true],
    [false, false],
  ])(
    '200: shows a person if the privacy switch was on then (%s), and is on now (%s)',
    async (then, now) => {
      const setSwitch = (value: boolean) =>
        api.db.pool.query('update team set member_detail_enabled = $1 where id = $2', [
          value,
          'team_switch',
        ]);
      await setSwitch(then);
      const email = `switch-${then}-${now}@test.test`;
      await api.call(api.key('team_switch'), 'POST', '/users', { body: { email } });
      await setSwitch(now);
      const { data } = (await list('team_switch', '?limit=1')).data[0];
      expect(data).toMatchObject({ team_id: 'team_switch', role: 'member' });
      expect('user_id' in data).toBe(then && now);
    },
  );

  test('200: nothing is left of an unknown type while the privacy switch is off', async () => {
    await store('team_foreign', 'evt_next', 'person.scored', agoIso(0), { score: 7 });
    const data = async () => (await list('team_foreign', '?limit=1')).data[0].data;
    expect(await data()).toEqual({ team_id: 'team_foreign', score: 7 });
    await api.db.pool.query(
      `update team set member_detail_enabled = false where id = 'team_foreign'`,
    );
    expect(await data()).toEqual({});
  });

  test('422: an unknown type, and the cursor of another list', async () => {
    const key = api.key('team_list');
    const misspelt = await api.call(key, 'GET', '/events?type=member.join');
    expect(misspelt).toMatchObject({ status: 422, body: { field: 'type' } });
    const { next_cursor } = (await api.call(key, 'GET', '/users?limit=1')).body;
    const foreign = await api.call(key, 'GET', `/events?cursor=${next_cursor}`);
    expect(foreign).toMatchObject({ status: 422, body: { field: 'cursor' } });
  });

  test('403: without webhooks:manage', async () => {
    const key = api.key('team_list', 'users:read');
    expect(await api.call(key, 'GET', '/events')).toMatchObject({
      status: 403,
      body: { required_scope: 'webhooks:manage' },
    });
  });
});

describe('followEvents of the client', () => {
  test('yields a past of several pages oldest first, and goes on at its place', async () => {
    const ids = Array.from({ length: 450 }, (_, n) => `evt_${String(n).padStart(3, '0')}`);
    await api.db.pool.query(
      `insert into event (team_id, id, type, data, created_at, fanned_out_at)
       select 'team_client', id, 'ping', '{}', now() - interval '1 hour' + n * interval '1 second',
         now()
       from unnest($1::text[]) with ordinality as given (id, n)`,
      [ids],
    );
    const client = createClient({ apiKey: api.key('team_client'), baseUrl: api.base });
    const since = new Date(Date.now() - 2 * HOUR_MS);
    let place: string | null = null;
    const onPlace = (text: string): void => void (place = text);
    const take = async (until: (event: WebhookEvent) => boolean) => {
      const ended = new AbortController();
      const seen: string[] = [];
      const options = { since, place, onPlace, intervalMs: 50, signal: ended.signal };
      for await (const event of followEvents(client, options)) {
        seen.push(event.id);
        if (until(event)) ended.abort();
      }
      return seen;
    };
    expect(await take(({ id }) => id === 'evt_299')).toEqual(ids.slice(0, 300));
    await client.members.create({ email: 'new@client.test' });
    const rest = await take(({ type }) => type === 'member.joined');
    expect(rest.slice(0, -1)).toEqual(ids.slice(300));
    expect(rest).toHaveLength(151);
  });
});

/** Starts the command in this process. `end` is what a signal does. */
function start(args: readonly string[], env: Record<string, string> = {}) {
  const ended = new AbortController();
  onTestFinished(() => ended.abort());
  let text = '';
  let printed = '';
  const exited = runCommand([...args], {
    env: { API_URL: api.base, XDG_CONFIG_HOME: config, ...env },
    print: (line) => {
      printed += `${line}\n`;
      text += `${line}\n`;
    },
    printError: (line) => void (text += `${line}\n`),
    isTerminal: false,
    signal: ended.signal,
  });
  return { end: () => ended.abort(), exited, output: () => text, stdout: () => printed };
}

describe('team-customer-api listen', () => {
  const SECRET = 'whsec_c2VjcmV0IG9mIHRoZSBleGFtcGxlLCBvZiAzMyBieXRlcyEh';

  test('posts past and new events once each, signed, and prints what came back', async () => {
    const refuse = status(418, 'short\u001b[2Jand stout');
    receiver.on('/past', (...given) => {
      const isLast = receiver.requestsTo('/past').length === 3;
      return (isLast ? status(204) : refuse)(...given);
    });
    await store('team_past', 'evt_before', 'training.completed', agoIso(2 * HOUR_MS));
    await store('team_past', 'evt_b', 'training.completed', agoIso(HOUR_MS / 2));
    await store('team_past', 'evt_a', 'training.completed', agoIso(HOUR_MS / 3));
    await store('team_past', 'evt_ping', 'ping', agoIso(HOUR_MS / 4));
    const url = `${receiver.url}/past`;
    const { end, exited, output } = start(
      ['listen', '--forward-to', url, '--since', agoIso(HOUR_MS), '--secret', SECRET].concat(
        ['training.completed', 'member.joined'].flatMap((type) => ['--event', type]),
      ),
      { API_KEY: api.key('team_past') },
    );
    await receiver.arrived('/past', 2);
    await api.call(api.key('team_past'), 'POST', '/users', { body: { email: 'new@past.test' } });
    const requests = await receiver.arrived('/past', 3);
    await until(() => output().includes(' -> 204 in '));
    expect(output().split(' -> 418 in ')).toHaveLength(3);
    end();
    // The receiver has refused those before the last one.
    expect(await exited).toBe(1);

    expect(receiver.requestsTo('/past')).toHaveLength(3);
    const events = requests.map(({ body, headers }) => verifyWebhook(body, headers, SECRET));
    expect(events.map(({ id }) => id).slice(0, 2)).toEqual(['evt_b', 'evt_a']);
    expect(events[2]).toEqual((await list('team_past', '?limit=1')).data[0]);
    for (const [index, { body, headers }] of requests.entries())
      expect(verifyDelivery(body.toString(), headers, SECRET)).toEqual(events[index]);
    expect(output()).toMatch(/training\.completed evt_b -> 418 in \d+ ms\n {4}short\[2Jand stout/);
    expect(output()).not.toContain('\u001b');
  });

  test('--replay posts what happened since then, and --json prints it for programs', async () => {
    await store('team_replay', 'evt_long_ago', 'ping', agoIso(2 * HOUR_MS));
    await store('team_replay', 'evt_lately', 'ping', agoIso(HOUR_MS / 2));
    const url = `${receiver.url}/replay`;
    const args = ['listen', '--forward-to', url, '--replay', '1h', '--json', '--secret', SECRET];
    // An address without the path of the API.
    const env = { API_KEY: api.key('team_replay'), API_URL: api.url };
    const { end, exited, output, stdout } = start(args, env);
    await receiver.arrived('/replay');
    await until(() => stdout().endsWith('\n'));
    end();
    expect(await exited).toBe(0);
    expect(receiver.requestsTo('/replay')).toHaveLength(1);
    expect(JSON.parse(stdout())).toEqual({
      id: 'evt_lately',
      type: 'ping',
      created_at: expect.any(String),
      status: 200,
      error: null,
      ms: expect.any(Number),
      response: 'ok',
    });
    expect(output()).toContain('Waiting for events since');
  });

  test.each([[['typo']], [['ping', 'typo']], [['typo', 'ping']]])(
    'refuses a type that there is not, alone and beside others: %j',
    async (types) => {
      const args = ['listen', '--forward-to', 'http://localhost:9/', '--replay', '1h'];
      const { exited, output } = start(args.concat(types.flatMap((type) => ['--event', type])), {
        API_KEY: api.key('team_follow'),
      });
      expect(await exited).toBe(1);
      expect(output()).toContain('The API refused: 422 validation_error: query.type: ');
    },
  );

  test('without --since posts only new events, with a secret that it shows', async () => {
    await store('team_follow', 'evt_past', 'training.completed', agoIso(HOUR_MS));
    // An event is new to the command until it has its place.
    await until(async () => {
      const { rows } = await api.db.pool.query(`select place from event where id = 'evt_past'`);
      return rows[0]?.place;
    });
    const key = api.key('team_follow');
    const args = ['listen', '--forward-to', `${receiver.url}/follow`, '--api-key', key];
    const { output } = start(args);
    await until(() => output().includes('Waiting for events since'));
    await api.call(key, 'POST', '/users', { body: { email: 'new@follow.test' } });
    const [request] = await receiver.arrived('/follow');
    const [secret = ''] = /whsec_\S+/.exec(output()) ?? [];
    const event = verifyWebhook(request?.body ?? '', request?.headers ?? {}, secret);
    expect(event.type).toBe('member.joined');
    expect(receiver.requestsTo('/follow')).toHaveLength(1);
  });

  test.each([
    ['a wrong key', ['listen', '--forward-to', 'http://localhost:9/', '--api-key', 'x'], 'refused'],
    ['no key', ['listen', '--forward-to', 'http://localhost:9/'], 'needs an API key'],
    ['no address', ['listen', '--api-key', 'x'], '--forward-to is missing'],
    ['an unknown option', ['listen', '--all'], 'Usage'],
    ['nothing', [], 'Usage'],
    [
      'a time that is none',
      ['listen', '--api-key', 'x', '--forward-to', 'http://localhost:9/', '--replay', '1 hour'],
      '--replay must be a time such as',
    ],
    [
      'a longer past than is kept',
      ['listen', '--api-key', 'x', '--forward-to', 'http://localhost:9/', '--replay', '31d'],
      '--replay must be 30d at most',
    ],
    [
      'two beginnings',
      ['listen', '--api-key=x', '--forward-to=http://localhost:9/', '--replay=1h', '--since=2026'],
      '--since and --replay exclude each other',
    ],
    [
      'an address that is none',
      ['trigger', 'ping', '--forward-to', 'http://localhost:9/', '--api-url', 'localhost:3000'],
      '--api-url must be an http or https URL, not: localhost:3000',
    ],
    ['an unknown command', ['serve'], 'Expected the command'],
    ['an unknown event', ['trigger', 'x', '--forward-to', 'http://localhost:9/'], 'No event x'],
  ])('ends with 1 and a reason for %s', async (_what, args, reason) => {
    const { exited, output } = start(args);
    expect(await exited).toBe(1);
    expect(output()).toContain(reason);
    expect(output()).not.toContain('    at ');
  });
});

const nowhere = async (): Promise<string> => `http://127.0.0.1:${await findFreePort()}/`;

describe('team-customer-api trigger', () => {
  test('posts the documented example of the event, signed, without a key', async () => {
    const url = `${receiver.url}/trigger`;
    const { exited, output } = start(['trigger', 'evaluation.completed', '--forward-to', url]);
    expect(await exited).toBe(0);
    const [request] = receiver.requestsTo('/trigger');
    const [secret = ''] = /whsec_\S+/.exec(output()) ?? [];
    expect(verifyWebhook(request?.body ?? '', request?.headers ?? {}, secret)).toMatchObject({
      type: 'evaluation.completed',
      data: { team_id: 'team_demo', score: 71 },
    });
    expect(output()).toMatch(/evaluation\.completed evt_example_\d+ -> 200/);
  });

  test('says that nothing listens there', async () => {
    const { exited, output } = start(['trigger', 'ping', '--forward-to', await nowhere()]);
    expect(await exited).toBe(1);
    expect(output()).toContain('-> ECONNREFUSED');
  });

  test('ends with 1 if the receiver refuses it', async () => {
    receiver.on('/refuses', status(500, 'no'));
    const { exited } = start(['trigger', 'ping', '--forward-to', `${receiver.url}/refuses`]);
    expect(await exited).toBe(1);
  });

  test('says at once that the API is elsewhere, with the address', async () => {
    const elsewhere = `${receiver.url}/elsewhere`;
    receiver.on('/elsewhere/openapi.v1.json', status(404, '<html>'));
    const args = ['trigger', 'ping', '--forward-to', `${receiver.url}/trigger`];
    const { exited, output } = start([...args, '--api-url', elsewhere]);
    expect(await exited).toBe(1);
    expect(output()).toContain(
      `The response of ${elsewhere}/openapi.v1.json is none of the API; its status is 404. ` +
        'Is --api-url right?',
    );
  });

  test('signs with the same secret at every start, which only its user can read', async () => {
    const home = await makeFolder('home');
    const url = `${receiver.url}/kept`;
    const secretOf = async (env: Record<string, string>) => {
      const { exited, output } = start(['trigger', 'ping', '--forward-to', url], env);
      return [await exited, /whsec_\S+/.exec(output())?.[0], output()] as const;
    };
    const env = { XDG_CONFIG_HOME: home };
    // Two first starts at once agree.
    const [[, first], [, other]] = await Promise.all([secretOf(env), secretOf(env)]);
    expect(other).toBe(first);
    const folder = join(home, 'team-customer-api');
    const file = join(folder, 'webhook-secret');
    expect(await readdir(folder)).toEqual(['webhook-secret']);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await readFile(file, 'utf8')).trim()).toBe(first);
    await chmod(file, 0o644);
    expect((await secretOf(env))[1]).toBe(first);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    // One for a call, which is not kept.
    expect((await secretOf({ ...env, WEBHOOK_SECRET: 'whsec_other' }))[1]).toBeUndefined();
    expect((await secretOf(env))[1]).toBe(first);
    await writeFile(file, 'a note');
    const [code, , said] = await secretOf(env);
    expect(code).toBe(1);
    expect(said).toContain(`${file} holds no secret.`);
    // No folder can be made there.
    const [still, secret, told] = await secretOf({ XDG_CONFIG_HOME: file });
    expect([still, secret?.slice(0, 6)]).toEqual([0, 'whsec_']);
    expect(told).toContain('cannot be kept');
  });
});
