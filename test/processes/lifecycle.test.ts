// The production processes as a supervisor sees them: probes, signals, metrics, logs, and a
// database that stops and starts again.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client as PgClient } from 'pg';
import { Client } from 'undici';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { migrate } from '../../src/db/operator/migrate.ts';
import {
  startEmbedded,
  type EmbeddedPostgres,
} from '../../src/embedded-postgres/embedded-postgres.ts';
import { createCall, loadTestSeed, TEST_APP_SECRET } from '../support/api.ts';
import { runEntry as runIn, startApiProcess, startWorkerProcess } from '../support/processes.ts';
import { tokenOf } from '../support/app.ts';
import { createEmptyDatabase, createTestDatabase } from '../support/database.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort, makeDataDir } from '../support/ports.ts';
import { userId } from '../support/seed.ts';
import { changeTriggers } from '../support/shards.ts';
import { until } from '../support/until.ts';
import {
  PATH,
  SEED,
  database,
  enqueue,
  gate,
  holdTeam,
  invite,
  jobs,
  key,
  query,
  startMailServer,
  statusOf,
  useSeededDatabase,
} from '../support/lifecycle.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

useSeededDatabase();

interface Entry {
  output(): string;
  readonly exitCode: Promise<number | null>;
}

/** Starts an entry without waiting until it is ready, unlike the functions of support/api.ts. */
function runEntry(entry: 'api' | 'worker', env: Record<string, string>): Entry {
  const child = spawn(process.execPath, [`src/${entry}.ts`], {
    cwd: ROOT,
    env: {
      NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      APP_SECRET: TEST_APP_SECRET,
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  return {
    output: () => chunks.join(''),
    exitCode: once(child, 'close').then(([code]) => code as number | null),
  };
}

/** Asks for a connection and for nothing else, which is quick. */
async function isRefused(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  return new Promise((resolve) => {
    socket.once('error', () => resolve(true));
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
  });
}

describe('the probes', () => {
  test('say alive but not ready while the database cannot be reached', async () => {
    const port = await findFreePort();
    runEntry('api', {
      DATABASE_URL: `postgres://nobody@127.0.0.1:${await findFreePort()}/none`,
      PORT: String(port),
    });
    await until(async () => (await statusOf(`http://127.0.0.1:${port}/healthz`)) === 200);
    expect(await statusOf(`http://127.0.0.1:${port}/readyz`)).toBe(503);
  });

  test('say not ready until somebody applies the migrations of this version', async () => {
    const empty = await createEmptyDatabase();
    onTestFinished(() => empty.drop());
    const port = await findFreePort();
    runEntry('api', { DATABASE_URL: empty.url, PORT: String(port) });
    await until(async () => (await statusOf(`http://127.0.0.1:${port}/healthz`)) === 200);
    expect(await statusOf(`http://127.0.0.1:${port}/readyz`)).toBe(503);
    expect(await query(`select from pg_tables where schemaname = 'public'`, [], empty.url)).toEqual(
      [],
    );
    await migrate(empty.url);
    await until(async () => (await statusOf(`http://127.0.0.1:${port}/readyz`)) === 200);
  });
});

describe('SIGTERM to an API process', () => {
  test('is told by /readyz for DRAIN_DELAY_MS, while requests are still served', async () => {
    const api = await startApiProcess(database.url, { DRAIN_DELAY_MS: '6000' });
    const call = createCall(api.url);
    expect((await call(key, 'GET', '/me')).status).toBe(200);
    const exited = api.kill('SIGTERM');
    await until(async () => (await statusOf(`${api.url}/readyz`)) === 503);
    expect(await (await fetch(`${api.url}/readyz`)).json()).toEqual({
      status: 'not_ready',
      reason: 'draining',
    });
    expect((await call(key, 'GET', '/me')).status).toBe(200);
    expect(await exited).toEqual({ code: 0, signal: null });
    expect(await statusOf(`${api.url}/readyz`)).toBe('refused');
  });

  test('loses no request of clients that keep sending over kept connections', async () => {
    const api = await startApiProcess(database.url);
    let answered = 0;
    const ask = async (): Promise<unknown> => {
      const client = new Client(api.url);
      for (;;) {
        const failed = await client
          .request({
            path: `${PATH}/me`,
            method: 'GET',
            headers: { authorization: `Bearer ${key}` },
          })
          .then(
            async ({ statusCode, body }) => (
              await body.text(),
              statusCode === 200 ? null : statusCode
            ),
          )
          .catch((error: Error & { code?: string }) => error.code);
        if (failed !== null) return failed;
        answered += 1;
      }
    };
    const clients = Array.from({ length: 8 }, ask);
    await until(() => answered > 100);
    expect((await api.kill('SIGTERM')).code).toBe(0);
    expect(await Promise.all(clients)).toEqual(Array(8).fill('ECONNREFUSED'));
  });

  test('answers a request that comes right afterwards over a kept connection', async () => {
    const api = await startApiProcess(database.url);
    const kept = new Client(api.url);
    const headers = { authorization: `Bearer ${key}` };
    const ask = () => kept.request({ path: `${PATH}/me`, method: 'GET', headers });
    await (await ask()).body.dump();
    const exited = api.kill('SIGTERM');
    // Nothing is in flight. A client that has not been told otherwise sends its next request.
    await until(() => isRefused(Number(new URL(api.url).port)));
    const { statusCode, headers: answered, body } = await ask();
    expect([statusCode, answered['connection']]).toEqual([200, 'close']);
    expect(await body.json()).toMatchObject({ tenant_id: 'team_a' });
    expect(await exited).toEqual({ code: 0, signal: null });
    await kept.destroy();
  });

  test('does not wait for connections that never sent a request', async () => {
    const api = await startApiProcess(database.url);
    const silent = connect(Number(new URL(api.url).port), '127.0.0.1');
    await once(silent, 'connect');
    const startedAt = performance.now();
    expect((await api.kill('SIGTERM')).code).toBe(0);
    // It takes one second. Waiting for the connection would take the 14 s of requests in flight.
    expect(performance.now() - startedAt).toBeLessThan(13_500);
    silent.destroy();
  });

  test('ends it at once when it is sent a second time', async () => {
    const api = await startApiProcess(database.url);
    const hold = await holdTeam();
    const inFlight = invite(api.url, 'cut-off@a.test');
    await hold.untilSomebodyWaits();
    const exited = api.kill('SIGTERM');
    await until(async () => (await statusOf(`${api.url}/healthz`)) === 'refused');
    // Repeat it, because a signal shortly after the first counts as npm's echo of the first.
    const repeat = setInterval(() => void api.kill('SIGTERM'), 20);
    expect(await exited).toEqual({ code: 1, signal: null });
    clearInterval(repeat);
    expect(await inFlight).toBe('lost');
    await hold.release();
    expect(await query(`select from member where email = 'cut-off@a.test'`)).toEqual([]);
  });
});

test('without DEVELOPMENT_LOGIN nobody signs in without a password', async () => {
  for (const login of ['0', '1']) {
    const env = { DEVELOPMENT_LOGIN: login, NODE_ENV: '' };
    const api = await startApiProcess(database.url, env);
    const path = '/trpc-session/development/usr_nobody';
    const refused = await fetch(api.url + path, { method: 'POST' });
    const type = login === '1' ? 'application/problem+json' : 'text/plain';
    expect([refused.status, refused.headers.get('content-type')?.split(';')[0]]).toEqual([
      404,
      type,
    ]);
    await api.kill('SIGKILL');
  }
});

describe('the metrics', () => {
  test('are on METRICS_PORT only: requests by route and status, and the pool', async () => {
    const metricsPort = await findFreePort();
    const api = await startApiProcess(database.url, { METRICS_PORT: String(metricsPort) });
    await createCall(api.url)(key, 'GET', '/users/mem_a_member');
    await createCall(api.url)(key, 'GET', '/users/mem_unknown');
    expect(await statusOf(`${api.url}/metrics`)).toBe(404);
    const large = 'x'.repeat(20_000);
    await fetch(`${api.url}/healthz`, { headers: { 'x-large': large } });
    await createCall(api.url)(key, 'POST', '/users', { body: { email: 'x'.repeat(2 ** 20) } });
    const response = await fetch(`http://127.0.0.1:${metricsPort}/metrics`);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    const text = await response.text();
    expect(text).toContain(
      'api_request_duration_seconds_count{route="GET /users/{member_id}",status="200"} 1',
    );
    expect(text).toContain(
      'api_request_duration_seconds_count{route="GET /users/{member_id}",status="404"} 1',
    );
    const route = 'route="GET /users/\\{member_id\\}"';
    expect(text).toMatch(
      new RegExp(
        `^api_request_duration_seconds_bucket\\{le="0\\.005",${route},status="200"\\} \\d+$`,
        'm',
      ),
    );
    for (const state of ['total', 'idle'])
      expect(text).toMatch(
        new RegExp(`^database_pool_connections\\{state="${state}"\\} \\d+$`, 'm'),
      );
    for (const kind of ['statement', 'slow_statement', 'transaction'])
      expect(text).toContain(`\ndatabase_queue_length{kind="${kind}"} 0\n`);
    for (const limit of ['header_size', 'body_size'])
      expect(text).toContain(`\napi_refusals_total{limit="${limit}"} 1\n`);
    for (const kind of ['common', 'statement'])
      expect(text).toMatch(
        new RegExp(`^database_pool_wait_seconds_count\\{kind="${kind}"\\} [1-9]`, 'm'),
      );
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds /m);
    // An id in a label would create a time series for each row of the database.
    expect(text).not.toContain('mem_');
    expect(await statusOf(`http://127.0.0.1:${metricsPort}/docs`)).toBe(404);
    await api.kill('SIGTERM');
  });

  test('of a worker count the jobs that failed, by task', async () => {
    const metricsPort = await findFreePort();
    const worker = await startWorkerProcess(database.url, { METRICS_PORT: String(metricsPort) });
    // That of a sandbox is none of these figures.
    for (const payload of ['{"teamId": "team_a:sandbox"}', '{}'])
      await query(
        `select from graphile_worker.add_job(
           'send_pause_mail', '${payload}', max_attempts => 1
         )`,
      );
    const failure = '\njob_failures_total{task="send_pause_mail"} 1\n';
    const read = async () => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    await until(async () => {
      const told = await read();
      return told.includes(failure) && told.includes('job_pool_connections{');
    });
    await until(async () => {
      const failed = await query(
        `select from graphile_worker._private_jobs where attempts = 1 and locked_at is null`,
      );
      return failed.length === 2;
    });
    const text = await read();
    // Each run of graphile-worker listens all the time.
    for (const pool of ['runner', 'mail_runner'])
      expect(text).toMatch(
        new RegExp(`^job_pool_connections\\{pool="${pool}",state="total"\\} [1-9]`, 'm'),
      );
    expect(text).toContain('\njob_pool_connections{pool="jobs",state="waiting"} 0\n');
    expect(text).toContain(failure);
    for (const task of ['send_invitation_mail', 'remove_old'])
      expect(text).toContain(`\njob_failures_total{task="${task}"} 0\n`);
    expect(text).toContain('\nwebhook_retry_backlog{age="older"} 0\n');
    expect(text).toMatch(/^database_pool_wait_seconds_count\{kind="transaction"\} [1-9]/m);
    await worker.kill('SIGTERM');
  });

  test('have a worker answer /healthz beside them, which has no other port', async () => {
    const metricsPort = await findFreePort();
    const worker = await startWorkerProcess(database.url, { METRICS_PORT: String(metricsPort) });
    expect(await statusOf(`http://127.0.0.1:${metricsPort}/healthz`)).toBe(200);
    await worker.kill('SIGTERM');
  });
});

test('each connection tells which process it is of, and what that runs', async () => {
  const own = await createTestDatabase();
  onTestFinished(() => own.drop());
  await loadTestSeed(own, SEED);
  const api = await startApiProcess(own.url);
  const worker = await startWorkerProcess(own.url);
  await createCall(api.url)(key, 'GET', '/me');
  const names = new Set(
    (
      await query(
        `select application_name as name from pg_stat_activity
         where datname = $1 and pid <> pg_backend_pid() and backend_type = 'client backend'`,
        [new URL(own.url).pathname.slice(1)],
      )
    ).map(({ name }) => name),
  );
  expect(names).toEqual(
    new Set([
      `team-customer-api api ${api.pid}`,
      `team-customer-api worker ${worker.pid}`,
      `team-customer-api jobs ${worker.pid}`,
    ]),
  );
  await Promise.all([api.kill('SIGTERM'), worker.kill('SIGTERM')]);
});

describe.each(['api', 'worker'] as const)('a wrong environment of the %s process', (entry) => {
  test('is reported in full, by name and without values, and the process exits 1', async () => {
    const process = runEntry(entry, {
      DATABASE_URL: 'mysql://u:hunter2@db/x',
      APP_SECRET: 'hunter2',
      PORT: 'hunter2',
      LOG_LEVEL: 'hunter2',
    });
    expect(await process.exitCode).toBe(1);
    for (const name of ['DATABASE_URL', 'APP_SECRET', 'PORT', 'LOG_LEVEL'])
      expect(process.output()).toContain(`  ${name} `);
    expect(process.output()).not.toContain('hunter2');
  });

  test('includes private webhook targets in production', async () => {
    const process = runEntry(entry, {
      DATABASE_URL: database.url,
      NODE_ENV: 'production',
      WEBHOOK_ALLOW_PRIVATE_TARGETS: '1',
    });
    expect(await process.exitCode).toBe(1);
    expect(process.output()).toMatch(/WEBHOOK_ALLOW_PRIVATE_TARGETS must not be on/);
  });
});

describe('the log of an API process', () => {
  test('has a line for each request, without what was sent or returned', async () => {
    const api = await startApiProcess(database.url, { LOG_LEVEL: 'trace' });
    const call = createCall(api.url);
    const secrets = {
      body: { email: 'secret-person@a.test' },
      headers: { 'idempotency-key': 'secret-once' },
    };
    expect((await call(key, 'POST', '/users', secrets)).status).toBe(201);
    expect((await call(key, 'POST', '/users', secrets)).headers['idempotency-replayed']).toBe(
      'true',
    );
    expect((await call(key, 'POST', '/users', { body: { email: 'secret-person@' } })).status).toBe(
      422,
    );
    expect(
      (await call(key, 'POST', '/users', { rawBody: '{"email":"secret-person@a.test"' })).status,
    ).toBe(422);
    expect((await call(`${key}0`, 'GET', '/me')).status).toBe(401);
    expect((await call(key, 'GET', '/users?limit=2&cursor=secret-cursor')).status).toBe(422);
    const endpoint = { url: 'https://secret-host.example/hook', events: ['training.completed'] };
    const created = await call(key, 'POST', '/webhook-endpoints', { body: endpoint });
    await api.kill('SIGTERM');
    const log = api.output();
    const lines = log.split('\n').filter((line) => line.includes('"msg":"request"'));
    expect(lines).toHaveLength(7);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      release: '1.0.0',
      method: 'POST',
      route: '/users',
      status: 201,
      team: 'team_a',
      key: expect.stringMatching(/^key_/),
      network: '127.0.0.0/24',
    });
    // What the log says of the call with a wrong secret.
    const rest = log.replaceAll('"refusal":"wrong_secret"', '');
    expect(rest).not.toMatch(/secret|svck_live|whsec_|@a\.test/);
    for (const secret of [key, TEST_APP_SECRET, String(created.body?.secret)])
      expect(log).not.toContain(secret);
  });

  test('tells of a caller who hung up while sending, and reports no fault of ours', async () => {
    const api = await startApiProcess(database.url, { LOG_LEVEL: 'info' });
    const token = await tokenOf({ kind: 'user', userId: userId('a', 'owner'), teamId: 'team_a' });
    const paths = [
      { path: `${PATH}/users`, authorization: `Bearer ${key}` },
      { path: '/trpc/v1.members.create', authorization: `Bearer ${token}` },
    ];
    const counted = async () =>
      JSON.stringify(await query('select bucket, minute, count from team_counter order by bucket'));
    // While the key is looked up, and while the rest of the body is awaited.
    for (const isAdmitted of [false, true]) {
      for (const { path, authorization } of paths) {
        const before = await counted();
        const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
        await once(socket, 'connect');
        const head = [
          `POST ${path} HTTP/1.1`,
          'Host: x',
          `Authorization: ${authorization}`,
          'Content-Type: application/json',
          'Content-Length: 100',
        ];
        socket.write(`${head.join('\r\n')}\r\n\r\n{"email":`);
        await until(async () => !isAdmitted || (await counted()) !== before);
        socket.resetAndDestroy();
      }
    }
    await until(() => (api.output().match(/"status":499/g)?.length ?? 0) >= 2);
    await api.kill('SIGTERM');
    expect(api.output()).not.toMatch(/"level":[56]0/);
  });

  test('reports an internal error without the row that Postgres quotes', async () => {
    const faulty = await createTestDatabase();
    onTestFinished(() => faulty.drop());
    const { teams } = await loadTestSeed(faulty, SEED);
    await changeTriggers(
      { databaseUrl: faulty.url },
      `create function quote() returns trigger language plpgsql as $$
       begin
         raise exception 'no place for %', new.email
           using errcode = 'XX000', detail = 'row of ' || new.email;
       end $$`,
      'create trigger quote before insert on member for each row execute function quote()',
    );
    const api = await startApiProcess(faulty.url);
    const headers = {
      authorization: `Bearer ${teams['team_a']?.api_keys['full']}`,
      'content-type': 'application/json',
    };
    const response = await fetch(`${api.url}${PATH}/users`, {
      method: 'POST',
      headers,
      body: '{"email":"secret-person@a.test"}',
    });
    expect(response.status).toBe(500);
    await api.kill('SIGTERM');
    const log = api.output();
    expect(log).toContain(response.headers.get('x-request-id'));
    expect(log).toContain('"code":"XX000"');
    expect(log).toContain('no place for [redacted]');
    expect(log).not.toContain('@a.test');
  });
});

