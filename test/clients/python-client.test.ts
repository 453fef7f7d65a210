// Our Python client, as a customer gets it: the wheel, installed by pip into an environment of its
// own, against the running service and against servers that fail.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { buildPythonClient } from '../../scripts/python-client/build.ts';
import { verifyWebhook, WebhookVerificationError } from '../../src/client/webhook-verification.ts';
import { EVENT_TYPES } from '../../src/core/events.ts';
import { deliveryHeaders, signingKeyOf } from '../../src/delivery/envelope.ts';
import { createSender } from '../../src/delivery/sender.ts';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { compileRoutes } from '../../src/http/api/routes.ts';
import { eventExample } from '../../src/http/openapi/webhooks.ts';
import { ENDPOINTS } from '../../src/routers/endpoints.ts';
import { DEMO_SANDBOX_ID, DEMO_TEAM_ID } from '../../src/seed/demo-team.ts';
import { demoSeedFile } from '../../src/seed/demo.ts';
import { startTestApi } from '../support/api.ts';
import { makeFolder } from '../support/folder.ts';
import { LOSSES, startLossyProxy } from '../support/lossy-proxy.ts';
import { findFreePort } from '../support/ports.ts';
import { installPythonClient, SKIPPED, type PythonClient } from '../support/python.ts';
import { readRecipe } from '../support/recipes.ts';
import { makeSeed, makeTeam, userId } from '../support/seed.ts';
import { until } from '../support/until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const programs = join(root, 'test/clients/python');
const run = promisify(execFile);

