// A process that cannot work says why: in the body of /readyz, and in its log at each change.
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { TLSSocket } from 'node:tls';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { migrate } from '../../src/db/operator/migrate.ts';
import { startEmbedded } from '../../src/embedded-postgres/embedded-postgres.ts';
import { createCall, loadTestSeed } from '../support/api.ts';
import { runEntry, startApiProcess, type RunningProcess } from '../support/processes.ts';
import { GOOD, KEY } from '../support/certificates.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { findFreePort } from '../support/ports.ts';
import { holdLock } from '../support/locks.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { fillDisk, mountSmallDisk } from '../support/small-disk.ts';
import { until } from '../support/until.ts';

/** Longer than probes share a look. */
const SHARED_MS = 200;
/** Less than a statement may take, even while it waits for a lock. */
const LOOK_FAILS_AFTER_MS = 4_000;
const READY = { status: 200, body: { status: 'ready' } };
const notReady = (reason: string) => ({ status: 503, body: { status: 'not_ready', reason } });

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
  return () => database.drop();
});

interface Probe {
  readonly status: number;
  readonly body: unknown;
}

/** Starts an API process and waits until it listens, ready or not. */
async function startListening(
  databaseUrl: string,
): Promise<RunningProcess & { readonly url: string; probe(): Promise<Probe> }> {
  const port = await findFreePort();
  const env = { DATABASE_URL: databaseUrl, PORT: String(port), LOG_LEVEL: 'info' };
  const api = runEntry('src/api.ts', env);
  const url = `http://127.0.0.1:${port}`;
  await until(() => fetch(`${url}/healthz`).catch(() => null));
  return { ...api, url, probe: () => probe(url) };
}

async function probe(url: string): Promise<Probe> {
  const response = await fetch(`${url}/readyz`);
  return { status: response.status, body: await response.json() };
}

async function untilSeen(look: () => Promise<Probe>, expected: Probe): Promise<void> {
  await until(async () => JSON.stringify(await look()) === JSON.stringify(expected));
}

/** The reasons in the log, in order. `null` stands for "ready". */
function told(output: string): (string | null)[] {
  return output
    .split('\n')
    .filter((line) => /"msg":"(?:not )?ready"/.test(line))
    .map((line) => (JSON.parse(line) as { reason?: string }).reason ?? null);
}

/** The same without what a look tells that took too long, as it may on a busy machine. */
function toldInTime(output: string): (string | null)[] {
  return told(output)
    .filter((reason) => reason !== 'database_unreachable')
    .filter((reason, index, reasons) => reason !== reasons[index - 1]);
}

async function run(text: string, url = database.url): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(text);
  await client.end();
}

