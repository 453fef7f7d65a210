// The client package and its command before a server that loses, delays or replaces its answers:
// each kind of loss for each kind of call. What was asked for is done once, or a clear error says
// that it is not known.
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { ask, ApiError as CommandError } from '../../src/client/ask.ts';
import type { Options } from '../../src/client/command-options.ts';
import {
  ApiError,
  ConnectionError,
  createClient,
  followEvents,
  type Client,
} from '../../src/client/index.ts';
import { listen } from '../../src/client/listen.ts';
import { trigger } from '../../src/client/trigger.ts';
import { systemClock } from '../../src/core/clock.ts';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { LOSSES, startLossyProxy, type Loss, type LossyProxy } from '../support/lossy-proxy.ts';
import { findFreePort } from '../support/ports.ts';
import { startReceiver, status, type Receiver } from '../support/receiver.ts';
import { makeMember, makeSeed, makeTeam, memberId, userId } from '../support/seed.ts';
import { until } from '../support/until.ts';

/** Longer than any answer takes, except for an attempt whose end the test waits for. */
const timeoutMsOf = (loss: Loss): number => (loss === 'too late' ? 200 : 60_000);
/** Losses after which the next attempt is answered, however long it takes. */
const TIMELY: readonly Loss[] = LOSSES.filter((loss) => loss !== 'too late');
const SECRET = 'whsec_c2VjcmV0IG9mIHRoZSBleGFtcGxlLCBvZiAzMyBieXRlcyEh';

let api: TestApi;
let receiver: Receiver;
beforeAll(async () => {
  const leavers = LOSSES.map((_, n) => makeMember('lost', `leaver_${n}`));
  const cases = [1, 2, 3].map((n) => ({
    id: `cas_${n}`,
    user_id: userId('lost', 'member'),
    title: 'A case',
  }));
  api = await startTestApi({
    seed: makeSeed([
      makeTeam('lost', { members: leavers, cases }),
      makeTeam('heard'),
      makeTeam('again'),
    ]),
  });
  receiver = await startReceiver();
  // It gives events their places in the order that `listen` reads.
  await startDeliveries(api, { clock: systemClock });
  return () => receiver.stop();
});

/** Looks at every loss at once: most of the time they wait. Returns what came of each. */
async function ofEach<T>(losses: readonly Loss[], look: (loss: Loss) => Promise<T>) {
  const found = await Promise.all(losses.map(async (loss) => [loss, await look(loss)] as const));
  return Object.fromEntries(found);
}
const same = <T>(losses: readonly Loss[], value: (loss: Loss) => T) =>
  Object.fromEntries(losses.map((loss) => [loss, value(loss)]));

/** A client of a proxy of its own. `refused` losses shut the proxy for that attempt. */
async function clientFor(
  loss: Loss,
  maxRetries?: number,
): Promise<{ client: Client; proxy: LossyProxy; attempts: () => number }> {
  const proxy = await startLossyProxy(api.url);
  let attempts = 0;
  const client = createClient({
    apiKey: api.key('team_lost'),
    baseUrl: proxy.url + BASE_PATH,
    timeoutMs: timeoutMsOf(loss),
    ...(maxRetries !== undefined && { maxRetries }),
    fetch: async (request) => {
      const lost = proxy.losses[0];
      if (lost !== undefined) attempts += 1;
      const isRefused = lost === 'refused';
      if (isRefused) await proxy.shut();
      try {
        const response = await fetch(request);
        // A busy machine may still run the call before, or answer none in time: the same attempt
        // comes again.
        if (lost === undefined && response.ok) attempts += 1;
        return response;
      } finally {
        if (isRefused) {
          proxy.losses.shift();
          await proxy.open();
        }
      }
    },
  });
  return { client, proxy, attempts: () => attempts };
}

const countMembers = async (email: string): Promise<number> => {
  const { rows } = await api.db.pool.query<{ n: number }>(
    'select count(*)::int as n from member where email = $1',
    [email],
  );
  return rows[0]?.n ?? 0;
};