test('a process writes a heap snapshot as the runbook says', async () => {
  const runbook = await readFile(join(ROOT, 'scripts/deploy/README.md'), 'utf8');
  const [, options = ''] = /`NODE_OPTIONS="([^"]+)"`/.exec(runbook) ?? [];
  const folder = await makeFolder('heap');
  const port = String(await findFreePort());
  const settings = {
    DATABASE_URL: database.url,
    PORT: port,
    NODE_OPTIONS: options.replace('DIR', folder),
  };
  // Nobody can write to this working directory, as in a deployment. Not even root.
  const api = runIn(join(ROOT, 'src/api.ts'), settings, [], '/proc');
  await until(async () => (await statusOf(`http://127.0.0.1:${port}/readyz`)) === 200);
  process.kill(api.pid, 'SIGUSR2');
  await until(async () => (await readdir(folder)).length === 1);
  await until(async () => (await statusOf(`http://127.0.0.1:${port}/readyz`)) === 200);
  expect((await api.kill('SIGTERM')).code).toBe(0);
  const [file = ''] = await readdir(folder);
  expect(file).toMatch(/\.heapsnapshot$/);
});

describe('a worker process', () => {
  test('refuses production without a mail server, unless a folder for mails is set', async () => {
    const env = { DATABASE_URL: database.url, NODE_ENV: 'production' };
    const refused = runEntry('worker', env);
    expect(await refused.exitCode).toBe(1);
    expect(refused.output()).toContain('SMTP_URL is required when NODE_ENV is production');
    const folder = await makeFolder('mail');
    const worker = await startWorkerProcess(database.url, { ...env, MAIL_DIR: folder });
    expect((await worker.kill('SIGTERM')).code).toBe(0);
  });

  test('refuses a database that is not migrated, and creates nothing in it', async () => {
    const empty = await createEmptyDatabase();
    onTestFinished(() => empty.drop());
    const worker = runEntry('worker', { DATABASE_URL: empty.url });
    expect(await worker.exitCode).toBe(1);
    expect(worker.output()).toContain('npm run migrate');
    expect(
      await query(
        `select nspname from pg_namespace where nspname = 'graphile_worker'`,
        [],
        empty.url,
      ),
    ).toEqual([]);
  });

  test('exits 1 and says why if it cannot reach a database when it starts', async () => {
    const port = await findFreePort();
    const worker = runEntry('worker', {
      DATABASE_URL: `postgres://nobody:hunter2@localhost:${port}/none`,
    });
    expect(await worker.exitCode).toBe(1);
    expect(worker.output()).toContain(`ECONNREFUSED 127.0.0.1:${port}`);
    expect(worker.output()).not.toContain('hunter2');
  });

  test('logs that a mail server refused a recipient, but not which', async () => {
    const own = await createTestDatabase();
    onTestFinished(() => own.drop());
    await loadTestSeed(own, SEED);
    const smtp = await startMailServer({
      onRcptTo: ({ address }, _session, done) =>
        done(Object.assign(new Error(`<${address}>: user unknown`), { responseCode: 550 })),
    });
    const worker = await startWorkerProcess(own.url, { SMTP_URL: smtp });
    await enqueue(own.url);
    await until(() => worker.output().includes('the mail server did not take it: EENVELOPE 550'));
    expect(worker.output()).not.toContain('@a.test');
    const jobs = await query('select last_error from graphile_worker.jobs', [], own.url);
    expect(JSON.stringify(jobs)).not.toContain('@a.test');
    await worker.kill('SIGTERM');
  });

  test('runs its other jobs while a mail server that says nothing keeps all mails', async () => {
    const own = await createTestDatabase();
    onTestFinished(() => own.drop());
    await loadTestSeed(own, SEED);
    const server = createServer().listen(0, '127.0.0.1');
    let connections = 0;
    server.on('connection', () => void (connections += 1));
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const worker = await startWorkerProcess(own.url, {
      SMTP_URL: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    });
    for (let mails = 0; mails < 20; mails += 1) await enqueue(own.url);
    // As many mails as there are slots for them.
    await until(() => connections === 5);
    const startedAt = performance.now();
    await query(`select graphile_worker.add_job('pause_endpoints')`, [], own.url);
    const paused = `select from graphile_worker.jobs where task_identifier = 'pause_endpoints'`;
    await until(async () => (await query(paused, [], own.url)).length === 0);
    // Long before the first mail gives its slot back.
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    expect(connections).toBe(5);
    expect(await query('select from graphile_worker.jobs', [], own.url)).toHaveLength(20);
    await worker.kill('SIGKILL');
  });

  test('logs a slow statement of a job by its name', async () => {
    const own = await createTestDatabase();
    onTestFinished(() => own.drop());
    await loadTestSeed(own, SEED);
    const worker = await startWorkerProcess(own.url, { SMTP_URL: await startMailServer({}) });
    const holder = new PgClient({ connectionString: own.url });
    await holder.connect();
    onTestFinished(() => holder.end());
    await holder.query('begin');
    await holder.query('lock table member');
    await enqueue(own.url);
    const waiting = `select
      from pg_stat_activity
      where datname = current_database()
        and wait_event_type = 'Lock'
        and query_start < clock_timestamp() - interval '0.6 s'`;
    await until(async () => (await query(waiting, [], own.url)).length > 0);
    await holder.query('rollback');
    // On a busy machine others are slow, too.
    const reported = /"statement":"members\.findInvitation".*"a slow statement"/;
    await until(() => reported.test(worker.output()));
    expect(worker.output()).toMatch(reported);
    await worker.kill('SIGTERM');
  });

  test('gives back a job that hangs when it is told to stop, and exits 0 within 15 s', async () => {
    const own = await createTestDatabase();
    onTestFinished(() => own.drop());
    await loadTestSeed(own, SEED);
    // It accepts connections and never sends anything.
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const worker = await startWorkerProcess(own.url, {
      SMTP_URL: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}`,
    });
    const connected = once(server, 'connection');
    await enqueue(own.url);
    await connected;
    expect(await worker.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    // After 15 s the process would end without giving back the job. After 20 s the job itself
    // would time out, and its error would be another.
    expect(await jobs(own.url)).toEqual([{ attempts: 1, locked: false }]);
    expect(await query('select last_error from graphile_worker.jobs', [], own.url)).toEqual([
      { last_error: 'its run ended' },
    ]);
  });
});

describe('a worker process whose Postgres is restarted', () => {
  let dataDir: string;
  let postgres: EmbeddedPostgres;

  beforeAll(async () => {
    dataDir = await makeDataDir('lifecycle');
    postgres = await startEmbedded({ dataDir, settings: { fsync: 'off' } });
    await migrate(postgres.databaseUrl);
    await loadTestSeed({ url: postgres.databaseUrl }, SEED);
    return () => postgres.stop();
  });

  const startAgain = async (): Promise<void> => {
    postgres = await startEmbedded({ dataDir, settings: { fsync: 'off' } });
  };

  test('runs the jobs that are enqueued afterwards', async () => {
    const mailDir = join(dataDir, 'mail');
    const worker = await startWorkerProcess(postgres.databaseUrl, { MAIL_DIR: mailDir });
    const mails = async () => (await readdir(mailDir).catch(() => [])).length;
    await enqueue(postgres.databaseUrl);
    await until(async () => (await mails()) === 1);
    // A job whose end is not recorded yet would be repeated, and there would be three mails.
    await until(async () => (await jobs(postgres.databaseUrl)).length === 0);
    await postgres.stop();
    await startAgain();
    await enqueue(postgres.databaseUrl);
    await until(async () => (await mails()) === 2);
    expect((await worker.kill('SIGTERM')).code).toBe(0);
  });

  // It must not wait until the job's lock of four hours ends.
  test('soon repeats a job whose end it could not record', async () => {
    const mails = gate();
    const worker = await startWorkerProcess(postgres.databaseUrl, {
      SMTP_URL: await startMailServer({ onMailFrom: mails.onMailFrom }),
    });
    await enqueue(postgres.databaseUrl);
    await mails.first;
    await postgres.stop();
    mails.open();
    await until(() => worker.output().includes('the job runner cannot be started yet'));
    await startAgain();
    await until(async () => (await jobs(postgres.databaseUrl)).length === 0);
    expect((await worker.kill('SIGTERM')).code).toBe(0);
  });

  test('stops on SIGTERM while Postgres is down', async () => {
    const worker = await startWorkerProcess(postgres.databaseUrl);
    await postgres.stop();
    expect((await worker.kill('SIGTERM')).code).toBe(0);
    await startAgain();
  });
});