describe('a process that is not ready says', () => {
  test('that the database cannot be reached, that it can, and that the process stops', async () => {
    const proxy = await startPostgresProxy(database.url);
    onTestFinished(() => proxy.stop());
    proxy.fallSilent();
    const api = await startListening(proxy.url);
    expect(await api.probe()).toEqual(notReady('database_unreachable'));
    proxy.recover();
    await untilSeen(() => api.probe(), READY);
    proxy.fallSilent();
    await untilSeen(() => api.probe(), notReady('database_unreachable'));
    await api.kill('SIGTERM');
    const reasons = ['database_unreachable', null, 'database_unreachable', 'draining'];
    expect(told(api.output())).toEqual(reasons);
  });

  test('that the database refuses its login, and not the password', async () => {
    const url = new URL(database.url);
    url.password = 'hunter2';
    const api = await startListening(url.href);
    expect(await api.probe()).toEqual(notReady('database_login_refused'));
    const key = `svck_live_${'a'.repeat(16)}_${'b'.repeat(64)}`;
    expect((await createCall(api.url)(key, 'GET', '/me')).status).toBe(503);
    await api.kill('SIGTERM');
    expect(told(api.output())).toEqual(['database_login_refused', 'draining']);
    expect(api.output()).toMatch(/"code":"28P01".*"msg":"unavailable"/);
    expect(api.output()).not.toContain('hunter2');
  });

  test('that migrations are pending, until somebody applies them', async () => {
    const empty = await createEmptyDatabase();
    onTestFinished(() => empty.drop());
    const api = await startListening(empty.url);
    expect(await api.probe()).toEqual(notReady('migrations_pending'));
    await migrate(empty.url);
    await untilSeen(() => api.probe(), READY);
    await api.kill('SIGTERM');
    expect(told(api.output())).toEqual(['migrations_pending', null, 'draining']);
  });

  // A look that takes longer than a probe waits has seen nothing: that is no news.
  test('the same reason while looks are slow, and another once the database is gone', async () => {
    await run('update _prisma_migrations set finished_at = null');
    const proxy = await startPostgresProxy(database.url);
    onTestFinished(() => proxy.stop());
    const api = await until(async () => {
      const started = await startListening(proxy.url);
      expect(await started.probe()).toEqual(notReady('migrations_pending'));
      const lockedAt = performance.now();
      const release = await holdLock(
        { databaseUrl: database.url },
        'lock table _prisma_migrations in access exclusive mode',
      );
      await delay(SHARED_MS);
      const askedAt = performance.now();
      const seen = await started.probe();
      const answeredAt = performance.now();
      await release();
      if (performance.now() - lockedAt > LOOK_FAILS_AFTER_MS) {
        await started.kill('SIGKILL');
        return null;
      }
      expect(seen).toEqual(notReady('migrations_pending'));
      expect(answeredAt - askedAt).toBeGreaterThan(1_000);
      return started;
    });
    expect(await api.probe()).toEqual(notReady('migrations_pending'));
    proxy.fallSilent();
    await untilSeen(() => api.probe(), notReady('database_unreachable'));
    await api.kill('SIGTERM');
    const reasons = ['migrations_pending', 'database_unreachable', 'draining'];
    expect(told(api.output())).toEqual(reasons);
  });

  test('that the database is read-only, as after a failover', async () => {
    const name = new URL(database.url).pathname.slice(1);
    const server = new URL(database.url);
    server.pathname = '/postgres';
    const others = `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = '${name}' and pid <> pg_backend_pid()`;
    const setReadOnly = async (value: 'on' | 'off'): Promise<void> => {
      await run(`alter database ${name} set default_transaction_read_only = ${value}`, server.href);
      await run(others, server.href);
    };
    const api = await startListening(database.url);
    await untilSeen(() => api.probe(), READY);
    await setReadOnly('on');
    await untilSeen(() => api.probe(), notReady('database_read_only'));
    await setReadOnly('off');
    await untilSeen(() => api.probe(), READY);
    await api.kill('SIGTERM');
    expect(told(api.output())).toEqual(expect.arrayContaining(['database_read_only', 'draining']));
  });
});

test('while the disk is full, writes get 503 and the process is not ready', async (context) => {
  const disk = await mountSmallDisk(160);
  if (disk === null) return context.skip('only root may mount a small disk to fill');
  const postgres = await startEmbedded({ dataDir: disk, settings: { fsync: 'off' } });
  onTestFinished(() => postgres.stop());
  await migrate(postgres.databaseUrl);
  const seeded = await loadTestSeed({ url: postgres.databaseUrl }, makeSeed([makeTeam('a')]));
  const api = await startApiProcess(postgres.databaseUrl, { LOG_LEVEL: 'info' });
  const call = createCall(api.url);
  const key = seeded.teams['team_a']?.api_keys['full'] ?? '';
  let invited = 0;
  const invite = async (): Promise<number> => {
    invited += 1;
    const body = { email: `person-${invited}@a.test` };
    const { status } = await call(key, 'POST', '/users', { body });
    return status;
  };
  expect(await invite()).toBe(201);

  const makeRoom = fillDisk(disk);
  // The pages that exist already have room for some rows.
  await until(async () => (await invite()) === 503);
  await untilSeen(() => probe(api.url), notReady('disk_full'));
  // It looks again and again, although no request has been refused since.
  for (let look = 0; look < 5; look += 1) {
    await delay(200);
    expect(await probe(api.url)).toEqual(notReady('disk_full'));
  }
  makeRoom();
  await untilSeen(() => probe(api.url), READY);
  expect(await invite()).toBe(201);
  await api.kill('SIGTERM');
  expect(toldInTime(api.output())).toEqual([null, 'disk_full', null, 'draining']);
});

test('a database whose certificate is of an unknown authority is told by that name', async () => {
  // What a server with TLS says to the first message of a client, and then its certificate.
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write('S');
      const secure = new TLSSocket(socket, { isServer: true, key: KEY, cert: GOOD });
      secure.on('error', () => undefined);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const url = `postgres://app:hunter2@127.0.0.1:${port}/app?sslmode=verify-full`;
  const api = await startListening(url);
  await untilSeen(() => api.probe(), notReady('database_certificate'));
  expect(api.output()).not.toContain('hunter2');
  await api.kill('SIGKILL');
});