describe('a call whose answer is lost once', { concurrent: true }, () => {
  test('of a read', async () => {
    const seen = await ofEach(TIMELY, async (loss) => {
      const { client, proxy, attempts } = await clientFor(loss);
      proxy.losses.push(loss);
      const { id } = await client.members.get({ member_id: memberId('lost', 'member') });
      return [id, attempts()];
    });
    expect(seen).toEqual(same(TIMELY, () => [memberId('lost', 'member'), 2]));
  });

  test('of a POST acts once, with one key', async () => {
    const seen = await ofEach(TIMELY, async (loss) => {
      const { client, proxy, attempts } = await clientFor(loss);
      const email = `${loss.replaceAll(' ', '-')}@once.test`;
      proxy.losses.push(loss);
      const member = await client.members.create({ email });
      const keys = [...new Set(proxy.requests.map(({ key }) => key))];
      return [member.email, attempts(), await countMembers(email), keys];
    });
    const key = expect.stringMatching(/^[\w-]{36}$/);
    expect(seen).toEqual(
      same(TIMELY, (loss) => [`${loss.replaceAll(' ', '-')}@once.test`, 2, 1, [key]]),
    );
  });

  test('of a PATCH, and of a DELETE that has worked already', async () => {
    const seen = await ofEach(TIMELY, async (loss) => {
      const { client, proxy } = await clientFor(loss);
      const member_id = memberId('lost', `leaver_${LOSSES.indexOf(loss)}`);
      proxy.losses.push(loss);
      const { role } = await client.members.update({ member_id, role: 'admin' });
      proxy.losses.push(loss);
      return [role, await client.members.remove({ member_id })];
    });
    expect(seen).toEqual(same(TIMELY, () => ['admin', { ok: true }]));
  });

  test('of a later page gives each entry once', async () => {
    const seen = await ofEach(TIMELY, async (loss) => {
      const { client, proxy, attempts } = await clientFor(loss);
      const ids: string[] = [];
      for await (const { id } of client.cases.list({ limit: 1 }))
        if (ids.push(id) === 1) proxy.losses.push(loss);
      return [ids.toSorted(), attempts()];
    });
    expect(seen).toEqual(same(TIMELY, () => [['cas_1', 'cas_2', 'cas_3'], 4]));
  });
});

describe('a call whose answers are all lost', { concurrent: true }, () => {
  const noResponse = { name: 'ConnectionError', message: expect.stringMatching(/^No response of/) };
  const noneOfTheApi = (code: number) => ({
    name: 'ConnectionError',
    message: expect.stringContaining(`is none of the API; its status is ${code}.`),
    status: code,
  });
  const EXPECTED: Readonly<Record<Loss, object>> = {
    refused: noResponse,
    'reset before the request was passed on': noResponse,
    'reset before the headers': noResponse,
    'half of the headers': noResponse,
    'half of the body': noResponse,
    'too late': { ...noResponse, cause: expect.objectContaining({ name: 'TimeoutError' }) },
    '500': { status: 500, code: 'internal', requestId: 'req_of_the_test' },
    '502 with a page': noneOfTheApi(502),
    '503 with a number as code': noneOfTheApi(503),
    '504 with a text as code': noneOfTheApi(504),
    '503': { status: 503, code: 'unavailable' },
    '429': { status: 429, code: 'rate_limited' },
    '200 with a page': noneOfTheApi(200),
  };

  test('says so, and has acted once at most', async () => {
    const seen = await ofEach(LOSSES, async (loss) => {
      const { client, proxy, attempts } = await clientFor(loss, 1);
      const email = `${loss.replaceAll(' ', '-')}@never.test`;
      proxy.losses.push(loss, loss);
      const error = await client.members.create({ email }).catch((thrown: unknown) => thrown);
      const isOurs = error instanceof ApiError || error instanceof ConnectionError;
      return { error, isOurs, attempts: attempts(), acted: (await countMembers(email)) < 2 };
    });
    expect(seen).toMatchObject(
      same(LOSSES, (loss) => ({ error: EXPECTED[loss], isOurs: true, attempts: 2, acted: true })),
    );
  });

  test('follows no redirect: a POST would become a GET, whose answer is another one', async () => {
    receiver.on('/moved/users', status(301, '', { location: `${api.base}/users` }));
    const apiKey = api.key('team_lost');
    const client = createClient({ apiKey, baseUrl: `${receiver.url}/moved`, maxRetries: 0 });
    await expect(client.members.create({ email: 'moved@lost.test' })).rejects.toMatchObject({
      message: expect.stringContaining('is none of the API; its status is 301.'),
    });
  });
});

