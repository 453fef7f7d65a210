// PgBouncer from Debian's packages, which does not follow prepared statements before 1.21.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { holdSessionLock } from '../../src/db/connections/session-lock.ts';
import { migrate } from '../../src/db/operator/migrate.ts';
import { PrimaryClient } from '../../src/db/wire/primary-client.ts';
import { createCall, loadTestSeed } from '../support/api.ts';
import { runEntry, runScript } from '../support/processes.ts';
import { because, whyNot } from '../support/debian.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';
import { canConnect, canFollowStatements } from './pgbouncer.ts';
import { startServers, whyNoPostgres, type Servers } from './postgres.ts';

const reason = whyNoPostgres ?? whyNot(['pgbouncer']);

describe.skipIf(reason !== null)(`a pooler${because(reason)}`, () => {
  let servers: Servers;
  let folder: string;
  let key: string;

  beforeAll(async () => {
    folder = await makeFolder('poolers');
    await chmod(folder, 0o777);
    servers = await startServers();
    const { url } = servers.primary;
    await migrate(url);
    const { teams } = await loadTestSeed({ url }, makeSeed([makeTeam('a')]));
    key = teams['team_a']?.api_keys['full'] ?? '';
  }, 300_000);
  afterAll(async () => await servers?.stop());

  /** Starts a PgBouncer before this port, and resolves with the URL through it. */
  async function startPgBouncer(mode: 'transaction' | 'session', toPort: number): Promise<string> {
    const port = await findFreePort();
    const file = join(folder, `${port}.ini`);
    const config = [
      '[databases]',
      `* = host=127.0.0.1 port=${toPort} user=postgres`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = any',
      `pool_mode = ${mode}`,
      'server_login_retry = 1',
      // Newer ones follow prepared statements, unless they are told not to.
      ...(canFollowStatements(['pgbouncer']) ? ['max_prepared_statements = 0'] : []),
    ];
    await writeFile(file, config.join('\n'));
    // PgBouncer refuses root.
    const user = ['--reuid=postgres', '--regid=postgres', '--clear-groups'];
    const pgbouncer = spawn('setpriv', [...user, 'pgbouncer', '-q', file], { stdio: 'ignore' });
    onTestFinished(async () => {
      const ended = once(pgbouncer, 'exit');
      pgbouncer.kill('SIGKILL');
      await ended;
    });
    const url = `postgres://postgres@127.0.0.1:${port}/app`;
    await until(() => canConnect(url));
    return url;
  }

  test.each(['transaction', 'session'] as const)(
    'in %s mode is refused by what listens or holds session locks',
    async (mode) => {
      const url = await startPgBouncer(mode, servers.primary.port);
      const refused = [
        runScript(url, ['migrate']),
        runEntry('src/worker.ts', { DATABASE_URL: url }),
      ];
      for (const command of refused) {
        expect(await command.exited).toEqual({ code: 1, signal: null });
        expect(command.output()).toContain('DATABASE_URL leads to a connection pooler');
      }
      const lock = await holdSessionLock(url, 1);
      expect(await lock.isHeld()).toBe(false);
      expect(lock.fault()?.message).toContain('connection pooler');
      await lock.close();
    },
  );

  test('that loses prepared statements is named until it is gone', async () => {
    const pooler = await startPgBouncer('transaction', servers.primary.port);
    const proxy = await startPostgresProxy(pooler);
    onTestFinished(() => proxy.stop());
    const port = await findFreePort();
    const env = { DATABASE_URL: proxy.url, PORT: String(port), LOG_LEVEL: 'info' };
    const api = runEntry('src/api.ts', env);
    onTestFinished(async () => void (await api.kill('SIGKILL')));
    const site = `http://127.0.0.1:${port}`;
    await until(() => fetch(`${site}/healthz`).catch(() => null));
    const readyz = async () => (await fetch(`${site}/readyz`)).json() as Promise<object>;
    const call = createCall(site);
    const isNamed = async (): Promise<boolean> =>
      JSON.stringify(await readyz()).includes('pooler_without_prepared_statements');
    const statuses = new Set<number>();
    await until(async () => {
      const calls = Array.from({ length: 8 }, () => call(key, 'GET', '/users'));
      for (const { status } of await Promise.all(calls)) statuses.add(status);
      return isNamed();
    });
    // Never an error of the service's own.
    expect([...statuses].filter((status) => status !== 200 && status !== 503)).toEqual([]);
    await until(() => api.output().includes('"reason":"pooler_without_prepared_statements"'));
    // It stays so while nobody calls.
    for (let look = 0; look < 3; look += 1) {
      await delay(500);
      expect(await isNamed()).toBe(true);
    }
    proxy.redirect(servers.primary.url);
    await until(async () => JSON.stringify(await readyz()) === '{"status":"ready"}');
    expect((await call(key, 'GET', '/users')).status).toBe(200);
  });

  test('that still tells of the standby of long ago locks nobody out', async () => {
    const standby = await servers.addStandby();
    const url = await startPgBouncer('transaction', standby.port);
    const refused = new PrimaryClient({ connectionString: url, options: undefined });
    await expect(refused.connect()).rejects.toThrow('standby');
    await standby.promote();
    for (let times = 0; times < 5; times += 1) {
      const client = new PrimaryClient({ connectionString: url, options: undefined });
      await client.connect();
      await client.end();
    }
  });
});
