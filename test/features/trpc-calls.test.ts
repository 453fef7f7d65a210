// What is counted of a request to the tRPC API is what tRPC runs, however odd its address is.
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { getTRPCErrorShape, TRPCError } from '@trpc/server';
import { beforeAll, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { appRouter } from '../../src/routers/routers.ts';
import { openConnection, requestBytes, sendBytes } from '../contract/raw-http.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { tokenOf } from '../support/app.ts';
import { makeSeed, makeTeam, userId } from '../support/seed.ts';

const NOW = new Date('2026-11-02T09:00:20.000Z');

let api: TestApi;
let authorization: string;
const logged: { msg: string; procedure?: string; status?: number }[] = [];
beforeAll(async () => {
  const onLog = (line: string) => logged.push(JSON.parse(line) as (typeof logged)[number]);
  api = await startTestApi({ clock: fixedClock(NOW), seed: makeSeed([makeTeam('a')]), onLog });
  const owner = { kind: 'user', userId: userId('a', 'owner'), teamId: 'team_a' } as const;
  authorization = `Bearer ${await tokenOf(owner, NOW)}`;
});

async function counted(): Promise<number> {
  const { rows } = await api.db.pool.query<{ count: number }>(
    `select count from team_counter where team_id = 'team_a' and bucket = 'app'`,
  );
  return rows[0]?.count ?? 0;
}

interface Answer {
  readonly status: number | undefined;
  readonly body: unknown;
}

/** Sends the target as it is. */
async function ask(method: string, path: string, body = ''): Promise<Answer> {
  const headers = { authorization, 'content-type': 'application/json' };
  const sent = request({ host: '127.0.0.1', port: api.port, method, path, headers });
  sent.end(method === 'GET' ? undefined : body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  const answer = await text(response);
  const isJson = response.headers['content-type']?.startsWith('application/json');
  return { status: response.statusCode, body: isJson ? JSON.parse(answer) : answer };
}

/** How many calls the answer has outcomes of. */
function ran({ body }: Answer): number {
  return Array.isArray(body) ? body.length : 1;
}

/** The same numbers in each run. */
function chanceOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const NAMES = ['v1.me.get', 'v1.cases.create', 'nothing', '', '%76%31.me.get', 'v1.me.get%00'];
const COMMAS = [',', '%2C', '%2c', '%252c', '/', '%2F', ';', '?', '%3F', '&', '%26'];
const QUERIES =
  '? ?x=? ?x=%3F ?& ?; ?# ?%3f ?? ?batch=0 ?batch ?batch=1 &batch=1 &batch=0 &batch=%31 ' +
  '&b%61tch=1 &BATCH=1 &batch[]=1 &batch=1? &input=%7B%7D &input={"0":{},"1":{}} &batch=01 ' +
  '&+batch=1 &batch=+1 ;batch=1';

describe('calls are counted as they are run', () => {
  test('at each of 200 odd addresses', async () => {
    const chance = chanceOf(7);
    const pick = (all: readonly string[]): string => all[chance(all.length)] ?? '';
    const several = (all: readonly string[], most: number): string[] =>
      Array.from({ length: chance(most + 1) }, () => pick(all));
    const wrong: unknown[] = [];
    for (let index = 0; index < 200; index += 1) {
      const path = several(NAMES, 4).flatMap((name) => [name, pick(COMMAS)]);
      const target = `/trpc/${[...path, pick(NAMES), ...several(QUERIES.split(' '), 5)].join('')}`;
      const before = await counted();
      const answer = await ask(chance(2) === 0 ? 'GET' : 'POST', target, '{}');
      const difference = (await counted()) - before;
      // What is refused before it is counted ran nothing.
      const isRefused = answer.status === 400 && !Array.isArray(answer.body) && difference === 0;
      // tRPC refuses a batch of reads and changes as a whole, and it counts as what it holds.
      const isSame = Array.isArray(answer.body) ? difference === ran(answer) : difference > 0;
      if (!isRefused && !isSame) wrong.push([target, difference, ran(answer)]);
    }
    expect(wrong).toEqual([]);
  });

  test('changes too, behind a second question mark', async () => {
    const calls = 3;
    const names = Array.from({ length: calls }, () => 'v1.members.create').join(',');
    const inputs = Object.fromEntries(
      Array.from({ length: calls }, (_, index) => [index, { email: `new${index}@a.test` }]),
    );
    const before = await counted();
    const answer = await ask('POST', `/trpc/${names}?x=?&batch=1`, JSON.stringify(inputs));
    expect(answer.body).toEqual(
      Array.from({ length: calls }, () => ({ result: expect.anything() })),
    );
    expect((await counted()) - before).toBe(calls);
  });

  test('and a path that cannot be decoded is refused before', async () => {
    const before = await counted();
    expect((await ask('GET', '/trpc/v1.me.get%ff?batch=1')).status).toBe(400);
    expect(await counted()).toBe(before);
  });
});

test('a change that is not sent as JSON is refused by us, with a body or without one', async () => {
  logged.length = 0;
  const types = [
    'multipart/form-data; boundary=x',
    'application/octet-stream',
    'text/plain',
    null,
  ] as const;
  for (const type of types)
    for (const body of [null, '', 'x'])
      for (const query of ['', '?batch=1']) {
        const response = await fetch(`${api.url}/trpc/v1.members.create${query}`, {
          method: 'POST',
          headers: { authorization, ...(type && { 'content-type': type }) },
          body: body === null ? null : Buffer.from(body),
        });
        expect([type, response.status, await response.json()]).toMatchObject([
          type,
          415,
          { error: { data: { problem: { code: 'bad_request', status: 415 } } } },
        ]);
      }
  const calls = logged.filter(({ msg }) => msg === 'call');
  expect(calls).toHaveLength(24);
  for (const call of calls)
    expect(call).toMatchObject({ procedure: 'v1.members.create', status: 415 });
});

test('a change whose body turns out to be empty is refused as one without a body', async () => {
  const lines = [`Authorization: ${authorization}`, 'Content-Type: application/json'];
  for (const query of ['', '?batch=1'])
    for (const [length, body] of [
      ['Content-Length: 0', ''],
      ['Transfer-Encoding: chunked', '0\r\n\r\n'],
    ] as const) {
      logged.length = 0;
      const line = `POST /trpc/v1.cases.create${query} HTTP/1.1`;
      const { status } = await sendBytes(api.port, requestBytes(line, [...lines, length], body));
      expect([length, status]).toEqual([length, 400]);
      expect(logged).toMatchObject([{ level: 30, msg: 'call', status: 400, code: 'bad_request' }]);
    }
});

describe('what tRPC refuses before it runs a call has our problem', () => {
  const INPUT = encodeURIComponent('{}');
  const refused = async (method: string, target: string, headers: Record<string, string>) => {
    const response = await fetch(`${api.url}/trpc/${target}`, {
      method,
      headers: { authorization, ...headers },
      ...(method === 'POST' && { body: '{}' }),
    });
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { message: string; data: object } };
    expect(error.message).toBe('Ungültige Anfrage');
    expect(error.data).toMatchObject({
      code: 'BAD_REQUEST',
      problem: { code: 'bad_request', status: 400, request_id: expect.any(String) },
    });
    return error.data as { problem: { detail: string } };
  };

  test.each(['trpc-accept', 'accept'])('JSON lines without a batch, by %s', async (name) => {
    const headers = { [name]: 'application/jsonl' };
    const { problem } = await refused('GET', `v1.me.get?input=${INPUT}`, headers);
    expect(problem.detail).toContain('must be batched');
    const batch = await fetch(`${api.url}/trpc/v1.me.get?batch=1&input={"0":{}}`, {
      headers: { authorization, ...headers },
    });
    expect([batch.status, await batch.text()]).toEqual([200, expect.stringContaining('"team_a"')]);
  });

  test.each(['GET', 'POST'])('a batch of readings and changes, by %s', async (method) => {
    const headers = { 'content-type': 'application/json' };
    const { problem } = await refused(method, 'v1.me.get,v1.cases.create?batch=1', headers);
    expect(problem.detail).toContain('Cannot mix');
  });

  test('a reading that is announced as a form', async () => {
    const headers = { 'content-type': 'multipart/form-data; boundary=x' };
    const { problem } = await refused('GET', `v1.me.get?input=${INPUT}`, headers);
    expect(problem.detail).toContain('multipart/form-data');
  });
});

describe('no host of a caller ends the process', () => {
  const SERVED = { GET: 200, HEAD: 204, POST: 422 };
  const METHODS = Object.keys(SERVED) as (keyof typeof SERVED)[];
  const HOSTS = ['', 'x:99999', '[x]', 'a_b.test', 'a b', 'u:p@x'];

  test.each(HOSTS.flatMap((host) => METHODS.map((method) => [method, host] as const)))(
    '%s with the host %j',
    async (method, host) => {
      const connection = openConnection(api.port);
      const lines = [`Host: ${host}`, `Authorization: ${authorization}`, 'Connection: close'];
      const isChange = method === 'POST';
      const target = isChange ? 'v1.cases.create' : 'v1.me.get?input=%7B%7D';
      if (isChange) lines.push('Content-Type: application/json', 'Content-Length: 2');
      const head = [`${method} /trpc/${target} HTTP/1.1`, ...lines].join('\r\n');
      connection.send(`${head}\r\n\r\n${isChange ? '{}' : ''}`);
      const isRefused = /[ @]/.test(host);
      const status = isRefused ? 400 : SERVED[method];
      expect((await connection.ended()).split('\r\n')[0]).toContain(`HTTP/1.1 ${status} `);
      expect((await fetch(`${api.url}/healthz`)).status).toBe(200);
    },
  );

  test('an error without a problem has a status, too', () => {
    const error = new TRPCError({ code: 'BAD_REQUEST', message: 'Invalid URL' });
    const unknown = { type: 'unknown', path: undefined, input: undefined, ctx: undefined } as const;
    expect(getTRPCErrorShape({ config: appRouter._def._config, error, ...unknown })).toMatchObject({
      message: 'internal',
      data: { code: 'BAD_REQUEST', httpStatus: 400, problem: null },
    });
  });
});