describe('a redirect', () => {
  const apiKey = 'svck_live_the_key';
  const elsewhere = async () => {
    const other = await startReceiver();
    onTestFinished(() => other.stop());
    for (const code of [301, 302, 303, 307, 308])
      receiver.on(`/to/${code}/me`, status(code, '{}', { location: `${other.url}/me` }));
    return other;
  };

  test.each([301, 302, 303, 307, 308])('%s is not followed, and gets no key', async (code) => {
    const other = await elsewhere();
    const baseUrl = `${receiver.url}/to/${code}`;
    const client = createClient({ apiKey, baseUrl, maxRetries: 0 });
    await expect(client.me.get()).rejects.toMatchObject({
      message: expect.stringContaining(`is none of the API; its status is ${code}.`),
    });
    const message = `The API is not at ${baseUrl}/me, which leads elsewhere (${code}).`;
    await expect(ask(`${baseUrl}/me`, {})).rejects.toThrow(new CommandError(message));
    expect(other.requests).toEqual([]);
  });
});

test.each([
  ['a number', '70', [70_000, 70_000]],
  // A date has no milliseconds, and some of its time has passed.
  ['a date', () => new Date(Date.now() + 600_000).toUTCString(), [480_000, 600_000]],
  ['more than timers can hold', '99999999999', [3_600_000, 3_600_000]],
] as const)('followEvents waits as Retry-After says: %s', async (name, given, [least, most]) => {
  const baseUrl = `${receiver.url}/later/${name.replaceAll(' ', '-')}`;
  const problem = JSON.stringify({
    status: 429,
    code: 'rate_limited',
    title: 'Too many',
    request_id: 'r1',
  });
  const headers = { 'retry-after': typeof given === 'function' ? given() : given };
  receiver.on(
    `${new URL(baseUrl).pathname}/events?order=asc&after=now&limit=1`,
    status(429, problem, headers),
  );
  const client = createClient({ apiKey: 'svck_live_x', baseUrl });
  const ended = new AbortController();
  const waits: number[] = [];
  const onOutage = ({ waitMs }: { waitMs: number }): void => {
    waits.push(waitMs);
    ended.abort();
  };
  for await (const event of followEvents(client, { onOutage, signal: ended.signal }))
    throw new Error(`there is no ${event.id}`);
  expect(waits).toHaveLength(1);
  expect(waits[0]).toBeGreaterThanOrEqual(least);
  expect(waits[0]).toBeLessThanOrEqual(most);
});

const optionsFor = (command: Options['command'], proxy: LossyProxy, path: string): Options => ({
  command,
  apiUrl: proxy.url + BASE_PATH,
  apiKey: api.key('team_heard'),
  forwardTo: receiver.url + path,
  secret: SECRET,
  events: command === 'trigger' ? ['ping'] : [],
  since: new Date(Date.now() - 3_600_000),
  replayMs: 0,
  isJson: false,
});

const store = (id: string, teamId = 'team_heard', ageS = 60): Promise<unknown> =>
  api.db.pool.query(
    `insert into event (team_id, id, type, data, created_at)
     values ($1, $2, 'member.joined', '{}', now() - $3 * interval '1 second')
     on conflict do nothing`,
    [teamId, id, ageS],
  );

