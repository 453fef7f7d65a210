// A wrong APP_SECRET: no process starts that would fail every delivery and write values that no
// other process can read.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Database } from '../../src/db/connections/database.ts';
import { findAppSecretFault } from '../../src/db/operator/app-secret.ts';
import { loadTestSeed, TEST_APP_SECRET as RIGHT } from '../support/api.ts';
import { runEntry, runScript } from '../support/processes.ts';
import { changesOf } from '../support/changed-rows.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { makeFullTeam, makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';
import { openTestDatabase } from '../support/wire.ts';

const WRONG = 'hunter2 hunter2 hunter2 hunter2 hunter2';
const NEW = 'the secret that comes after it, just as long';

let database: TestDatabase;
let db: Database;
beforeEach(async () => {
  database = await createTestDatabase();
  db = openTestDatabase({ url: database.url, poolMax: 8 });
  return async () => {
    await db.close();
    await database.drop();
  };
});

/** What a process with these secrets says about the database. null: it may run. */
const faultWith = (current: string, previous: string | null = null) =>
  findAppSecretFault(db, { current, previous });

async function writeSeedFile(): Promise<string> {
  const folder = await makeFolder('app-secret');
  const file = join(folder, 'seed.json');
  await writeFile(file, JSON.stringify(makeSeed([makeTeam('b')])));
  return file;
}

describe('with an APP_SECRET that is not the database’s', () => {
  const dates = ['--version', 'v1', '--deprecation', '2027-01-01', '--sunset', '2028-01-01'];
  const entries: readonly (readonly [string, () => Promise<string[]>])[] = [
    ['src/api.ts', async () => []],
    ['src/worker.ts', async () => []],
    ['scripts/announce.ts', async () => [...dates, '--dry-run']],
    ['scripts/rotate-secret.ts', async () => []],
    ['scripts/seed.ts', async () => [await writeSeedFile()]],
  ];

  test.each(entries)('%s refuses to start, and names the setting', async (entry, args) => {
    expect(await faultWith(RIGHT)).toBeNull();
    const env = {
      DATABASE_URL: database.url,
      PORT: String(await findFreePort()),
      APP_SECRET: WRONG,
      ...(entry.includes('rotate') && { APP_SECRET_PREVIOUS: NEW }),
    };
    const refused = runEntry(entry, env, await args());
    expect(await refused.exited).toEqual({ code: 1, signal: null });
    expect(refused.output()).toMatch(/APP_SECRET (?:nor|is not)/);
    expect(refused.output()).not.toMatch(/hunter2|just as long/);
  });

  test('an API process that could not ask at its start ends as soon as it can', async () => {
    await faultWith(RIGHT);
    const proxy = await startPostgresProxy(database.url);
    onTestFinished(() => proxy.stop());
    proxy.fallSilent();
    const port = String(await findFreePort());
    const api = runEntry('src/api.ts', { DATABASE_URL: proxy.url, PORT: port, APP_SECRET: WRONG });
    await until(() => fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null));
    proxy.recover();
    expect(await api.exited).toEqual({ code: 1, signal: null });
    expect(api.output()).toContain('APP_SECRET is not the secret of this database');
  });
});

test.each(['operator', 'announce', 'rotate-secret', 'seed'])(
  'on a database without migrations, %s says what to run',
  async (script) => {
    const empty = await createEmptyDatabase();
    onTestFinished(() => empty.drop());
    const date = ['--version', 'v1', '--deprecation', '2027-01-01', '--sunset', '2028-01-01'];
    const args: Readonly<Record<string, readonly string[]>> = {
      operator: ['team', 'suspend', 'team_a'],
      announce: [...date, '--dry-run'],
      seed: [await writeSeedFile()],
    };
    const started = runScript(empty.url, [script, ...(args[script] ?? [])], {
      APP_SECRET_PREVIOUS: NEW,
    });
    expect(await started.exited).toMatchObject({ code: 1 });
    expect(started.output()).toContain('Run "npm run migrate" first.\n');
  },
);

describe('a dry run on a database that no process has used', () => {
  const dates = ['--version', 'v1', '--deprecation', '2027-01-01', '--sunset', '2028-01-01'];
  const owner = ['--owner-user-id', 'usr_new', '--owner-email', 'new@x.test'];
  const runs: readonly (readonly [string, readonly string[]])[] = [
    ['operator', ['team', 'create', 'team_new', '--name', 'New', ...owner, '--dry-run']],
    ['announce', [...dates, '--dry-run']],
  ];

  test.each(runs)('of %s writes nothing, and refuses a wrong secret', async (script, args) => {
    const run = (secret: string) =>
      runScript(database.url, [script, ...args], { APP_SECRET: secret });
    const changes = await changesOf(db.pool, async () => {
      const dry = run(RIGHT);
      expect(await dry.exited).toMatchObject({ code: 0 });
    });
    expect(changes).toEqual({});
    await loadTestSeed(database, makeSeed([makeFullTeam('a')]));
    const refused = run(WRONG);
    expect(await refused.exited).toMatchObject({ code: 1 });
    expect(refused.output()).toMatch(/^APP_SECRET is not/m);
  });

  test('of a command that then is not confirmed writes nothing either', async () => {
    await loadTestSeed(database, makeSeed([makeTeam('a')]));
    const changes = await changesOf(db.pool, async () => {
      const asked = runScript(database.url, ['operator', 'team', 'end', 'team_a'], {});
      expect(await asked.exited).toMatchObject({ code: 64 });
    });
    expect(changes).toEqual({});
  });
});