describe.skipIf(SKIPPED !== '')(`the Python client${SKIPPED}`, () => {
  let client: PythonClient;
  beforeAll(async () => {
    client = await installPythonClient();
  });

  const runJson = async (
    program: string,
    options: Parameters<PythonClient['run']>[1] = {},
  ): Promise<unknown> => JSON.parse(await client.run(join(programs, program), options));

  describe('the wheel', () => {
    it('is whole, needs no other package, and all its annotations resolve', async () => {
      await run(client.python, ['-m', 'zipfile', '-t', client.wheel]);
      if (client.installedBy !== 'pip') return;
      const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'));
      const seen = (await runJson('installed.py')) as { operations: string[]; methods: number };
      expect(seen).toMatchObject({ version, requires: [], all: true });
      expect(seen.methods).toBeGreaterThan(ENDPOINTS.length * 2);
      const snake = (text: string) => text.replaceAll(/[A-Z]/g, (letter) => `_${letter}`);
      const names = ENDPOINTS.map(({ name }) => snake(name).toLowerCase());
      expect(seen.operations).toEqual(names.toSorted());
    });

    it('is the same, byte for byte, if it is built again', async () => {
      const folder = await makeFolder('again');
      const again = await readFile(await buildPythonClient(folder));
      expect(again.equals(await readFile(client.wheel))).toBe(true);
    });

    it('has no link that leads nowhere outside of the developer pages', async () => {
      const names = await readdir(client.unpacked, { recursive: true });
      const name = names.find((one) => one.endsWith('METADATA')) ?? '';
      const metadata = await readFile(join(client.unpacked, name), 'utf8');
      expect(metadata).toContain('](https://api.example.com/docs/sandbox)');
      expect(metadata).not.toMatch(/\]\(\//);
      expect(metadata).not.toContain('<!--');
    });

    it('is right for a type checker, and so are the programs that use it', async () => {
      const folder = await makeFolder('pyright');
      await writeFile(join(folder, 'package.json'), '{ "private": true }');
      const install = ['install', '--no-audit', '--no-fund', '--ignore-scripts'];
      await run('npm', [...install, 'pyright@1.1.400'], { cwd: folder });
      const typed = join(client.unpacked, 'team_customer_client');
      await cp(typed, join(folder, 'team_customer_client'), { recursive: true });
      await cp(join(programs, 'every_operation.py'), join(folder, 'program.py'));
      await writeFile(join(folder, 'readme.py'), (await samples()).join('\n'));
      for (const file of ['nightly.py', 'low_score.py', 'sync_members.py', 'export_csv.py'])
        await writeFile(join(folder, file), await readRecipe(file));
      await writeFile(join(folder, 'refused.py'), REFUSED);
      const config = { typeCheckingMode: 'standard', pythonVersion: '3.11', exclude: NOT_CHECKED };
      const strict = { ...config, reportUnnecessaryTypeIgnoreComment: 'error' };
      await writeFile(join(folder, 'pyrightconfig.json'), JSON.stringify(strict));
      const pyright = join(folder, 'node_modules/pyright/index.js');
      const complaint = await run(process.execPath, [pyright], { cwd: folder }).then(
        () => '',
        (error: unknown) => (error as { stdout: string }).stdout,
      );
      expect(complaint).toBe('');
    });
  });

  describe('with the service', () => {
    it.each(['sync', 'async'])('calls every operation (%s)', async (MODE) => {
      const api = await startTestApi({ seed: demoSeedFile(), allowPrivateTargets: true });
      const env = {
        API_URL: api.base,
        API_KEY: api.key(DEMO_TEAM_ID, 'demo'),
        TEST_KEY: api.key(DEMO_SANDBOX_ID, 'demo'),
        MODE,
      };
      const requests = (await runJson('every_operation.py', { env })) as string[];
      const matchRoute = compileRoutes(ENDPOINTS);
      const called = requests.map((request) => {
        const [method = '', path = ''] = request.split(' ');
        const match = matchRoute(method, path.slice(BASE_PATH.length));
        return match.kind === 'route' ? match.route.endpoint.name : request;
      });
      expect([...new Set(called)].toSorted()).toEqual(ENDPOINTS.map(({ name }) => name).toSorted());
    });

    it('runs the samples of its guide', async () => {
      const api = await startTestApi({ seed: demoSeedFile() });
      const text = (await samples()).join('\n').replaceAll('{{api_url}}', api.base);
      const folder = await makeFolder('guide');
      await writeFile(join(folder, 'guide.py'), `${text}\nclient.close()\n`);
      const env = { API_KEY: api.key(DEMO_TEAM_ID, 'demo') };
      const printed = await client.run(join(folder, 'guide.py'), { env });
      expect(printed).toContain('mem_01jc4f3x member\n');
      expect(printed).toContain('trn_');
    });

    it('acts once, whatever becomes of the first answer', async () => {
      // The proxy cannot be shut between two calls of another process.
      const losses = LOSSES.filter((loss) => loss !== 'refused');
      const api = await startTestApi({
        seed: makeSeed([
          makeTeam('lost', {
            cases: losses.map((_, n) => ({
              id: `cas_${n}`,
              user_id: userId('lost', 'member'),
              title: 'A case',
            })),
          }),
        ]),
      });
      const seen = await Promise.all(
        losses.map(async (loss, n) => {
          const proxy = await startLossyProxy(api.url);
          // Of the four calls, every one but the first loses its first answer.
          proxy.losses.push(null, loss, null, loss, null, loss, null);
          const email = `${loss.replaceAll(' ', '-')}@once.test`;
          const env = { API_URL: proxy.url + BASE_PATH, API_KEY: api.key('team_lost') };
          const options = { env: { ...env, EMAIL: email, CASE_ID: `cas_${n}` } };
          const came = await runJson('losses.py', options);
          const posts = proxy.requests.filter(({ method }) => method === 'POST');
          const keys = new Set(posts.map(({ key }) => key));
          const { rowCount } = await api.db.pool.query('select from member where email = $1', [
            email,
          ]);
          return [loss, came, posts.length, keys.size, rowCount];
        }),
      );
      expect(seen).toEqual(
        losses.map((loss) => {
          const email = `${loss.replaceAll(' ', '-')}@once.test`;
          return [loss, [email, 'Changed', { ok: true }], 2, 1, 1];
        }),
      );
    });
  });

  describe('with a server that fails', () => {
    let seen: Record<string, { result: unknown; seconds: number; leaks: boolean }>;
    const requests: { part: string; url: string; key: unknown; socket: unknown }[] = [];
    beforeAll(async () => {
      const handle: Handler = (request, response) => {
        const [, part = '', ...rest] = (request.url ?? '').split('/');
        const key = request.headers['idempotency-key'];
        const asked = `/${rest.join('/')}`;
        requests.push({ part, url: asked, key, socket: request.socket });
        const n = requests.filter((one) => one.part === part).length;
        void answer({ part, n, url: asked, request, response });
      };
      const tls = await makeCertificate();
      const env = {
        API_URL: await listen(createServer(handle)),
        TLS_URL: (await listen(createSecureServer(tls, handle))).replace('http:', 'https:'),
        SSL_CERT_FILE: tls.file,
      };
      seen = (await runJson('scripted.py', { env })) as typeof seen;
    });
    const result = (part: string) => seen[part]?.result;
    const seconds = (part: string) => seen[part]?.seconds ?? NaN;
    const count = (part: string) => requests.filter((one) => one.part === part).length;

    it.each(['retried', 'retried-async'])('repeats a POST with one key (%s)', (part) => {
      expect(result(part)).toEqual({ id: 'mem_1' });
      const keys = requests.filter((one) => one.part === part).map(({ key }) => key);
      expect(keys).toHaveLength(4);
      expect(new Set(keys).size).toBe(1);
      expect(keys[0]).toMatch(/^[\w-]{36}$/);
      // Two waits of a second, as `Retry-After` says, and one of at least a quarter.
      expect(seconds(part)).toBeGreaterThan(2.25);
    });

    it('gives up at once if the wait would exceed its budget', () => {
      expect(result('budget')).toMatch(/^UnavailableError: 503 unavailable: /);
      expect(seconds('budget')).toBeLessThan(5);
    });

    it('reads all pages, each when it is needed', () => {
      expect(result('pages')).toEqual(['a', 'b', 'c']);
      expect(result('pages-async')).toEqual([2, 'a', 'b', 'c']);
      const queries = ['?limit=2', '?cursor=c1&limit=2', '?cursor=c2&limit=2'];
      // By asyncio, one is awaited before all are read.
      expect(requests.filter(({ part }) => part === 'pages').map(queryOf)).toEqual([
        ...queries,
        '?limit=2',
        ...queries,
      ]);
    });

    it('ends an attempt after its time, however slowly the answer comes', () => {
      for (const part of ['drip', 'silent']) {
        expect(result(part)).toMatch(/^ApiConnectionError: No response of GET .*TimeoutError/);
        expect(seconds(part)).toBeGreaterThan(0.9);
        expect(seconds(part)).toBeLessThan(5);
      }
    });

    it('ends an attempt after its time, and tries every address of a name within it', () => {
      expect(result('addresses')).toMatch(/^ApiConnectionError: No response of GET .*TimeoutError/);
      expect(seconds('addresses')).toBeGreaterThan(4.9);
      expect(seconds('addresses')).toBeLessThan(9);
      expect(result('last address')).toEqual({ tenant_id: 'team' });
      expect(seconds('last address')).toBeLessThan(5);
    });

    it('keeps its connection, and shares none between threads or processes', () => {
      expect(result('connections')).toEqual(Array(5).fill('team'));
      const sockets = requests.filter(({ part }) => part === 'connections');
      expect(new Set(sockets.map(({ socket }) => socket)).size).toBe(1);
      expect(result('threads')).toEqual([160, ['team']]);
      expect(result('forked')).toEqual([Array(5).fill('team'), 0]);
      const socketsTo = (path: string) =>
        new Set(
          requests
            .filter(({ part, url }) => part === 'forked' && url === BASE_PATH + path)
            .map(({ socket }) => socket),
        );
      const [ofParent, ofChild] = [socketsTo('/me'), socketsTo('/catalog')];
      expect(ofChild.size).toBeGreaterThan(0);
      expect([...ofChild].filter((socket) => ofParent.has(socket))).toEqual([]);
    });

    it('ends its connections in a process that was forked, whatever the parent is doing', () => {
      expect(result('closed in child')).toEqual([0, 'team']);
    });

    it.each(['early', 'early-tls'])('takes an answer that precedes the body (%s)', (part) => {
      expect(result(part)).toEqual(['BadRequestError', 413, 'team']);
      const sockets = requests.filter((one) => one.part === part).map(({ socket }) => socket);
      expect([sockets.length, new Set(sockets).size]).toEqual([2, 2]);
    });

    it('gives no call the answer of another, whatever else the server sends', () => {
      for (const part of ['hints', 'hints-at-once', 'surplus'])
        expect([part, result(part)]).toEqual([part, ['a', 'b', 'c']]);
      expect(result('switched')).toEqual([expect.stringContaining('status is 101'), 'b', 'c']);
      const socketsOf = (part: string) =>
        new Set(requests.filter((one) => one.part === part).map(({ socket }) => socket)).size;
      expect(['hints', 'surplus', 'switched'].map(socketsOf)).toEqual([1, 3, 2]);
    });

    it('sends several at once with asyncio, and ends a wait that is cancelled', () => {
      expect(result('together-async')).toEqual(Array(5).fill('team'));
      expect(slow.most).toBe(5);
      expect(result('cancelled')).toMatch(/^TimeoutError/);
      expect(seconds('cancelled')).toBeLessThan(10);
    });

    it('names the fields and the request in an error, and keeps it when it travels', () => {
      expect(result('invalid')).toBe(
        'ValidationError: 422 validation_error: body.email: is no address; ' +
          'body.role: is unknown (request r1)',
      );
      expect(result('pickled')).toEqual(['ValidationError', true]);
      expect(result('unknown')).toEqual([true, 'brand_new', 409]);
    });

    it('says at once that an address is wrong', () => {
      const hint = expect.stringContaining(
        `Is base_url right? It is the address of the service with ${BASE_PATH} at its end.`,
      );
      for (const part of ['website', 'redirect', 'no host']) {
        expect(result(part)).toEqual(hint);
        expect(seconds(part)).toBeLessThan(5);
      }
      expect([count('website'), count('redirect')]).toEqual([1, 1]);
      expect(result('no path')).toBe(
        `ValueError: base_url lacks its path: it is https://team.example${BASE_PATH}`,
      );
      for (const part of ['no scheme', 'a query', 'a password', 'bad port'])
        expect(result(part)).toMatch(/^ValueError: base_url /);
      // A page of a gateway, once the API has answered, is trouble that passes.
      expect(result('then-page')).toEqual({ tenant_id: 'team' });
      // Nor is it the address if a name server gives no answer.
      expect(result('no name yet')).toEqual({ tenant_id: 'team' });
      expect(result('refused')).toMatch(/^ApiConnectionError: .*ConnectionRefusedError/);
    });

    it('refuses wrong input before anything is sent', () => {
      expect(result('no key')).toBe('ValueError: api_key is missing');
      expect(result('setting missing')).toBe('ValueError: api_key is missing');
      expect(result('key with a line')).toMatch(/^ValueError: api_key has a space, a line break/);
      expect(result('empty id')).toBe('ValueError: case_id is missing');
      expect(result('dots')).toBe('ValueError: case_id is missing');
      expect(result('id of None')).toBe('TypeError: case_id must be a str');
      expect(result('no time zone')).toMatch(/^ValueError: since needs a time zone/);
      expect(result('nan')).toMatch(/^ValueError: /);
      expect(result('bad idempotency key')).toMatch(/^ValueError: idempotency_key /);
      expect(result('no such field')).toMatch(/^TypeError: .*emial/);
      expect(count('x')).toBe(0);
    });

    it('sends its input as path, query or body', () => {
      const sent = result('inputs') as { method: string; url: string; body: string }[];
      expect(sent.map(({ method, url, body }) => `${method} ${url} ${body}`)).toEqual([
        `PATCH ${BASE_PATH}/assignments/a%2Fb%20%3F%C3%BC {"note":null}`,
        `PATCH ${BASE_PATH}/assignments/a {}`,
        `POST ${BASE_PATH}/webhook-endpoints/whe_1/test `,
        `POST ${BASE_PATH}/webhook-endpoints/whe_1/test {"event_type":"member.joined"}`,
        `DELETE ${BASE_PATH}/cases/cas_1 `,
      ]);
    });

    it('shows the key in no text of its own', () => {
      const text = JSON.stringify(Object.values(seen).map((one) => one.result));
      expect(text).not.toContain('do_not_show_this');
      expect(result('lost')).toMatch(/^ApiConnectionError: No response of POST/);
      // With the variables of every frame, as services that collect errors show them. A client
      // that is refused its setup was given the key by the caller just now.
      const setup = [
        'key with a line',
        'no path',
        'no scheme',
        'a query',
        'a password',
        'bad port',
      ];
      const leaking = Object.entries(seen).filter(([, one]) => one.leaks);
      expect(leaking.map(([part]) => part).filter((part) => !setup.includes(part))).toEqual([]);
    });
  });

  it('repeats what the other client repeats', async () => {
    const problem = (status: number, code: string, headers = {}) => [
      status,
      headers,
      { status, code, title: code, request_id: 'r1' },
    ];
    const after = (seconds: string) => ({ 'retry-after': seconds });
    const soon = new Date(Date.now() + 20_000).toUTCString();
    const inAnHour = new Date(Date.now() + 3_600_000).toUTCString().replace('GMT', '+0000');
    const CASES: readonly (readonly [string, unknown, number])[] = [
      ['429 for a minute', [problem(429, 'rate_limited', after('60')), [200, {}, {}]], 2],
      ['429 until a date', [problem(429, 'rate_limited', after(soon)), [200, {}, {}]], 2],
      ['429 for longer', [problem(429, 'rate_limited', after('61'))], 1],
      ["429 with a mail's date", [problem(429, 'rate_limited', after(inAnHour))], 5],
      ['429 with nonsense', [problem(429, 'rate_limited', after('soon'))], 5],
      ['503 for longer', [problem(503, 'unavailable', after('61'))], 1],
      ['503 for ages', [problem(503, 'unavailable', after('1'.repeat(400)))], 1],
      ['two of 40 s', [problem(503, 'unavailable', after('40'))], 2],
      ['a page, for longer', [[502, after('61'), '<html>']], 1],
      ['409 without Retry-After', [problem(409, 'conflict')], 1],
      ['409 of a running call', [problem(409, 'conflict', after('1'))], 5],
      ['422', [problem(422, 'validation_error')], 1],
      ['408', [problem(408, 'bad_request')], 5],
      ['417', [problem(417, 'bad_request')], 1],
      ['401', [problem(401, 'unauthorized')], 1],
      ['500, once', [problem(500, 'internal')], 2],
      ['503', [problem(503, 'unavailable')], 5],
      ['503 after 2 s', [problem(503, 'unavailable', after('2'))], 5],
      ['503 after 5 s', [problem(503, 'unavailable', after('5'))], 5],
      ['502 after 2 s', [[502, after('2'), '<html>']], 5],
      ['429 after 2 s', [problem(429, 'rate_limited', after('2'))], 5],
      ['409 with names of any case', [problem(409, 'conflict', { 'Retry-After': '1' })], 5],
      ['409 after 2 s', [problem(409, 'conflict', after('2'))], 5],
      ['a page', [[502, {}, '<html>']], 5],
      ['half of a body', [[200, {}, '{"data":[']], 5],
      ['no response', [null], 5],
      ['a redirect', [[301, {}, '']], 1],
      ...GATEWAYS.map((body) => [JSON.stringify(body), [[504, {}, body]], 5] as const),
    ];
    const gone = problem(404, 'not_found');
    const limited = problem(429, 'rate_limited', after('1'));
    const deletes = [[null, gone], [null, limited, gone], [limited, gone], [gone]];
    const input = JSON.stringify([
      ...CASES.map(([, answers]) => ['POST', answers, 60]),
      ...deletes.map((answers) => ['DELETE', answers, 60]),
      // Often, because a part of each wait is random.
      ...Array.from({ length: 50 }, () => ['GET', [problem(503, 'unavailable')], 1]),
    ]);
    const given = await client.run(join(programs, 'rules.py'), { input });
    const came = JSON.parse(given) as [number, number[], unknown][];
    const attempts = CASES.map(([name], index) => [name, came[index]?.[0]]);
    expect(attempts).toEqual(CASES.map(([name, , expected]) => [name, expected]));
    const ofDeletes = came.slice(CASES.length, CASES.length + deletes.length);
    expect(ofDeletes.map(([, , result]) => result)).toEqual([
      { ok: true },
      { ok: true },
      expect.stringContaining('not_found'),
      expect.stringContaining('not_found'),
    ]);
    const [minute, date] = [came[0]?.[1][0] ?? NaN, came[1]?.[1][0] ?? NaN];
    expect(minute).toBeGreaterThanOrEqual(60);
    expect(minute).toBeLessThan(61);
    expect(Math.abs(date - 19)).toBeLessThan(10);
    const waitsOf = (asked: string) => came[CASES.findIndex(([name]) => name === asked)]?.[1] ?? [];
    for (const [index, seconds] of waitsOf('503').entries()) {
      expect(seconds).toBeGreaterThanOrEqual(0.25 * 2 ** index);
      expect(seconds).toBeLessThanOrEqual(0.5 * 2 ** index);
    }
    for (const [asked, stated] of [
      ['503 after 2 s', [2, 4, 8, 16]],
      ['503 after 5 s', [5, 10, 16, 16]],
      ['502 after 2 s', [2, 2, 2, 2]],
      ['429 after 2 s', [2, 2, 2, 2]],
      ['409 after 2 s', [2, 2, 2, 2]],
    ] as const)
      // What is added at random is less than a second.
      expect([asked, waitsOf(asked).map(Math.floor)]).toEqual([asked, stated]);
    for (const [tries, waits] of came.slice(CASES.length + deletes.length)) {
      expect(tries).toBe(3);
      expect(waits.reduce((sum, seconds) => sum + seconds, 0)).toBeLessThan(1.000_001);
    }
    const gateways = came.slice(CASES.length - GATEWAYS.length, CASES.length);
    for (const [, , result] of gateways)
      expect(result).toMatch(/^ApiConnectionError: .* is none of the API; its status is 504\.$/);
    // The query of a call may be about a person.
    expect(given).not.toContain('secret=1');
  });

  describe('receiving webhooks', () => {
    const SECRET = 'whsec_YmVpc3BpZWxnZWhlaW1uaXMtMzItYnl0ZXMtbGFuZyE';

    it('answers deliveries of our sender by the sample of its guide', async () => {
      const port = await findFreePort();
      const sample = (await samples()).find((one) => one.includes('BaseHTTPRequestHandler')) ?? '';
      const folder = await makeFolder('receiver');
      const serve = `from http.server import HTTPServer
import os
${sample}
HTTPServer(("127.0.0.1", ${port}), Receiver).serve_forever()
`;
      await writeFile(join(folder, 'receiver.py'), serve);
      const env = client.env({ WEBHOOK_SECRET: SECRET, PYTHONUNBUFFERED: '1' });
      const receiver = spawn(client.python, [join(folder, 'receiver.py')], { env });
      onTestFinished(() => void receiver.kill('SIGKILL'));
      let printed = '';
      receiver.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
      const url = `http://127.0.0.1:${port}/hooks`;
      await until(() => fetch(url).then(Boolean, () => false));
      const sender = createSender({ allowPrivateTargets: true, timeoutMs: 10_000 });
      onTestFinished(() => sender.close());
      const send = async (
        body: string,
        { secrets = [SECRET], at = new Date(), sent = body } = {},
      ) => {
        const keys = secrets.map(signingKeyOf);
        const headers = deliveryHeaders(body, { keys, eventId: 'evt_01', at });
        return (await sender.send(url, headers, sent)).responseCode;
      };
      for (const type of EVENT_TYPES)
        expect([type, await send(JSON.stringify(eventExample(type)))]).toEqual([type, 204]);
      expect(printed).toBe('71\n');
      const body = JSON.stringify(eventExample('evaluation.completed'));
      expect(await send(body, { secrets: ['whsec_new', SECRET] })).toBe(204);
      expect(await send(body, { secrets: ['whsec_forged'] })).toBe(400);
      expect(await send(body, { sent: body.replace('71', '99') })).toBe(400);
      expect(await send(body, { at: new Date(Date.now() - 310_000) })).toBe(400);
    });

    it('agrees with the verification of the other client about any delivery', async () => {
      const now = Math.floor(Date.now() / 1000);
      const body = JSON.stringify(eventExample('member.joined'));
      const headersOf = (text: string, secret = SECRET, t = now) => {
        const keys = [signingKeyOf(secret)];
        const at = new Date(t * 1000);
        return deliveryHeaders(text, { keys, eventId: 'evt_01', at })['svc-signature'] ?? '';
      };
      const genuine = headersOf(body);
      const [, v1 = ''] = genuine.split('v1=');
      const signature = fc.oneof(
        fc.constant(genuine),
        fc.constant(`${genuine},v1=${'0'.repeat(64)}`),
        fc.constant(`t=${now}, v1=${'0'.repeat(64)}, v1=${v1},v0=x`),
        fc.constantFrom(`t=0${now},v1=${v1}`, `t=${now},t=${now},v1=${v1}`, `v1=${v1}`, ''),
        fc.constantFrom(`t=${now},v1=${v1.toUpperCase()}`, `t=${now},v1=${v1}0`, `t=${now}\n`),
        fc
          .constantFrom(...Array.from(' \t\n\v\u001C\u0085\u00A0\u2003\uFEFF'))
          .map((space) => `t=${now},${space}v1=${v1}${space}`),
        fc.constantFrom(`t=${now}\u0661,v1=${v1}`, `t=\u0661,v1=${v1}`, `t=${now},v1=é`),
        fc.integer({ min: -400, max: 400 }).map((age) => headersOf(body, SECRET, now + age)),
        fc.string().map((text) => `t=${now},v1=${text}`),
        fc.string().map((text) => `t=${text},v1=${v1}`),
      );
      const bodies = fc.constantFrom(body, `${body} `, '', body.replace('mem', 'mom'));
      const odd = ['null', '[]', '{}', '{"id":', '\uFEFF{}', '{"id":"e","type":"x","data":[]}'];
      const deliveries = [
        { body, headers: [['Svc-Signature', genuine]], secret: SECRET, now },
        ...odd.map((text) => ({
          body: text,
          headers: [['svc-signature', headersOf(text)]],
          secret: SECRET,
          now,
        })),
        ...fc
          .sample(fc.tuple(signature, bodies, fc.constantFrom(SECRET, 'whsec_other')), 2_000)
          .map(([value, text, secret]) => ({
            body: text,
            headers: [['svc-signature', value]],
            secret,
            now,
          })),
        { body, headers: [], secret: SECRET, now },
        {
          body,
          headers: [
            ['svc-signature', genuine],
            ['Svc-Signature', genuine],
          ],
          secret: SECRET,
          now,
        },
      ];
      const expected = deliveries.map((one) => {
        try {
          const headers = one.headers as [string, string][];
          verifyWebhook(one.body, headers, one.secret, { now: new Date(one.now * 1000) });
          return 'accepted';
        } catch (error) {
          if (error instanceof WebhookVerificationError) return error.reason;
          throw error;
        }
      });
      expect(new Set(expected).size).toBe(7);
      const input = JSON.stringify(
        deliveries.map((one) => ({ ...one, body: Buffer.from(one.body).toString('base64') })),
      );
      expect(await runJson('verify.py', { input })).toEqual(expected);
    });
  });
});

/** The samples of the guide, which are one program. */
async function samples(): Promise<string[]> {
  const guide = await readFile(join(root, 'src/docs/guides/python.md'), 'utf8');
  const found = [...guide.matchAll(/```python\n(.*?)```/gs)].map(([, sample = '']) => sample);
  expect(found.length).toBeGreaterThan(4);
  return found;
}

const OURS = { status: 504, code: 'unavailable', title: 'T', request_id: 'r1' };
/** What gateways answer in place of the API. */
const GATEWAYS = [
  { code: 504, message: 'upstream request timeout' },
  { kind: 'Status', status: 'Failure', code: 504 },
  { code: 'GATEWAY_TIMEOUT', message: 'x' },
  { ...OURS, status: 500 },
  { ...OURS, request_id: null },
  { ...OURS, errors: null },
  { ...OURS, errors: ['a'] },
];

const NOT_CHECKED = ['node_modules'];

/** What the types refuse: an ignored error that does not occur is an error, too. */
const REFUSED = `from typing import assert_type
from team_customer_client import Client
from team_customer_client.models import Member, WebhookEvent

def refused(client: Client, event: WebhookEvent) -> None:
    client.members.create(emial="kim@example.com")  # pyright: ignore[reportCallIssue]
    client.members.get()  # pyright: ignore[reportCallIssue]
    client.members.create(email=None)  # pyright: ignore[reportArgumentType]
    client.me.get()["team_name"]  # pyright: ignore[reportGeneralTypeIssues]
    for member in client.members.list():
        assert_type(member, Member)
        member["email"]  # pyright: ignore[reportTypedDictNotRequiredAccess]
    if event["type"] == "member.joined":
        assert_type(event["data"]["member_id"], str)
        event["data"]["endpoint_id"]  # pyright: ignore[reportGeneralTypeIssues]
`;

const servers = new Set<() => void>();
afterAll(() => servers.forEach((stop) => stop()));

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** One for 127.0.0.1 that is its own authority. */
async function makeCertificate(): Promise<{ key: Buffer; cert: Buffer; file: string }> {
  const folder = await makeFolder('certificate');
  const [key, file] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')];
  const request =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 ' +
    '-subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1';
  await run('openssl', [...request.split(' '), '-keyout', key, '-out', file]);
  return { key: await readFile(key), cert: await readFile(file), file };
}

async function listen(server: Server | SecureServer): Promise<string> {
  server.listen(0, '127.0.0.1');
  servers.add(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Scripted {
  readonly part: string;
  /** How many requests the part has had, with this one. */
  readonly n: number;
  readonly url: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** How many requests of the part `slow` are open, and the most that were. */
const slow = { open: 0, most: 0 };

/** A server that does what the part of the address says. */
async function answer({ part, n, url, request, response }: Scripted): Promise<void> {
  // Before the body has come, so that sending it fails.
  if (part === 'lost') return void request.socket.resetAndDestroy();
  if (part.startsWith('early') && n === 1) {
    const body = { status: 413, code: 'bad_request', title: 'Too large', request_id: 'r1' };
    response.writeHead(413, { 'content-type': 'application/json', connection: 'close' });
    return void response.end(JSON.stringify(body));
  }
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const json = (status: number, body: object, headers: Record<string, string> = {}): void => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };
  const refuse = (status: number, code: string, more = {}, headers = {}): void =>
    json(status, { status, code, title: code, request_id: 'r1', ...more }, headers);
  const team = { tenant_id: 'team' };
  const page = (): void => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<html>');
  };
  if (part.startsWith('retried')) {
    if (n === 1) return refuse(503, 'unavailable', {}, { 'retry-after': '1' });
    if (n === 2) return refuse(429, 'rate_limited', {}, { 'retry-after': '1' });
    if (n === 3) return void request.socket.resetAndDestroy();
    return json(201, { id: 'mem_1' });
  }
  if (part === 'busy') return refuse(503, 'unavailable', {}, { 'retry-after': '30' });
  if (part === 'slow') {
    slow.open += 1;
    slow.most = Math.max(slow.most, slow.open);
    await delay(400);
    slow.open -= 1;
    return json(200, team);
  }
  if (part === 'pages') return json(200, pageOf(url));
  if (part === 'silent') return;
  if (part === 'drip') {
    response.writeHead(200, { 'content-type': 'application/json' });
    const timer = setInterval(() => response.write(' '), 50);
    return void response.once('close', () => clearInterval(timer));
  }
  if (part === 'invalid')
    return refuse(422, 'validation_error', {
      errors: [
        { path: 'body.email', message: 'is no address', code: 'invalid' },
        { path: 'body.role', message: 'is unknown', code: 'invalid' },
      ],
    });
  const member = { id: url.split('/').at(-1) };
  if (part === 'hints' || part === 'hints-at-once') {
    if (part === 'hints-at-once') request.socket.cork();
    response.writeProcessing();
    response.writeEarlyHints({ link: '</x>; rel=preload' });
    if (part === 'hints') return void setTimeout(() => json(200, member), 50);
    json(200, member);
    request.socket.uncork();
    return;
  }
  if (part === 'surplus') {
    // As a proxy tells a connection that was idle for too long.
    const stray = 'HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n';
    setTimeout(() => request.socket.write(stray), 50);
    return json(200, member);
  }
  if (part === 'switched' && n === 1)
    return void request.socket.write('HTTP/1.1 101 Switching Protocols\r\n\r\n');
  if (part === 'switched') return json(200, member);
  if (part === 'unknown') return refuse(409, 'brand_new');
  if (part === 'website') return page();
  if (part === 'redirect') {
    response.writeHead(301, { location: 'https://elsewhere.example/' });
    return void response.end();
  }
  if (part === 'then-page' && n === 2) return page();
  if (part === 'echo')
    return json(200, { method: request.method, url, body: Buffer.concat(chunks).toString() });
  json(200, team);
}

function queryOf({ url }: { readonly url: string }): string {
  return new URL(url, 'http://x').search;
}

function pageOf(url: string): object {
  const cursor = new URL(url, 'http://x').searchParams.get('cursor');
  if (cursor === null) return { data: [{ id: 'a' }, { id: 'b' }], next_cursor: 'c1' };
  if (cursor === 'c1') return { data: [], next_cursor: 'c2' };
  return { data: [{ id: 'c' }], next_cursor: null };
}