describe('the command', { concurrent: true }, () => {
  test('listen says it, goes on, and posts each event once', async () => {
    await store('evt_heard');
    const seen = await ofEach(TIMELY, async (loss) => {
      const proxy = await startLossyProxy(api.url);
      const path = `/listen/${TIMELY.indexOf(loss)}`;
      if (loss === 'refused') await proxy.shut();
      else proxy.losses.push(loss);
      const ended = new AbortController();
      const lines: string[] = [];
      const print = (line: string): void => {
        lines.push(line);
        if (loss === 'refused' && lines.length === 1) void proxy.open();
      };
      const options = optionsFor('listen', proxy, path);
      const done = listen(options, SECRET, { print, signal: ended.signal });
      const posted = receiver.arrived(path, 1).then(() => until(() => lines.length === 3));
      const thrown = await Promise.race([posted, done]).then(() => null, String);
      ended.abort();
      if (thrown === null) await done;
      return { thrown, lines, posted: receiver.requestsTo(path).length };
    });
    const lines = [
      expect.stringMatching(/; asking again in \d s$/),
      expect.stringMatching(/^Waiting for events since 20/),
      expect.stringContaining(' member.joined evt_heard -> 200 in '),
    ];
    expect(seen).toEqual(same(TIMELY, () => ({ thrown: null, lines, posted: 1 })));
  });

  test('listen posts no event again, however often it asks', async () => {
    const proxy = await startLossyProxy(api.url);
    const ended = new AbortController();
    const lines: string[] = [];
    const print = (line: string) => lines.push(line);
    const terminal = { print, signal: ended.signal, intervalMs: 20 };
    const options = { ...optionsFor('listen', proxy, '/once'), apiKey: api.key('team_again') };
    await store('evt_first', 'team_again', 120);
    const done = listen(options, SECRET, terminal);
    await until(() => lines.length === 2);
    // Committed late: its time is before that of the other one.
    await store('evt_second', 'team_again', 180);
    await until(() => lines.length === 3);
    const looks = proxy.requests.length;
    await until(() => proxy.requests.length >= looks + 3);
    ended.abort();
    await done;
    expect(lines.slice(1)).toEqual([
      expect.stringContaining(' evt_first -> 200 in '),
      expect.stringContaining(' evt_second -> 200 in '),
    ]);
  });

  test('trigger says it and ends', async () => {
    const seen = await ofEach(TIMELY, async (loss) => {
      const proxy = await startLossyProxy(api.url);
      const options = optionsFor('trigger', proxy, '/trigger');
      if (loss === 'refused') await proxy.shut();
      else proxy.losses.push(loss);
      const lines: string[] = [];
      const terminal = {
        print: (line: string) => lines.push(line),
        signal: new AbortController().signal,
      };
      const error = await trigger(options, SECRET, terminal).catch((thrown: unknown) => thrown);
      if (loss === 'refused') await proxy.open();
      await trigger(options, SECRET, terminal);
      return { error, lines };
    });
    expect(seen).toMatchObject(
      same(TIMELY, () => ({
        error: { name: 'ApiError', message: expect.stringMatching(/^The (API|response) /) },
        lines: [expect.stringMatching(/ ping evt_example_\d+ -> 200 in /)],
      })),
    );
  });

  test('listen ends at once while the API is silent', async () => {
    const proxy = await startLossyProxy(api.url);
    proxy.losses.push('too late');
    const ended = new AbortController();
    const lines: string[] = [];
    const terminal = { print: (line: string) => lines.push(line), signal: ended.signal };
    const done = listen(optionsFor('listen', proxy, '/silent'), SECRET, terminal);
    await until(() => proxy.requests.length === 1);
    ended.abort();
    await done;
    expect(lines).toEqual([]);
  });

  test('what is too late is no answer', async () => {
    const proxy = await startLossyProxy(api.url);
    proxy.losses.push('too late');
    const asked = ask(`${proxy.url}${BASE_PATH}/openapi.v1.json`, { timeoutMs: 200 });
    await expect(asked).rejects.toThrow(new CommandError('The API does not answer (no answer)'));
  });

  test('listen tells what became of an event, and goes on with the next one', async () => {
    await store('evt_heard');
    const proxy = await startLossyProxy(api.url);
    const forwarded = await startLossyProxy(receiver.url);
    const losses = TIMELY.filter((loss) => loss !== 'refused');
    const options = optionsFor('trigger', proxy, '');
    const lines: string[] = [];
    const terminal = {
      print: (line: string) => lines.push(line),
      signal: new AbortController().signal,
    };
    const to = { ...options, forwardTo: `${forwarded.url}/forwarded` };
    for (const loss of losses) {
      forwarded.losses.push(loss);
      await trigger(to, SECRET, terminal);
    }
    await trigger(
      { ...to, forwardTo: `http://127.0.0.1:${await findFreePort()}/` },
      SECRET,
      terminal,
    );
    const outcomes = lines.map((line) => / -> (\S.*) in \d+ ms/.exec(line)?.[1]);
    expect(forwarded.requests).toHaveLength(losses.length);
    expect(outcomes.map((one) => (/^\d{3}$/.test(one ?? '') ? one : typeof one))).toEqual([
      'string',
      'string',
      'string',
      'string',
      '500',
      '502',
      '503',
      '504',
      '503',
      '429',
      '200',
      'string',
    ]);
    expect(outcomes.at(-1)).toBe('ECONNREFUSED');
  });
});
