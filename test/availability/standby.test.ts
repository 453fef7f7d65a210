// A node in recovery is no database for the service: whatever it reaches one with refuses it.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { holdSessionLock } from '../../src/db/connections/session-lock.ts';
import { isConnectionBroken, isStandby, isUnavailable } from '../../src/db/errors.ts';
import { migrate } from '../../src/db/operator/migrate.ts';
import { createCall, loadTestSeed } from '../support/api.ts';
import { runEntry, runScript, startApiProcess, startWorkerProcess } from '../support/processes.ts';
import { because } from '../support/debian.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { startPostgresProxy, type PostgresProxy } from '../support/postgres-proxy.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { makeSeed, makeTeam, memberId } from '../support/seed.ts';
import { until } from '../support/until.ts';
import { startServers, whyNoPostgres, type Node, type Servers } from './postgres.ts';

const DELIVERING = { WEBHOOK_ALLOW_PRIVATE_TARGETS: '1' };

describe.skipIf(whyNoPostgres !== null)(
  `a standby${because(whyNoPostgres)}`,
  { timeout: 300_000 },
  () => {
    let servers: Servers;
    let standby: Node;
    let proxy: PostgresProxy;
    let receiver: Receiver;
    let key: string;

    beforeAll(async () => {
      receiver = await startReceiver();
      servers = await startServers();
      const { url } = servers.primary;
      await migrate(url);
      const webhook_endpoints = [
        { id: 'whe_a', url: `${receiver.url}/hook`, events: ['assignment.created' as const] },
      ];
      const seed = makeSeed([makeTeam('a', { webhook_endpoints })]);
      const { teams } = await loadTestSeed({ url }, seed);
      key = teams['team_a']?.api_keys['full'] ?? '';
      standby = await servers.addStandby();
    }, 300_000);
    afterAll(async () => await servers?.stop());

    beforeEach(async () => {
      proxy = await startPostgresProxy(servers.primary.url);
      return () => proxy.stop();
    });

    /** Starts an API process and waits until it listens, ready or not. */
    async function startListening(databaseUrl: string) {
      const port = await findFreePort();
      const env = { DATABASE_URL: databaseUrl, PORT: String(port), LOG_LEVEL: 'info' };
      const api = runEntry('src/api.ts', env);
      onTestFinished(async () => void (await api.kill('SIGKILL')));
      const url = `http://127.0.0.1:${port}`;
      await until(() => fetch(`${url}/healthz`).catch(() => null));
      const readyz = async (): Promise<unknown> => (await fetch(`${url}/readyz`)).json();
      return { ...api, call: createCall(url), readyz };
    }

    const assign = (call: ReturnType<typeof createCall>, title: string) =>
      call(key, 'POST', '/assignments', {
        body: {
          member_id: memberId('a', 'member'),
          title,
          situation_id: 'sit_cold',
          personality_id: 'per_calm',
          industry_id: 'ind_saas',
        },
      });

    test('gives every request 503 until the route leads to the primary', async () => {
      proxy.redirect(standby.url);
      const api = await startListening(proxy.url);
      const standbyIsNamed = { status: 'not_ready', reason: 'database_standby' };
      expect(await api.readyz()).toEqual(standbyIsNamed);
      for (const [method, path] of [
        ['GET', '/me'],
        ['GET', '/users'],
        ['POST', '/users'],
      ] as const) {
        const body = method === 'POST' ? { body: { email: 'kim@a.test' } } : {};
        const response = await api.call(key, method, path, body);
        expect([response.status, response.body]).toMatchObject([503, { code: 'unavailable' }]);
      }
      proxy.redirect(servers.primary.url);
      await until(async () => ((await api.readyz()) as { status: string }).status === 'ready');
      expect((await api.call(key, 'GET', '/users')).status).toBe(200);
      proxy.redirect(standby.url);
      await until(async () => (await api.call(key, 'GET', '/users')).status === 503);
      // For a tenth of a second, a look of before is shared.
      await until(async () => ((await api.readyz()) as { status: string }).status !== 'ready');
      expect(await api.readyz()).toEqual(standbyIsNamed);
    });

    test('is refused by every command and by a worker that starts', async () => {
      const seed = join(await makeFolder('seed'), 'seed.json');
      await writeFile(seed, JSON.stringify(makeSeed([makeTeam('b')])));
      const dates = ['--deprecation', '2030-01-01', '--sunset', '2031-01-01'];
      const refused = [
        runScript(standby.url, ['migrate']),
        runScript(standby.url, ['seed', seed]),
        runScript(standby.url, ['announce', '--version', 'v1', ...dates, '--dry-run']),
        runScript(standby.url, ['rotate-secret'], { APP_SECRET_PREVIOUS: 'p'.repeat(32) }),
        runEntry('src/worker.ts', { DATABASE_URL: standby.url }),
      ];
      for (const command of refused) {
        expect(await command.exited).toEqual({ code: 1, signal: null });
        expect(command.output()).toContain('the database is a standby');
      }
    });

    test('gives no lock that counts', async () => {
      const lock = await holdSessionLock(standby.url, 1);
      expect(await lock.isHeld()).toBe(false);
      expect(lock.fault()?.message).toContain('standby');
      await lock.close();
    });

    test('makes no delivery come twice, for a worker gets its lock anew', async () => {
      const api = await startApiProcess(servers.primary.url);
      onTestFinished(async () => void (await api.kill('SIGKILL')));
      const call = createCall(api.url);
      const worker = await startWorkerProcess(proxy.url, DELIVERING);
      onTestFinished(async () => void (await worker.kill('SIGKILL')));
      const arrive = async (count: number): Promise<void> => {
        const { length } = receiver.requestsTo('/hook');
        for (let n = 0; n < count; n += 1)
          expect((await assign(call, `${length + n}`)).status).toBe(201);
        await receiver.arrived('/hook', length + count);
      };
      await arrive(3);
      // All its connections, that of its lock included, are made anew, and lead to the standby.
      proxy.redirect(standby.url);
      await until(() => worker.output().includes('the delivery loop waits: it has no lock'));
      proxy.redirect(servers.primary.url);
      await arrive(20);
      const ids = receiver.requestsTo('/hook').map(({ headers }) => headers['svc-event-id']);
      expect(new Set(ids).size).toBe(ids.length);
      expect(ids.length).toBe(23);
    });

    test('raises errors that say so, and not that a statement is wrong', async () => {
      const client = new Client({ connectionString: standby.url });
      await client.connect();
      onTestFinished(() => client.end());
      const errorOf = (sql: string) => client.query(sql).catch((error: Error) => error);
      for (const sql of [
        'select * from rate_counter',
        'begin isolation level serializable',
        `select pg_create_restore_point('a')`,
      ]) {
        const error = await errorOf(sql);
        expect([sql, isStandby(error as Error), isUnavailable(error)]).toEqual([sql, true, true]);
        expect(isConnectionBroken(error)).toBe(true);
      }
      for (const sql of ['create table x ()', 'listen x', `select pg_notify('a', '')`])
        expect([sql, isUnavailable(await errorOf(sql))]).toEqual([sql, true]);
      // The same codes, with another meaning.
      for (const sql of [
        'select 1 from team for update of pg_class',
        `select 'during recovery'::int`,
      ])
        expect([sql, isUnavailable(await errorOf(sql))]).toEqual([sql, false]);
    });
  },
);
