// `npm start` as a person runs it: what goes wrong, and what may not.
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { describe, expect, test } from 'vitest';
import { demoSeedFile } from '../../src/seed/demo.ts';
import { loadTestSeed, TEST_APP_SECRET } from '../support/api.ts';
import { createTestDatabase } from '../support/database.ts';
import { findRefusedPort } from '../support/ports.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';
import {
  cluster,
  embeddedUrl,
  expectNothingLeft,
  findPort,
  folder,
  killGroup,
  paste,
  pasteAndRead,
  postmaster,
  query,
  readGreeting,
  start,
  useStartFolder,
} from '../support/npm-start.ts';

useStartFolder();

/** Pastes a call that writes, which then waits in the database until `release`. */
async function holdRequest(line: string) {
  const holder = new Client({ connectionString: embeddedUrl() });
  holder.on('error', () => undefined);
  await holder.connect();
  await holder.query(`BEGIN; SELECT FROM team FOR UPDATE`);
  const pasted = pasteAndRead(line).then(
    () => 'answered',
    () => 'lost',
  );
  const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;
  await until(async () => (await query(waiting)).length === 1);
  return { pasted, release: () => holder.end() };
}

describe('npm start', () => {
  test('stops in order although npm passes Ctrl-C on late', async () => {
    const service = start('npm', { PORT: await findPort() });
    const { curls } = await service.greeting();
    const postgres = await postmaster();
    const { pasted, release } = await holdRequest(curls[2] ?? '');
    service.child.kill('SIGSTOP');
    killGroup(service.child, 'SIGINT');
    await delay(300);
    service.child.kill('SIGCONT');
    await delay(500);
    await release();
    expect(await pasted).toBe('answered');
    expect(await service.exitCode).toBe(0);
    await expectNothingLeft(service, postgres);
  });

  test('recovers when it and Postgres were killed while it made the demo team', async () => {
    const env = { PORT: await findPort() };
    const killed = start('node', env);
    await until(() => existsSync(join(folder, '.data', 'demo.json')));
    killed.child.kill('SIGKILL');
    await killed.exitCode;
    const postgres = await postmaster();
    // 0 would be the test's own processes.
    expect(postgres).toBeGreaterThan(0);
    process.kill(postgres, 'SIGKILL');

    const service = start('node', env);
    const { curls } = await service.greeting();
    expect(await paste(curls)).toEqual(['200', '200', '201']);
    expect(await query('SELECT id FROM team ORDER BY id')).toEqual([
      { id: 'team_demo' },
      { id: 'team_demo:sandbox' },
    ]);
  });

  test('names the port that is in use, and leaves nothing running', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    const service = start('node', { PORT: String(port) });
    expect(await service.exitCode).toBe(1);
    expect(service.output()).toContain(`Port ${port} is in use`);
    const [pid = '0'] = (
      await readFile(join(cluster(), 'postmaster.pid'), 'utf8').catch(() => '')
    ).split('\n');
    await expectNothingLeft(service, Number(pid));
    holder.close();
  });

  test('refuses to run twice in one folder, and the first one keeps running', async () => {
    const first = start('node', { PORT: await findPort() });
    const { curls } = await first.greeting();
    const second = start('node', { PORT: await findPort() });
    expect(await second.exitCode).toBe(1);
    expect(second.output()).toMatch(/Another "npm start" or .* is running on .*\.data/);
    expect(await paste(curls)).toEqual(['200', '200', '201']);
  });

  test('stops on a signal while it is starting', async () => {
    const service = start('node', { PORT: await findPort() });
    await until(async () => (await postmaster()) > 0);
    const postgres = await postmaster();
    service.child.kill('SIGINT');
    expect(await service.exitCode).toBe(0);
    expect(service.output()).not.toContain('Base URL');
    await expectNothingLeft(service, postgres);
  });

  test('ends at once at the second signal, even with a request in flight', async () => {
    const service = start('node', { PORT: await findPort() });
    const { curls, base } = await service.greeting();
    const postgres = await postmaster();
    const { pasted } = await holdRequest(curls[2] ?? '');

    service.child.kill('SIGTERM');
    await until(() =>
      fetch(base).then(
        () => false,
        () => true,
      ),
    );
    // Repeat it, because a signal shortly after the first counts as npm's echo of the first.
    while (service.child.exitCode === null) {
      service.child.kill('SIGTERM');
      await delay(20);
    }
    expect(await service.exitCode).toBe(1);
    expect(await pasted).toBe('lost');
    await expectNothingLeft(service, postgres);
  });

  test('makes no demo team in production', async () => {
    const env = { PORT: await findPort(), NODE_ENV: 'production', MAIL_DIR: 'mails' };
    const service = start('node', env);
    await until(() => service.output().includes('Docs') || service.child.exitCode !== null);
    const { key, curls } = readGreeting(service.output());
    expect(key).toBe('(none: no demo tenant in production)');
    expect(curls).toEqual([]);
    expect(await query('SELECT FROM team')).toEqual([]);
  });

  test('with DATABASE_URL starts no Postgres, and no demo team beside others', async () => {
    const database = await createTestDatabase();
    await loadTestSeed(database, makeSeed([makeTeam('a')]));
    const service = start('node', { PORT: await findPort(), DATABASE_URL: database.url });
    await until(() => service.output().includes('Docs') || service.child.exitCode !== null);
    expect(readGreeting(service.output()).key).toBe('(none: this database had teams of its own)');
    expect(existsSync(cluster())).toBe(false);
    expect(await query('SELECT id FROM team', database.url)).toEqual([{ id: 'team_a' }]);
    service.child.kill('SIGTERM');
    expect(await service.exitCode).toBe(0);
    await database.drop();
  });

  test('loads no demo team again where another database has lost its keys', async () => {
    const database = await createTestDatabase();
    await loadTestSeed(database, demoSeedFile());
    const added = `INSERT INTO member (team_id, id, email, role, status, created_at)
      VALUES ('team_demo', 'mem_added', 'added@example.com', 'member', 'invited', now())`;
    await query(added, database.url);
    await mkdir(join(folder, '.data'));
    await writeFile(join(folder, '.data', 'demo.json'), '{"state":"loading"}');
    const env = { DATABASE_URL: database.url, APP_SECRET: TEST_APP_SECRET };
    const service = start('node', { PORT: await findPort(), ...env });
    await until(() => service.output().includes('Docs') || service.child.exitCode !== null);
    const member = `SELECT id FROM member WHERE id = 'mem_added'`;
    expect(await query(member, database.url)).toEqual([{ id: 'mem_added' }]);
    expect(readGreeting(service.output()).key).toMatch(/^\(none: /);
    service.child.kill('SIGTERM');
    expect(await service.exitCode).toBe(0);
    await database.drop();
  });

  test('keeps the keys of each database, also at a port that fetch refuses', async () => {
    const database = await createTestDatabase();
    const env = { PORT: String(await findRefusedPort()) };
    const keys: string[] = [];
    for (const own of [{}, { DATABASE_URL: database.url }, {}]) {
      const service = start('node', { ...env, ...own });
      const { key, curls } = await service.greeting();
      expect(await paste(curls)).toEqual(['200', '200', '201']);
      keys.push(key);
      service.child.kill('SIGTERM');
      expect(await service.exitCode).toBe(0);
    }
    const [first, other, again] = keys;
    expect(again).toBe(first);
    expect(other).not.toBe(first);
    await database.drop();
  });
});
