// Each command looks at APP_SECRET before it does anything: a wrong one would fail every delivery,
// and write values that no other process can read.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { main as announce } from '../../scripts/announce.ts';
import { main as operator } from '../../scripts/operator.ts';
import { main as rotateSecret } from '../../scripts/rotate-secret.ts';
import { main as seed } from '../../scripts/seed.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { findAppSecretFault } from '../../src/db/operator/app-secret.ts';
import { loadTestSeed, TEST_APP_SECRET as RIGHT } from '../support/api.ts';
import { changesOf } from '../support/changed-rows.ts';
import { commandAt } from '../support/commands.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeFolder } from '../support/folder.ts';
import { makeFullTeam, makeSeed, makeTeam } from '../support/seed.ts';
import { openPatiently } from '../support/wire.ts';

const WRONG = 'hunter2 hunter2 hunter2 hunter2 hunter2';
const NEW = 'the secret that comes after it, just as long';
const DATES = ['--version', 'v1', '--deprecation', '2027-01-01', '--sunset', '2028-01-01'];
const OWNER = ['--owner-user-id', 'usr_new', '--owner-email', 'new@x.test'];

let database: TestDatabase;
let db: Database;
beforeEach(async () => {
  database = await createTestDatabase();
  db = openPatiently(database.url);
  return async () => {
    await db.close();
    await database.drop();
  };
});

async function writeSeedFile(): Promise<string> {
  const file = join(await makeFolder('app-secret'), 'seed.json');
  await writeFile(file, JSON.stringify(makeSeed([makeTeam('b')])));
  return file;
}

const COMMANDS = [
  { name: 'announce', command: announce, args: async () => [...DATES, '--dry-run'] },
  { name: 'operator', command: operator, args: async () => ['team', 'suspend', 'team_a'] },
  { name: 'rotate-secret', command: rotateSecret, args: async () => [] },
  { name: 'seed', command: seed, args: async () => [await writeSeedFile()] },
];

describe.each(COMMANDS)('$name', ({ command, args }) => {
  test('refuses a secret that is not the database’s, and names the setting', async () => {
    expect(await findAppSecretFault(db, { current: RIGHT, previous: null })).toBeNull();
    const env = {
      APP_SECRET: WRONG,
      ...(command === rotateSecret && { APP_SECRET_PREVIOUS: NEW }),
    };
    const refused = await commandAt(database.url)(command, await args(), env);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/APP_SECRET (?:nor|is not)/);
    expect(refused.stderr).not.toMatch(/hunter2|just as long/);
  });

  test('says what to run on a database without migrations', async () => {
    const empty = await createEmptyDatabase();
    onTestFinished(() => empty.drop());
    const env = { APP_SECRET_PREVIOUS: NEW };
    const refused = await commandAt(empty.url)(command, await args(), env);
    expect(refused.code).toBe(1);
    expect(refused.output).toContain('Run "npm run migrate" first.\n');
  });
});

describe('a dry run on a database that no process has used', () => {
  const create = ['team', 'create', 'team_new', '--name', 'New', ...OWNER];

  test.each([
    { name: 'operator', command: operator, args: [...create, '--dry-run'] },
    { name: 'announce', command: announce, args: [...DATES, '--dry-run'] },
  ])('of $name writes nothing, and refuses a wrong secret', async ({ command, args }) => {
    const changes = await changesOf(db.pool, async () => {
      expect(await commandAt(database.url)(command, args)).toMatchObject({ code: 0 });
    });
    expect(changes).toEqual({});
    await loadTestSeed(database, makeSeed([makeFullTeam('a')]));
    const refused = await commandAt(database.url)(command, args, { APP_SECRET: WRONG });
    expect(refused.code).toBe(1);
    expect(refused.output).toMatch(/^APP_SECRET is not/m);
  });

  test('of a command that then is not confirmed writes nothing either', async () => {
    await loadTestSeed(database, makeSeed([makeTeam('a')]));
    const changes = await changesOf(db.pool, async () => {
      const end = ['team', 'end', 'team_a'];
      expect(await commandAt(database.url)(operator, end)).toMatchObject({ code: 64 });
    });
    expect(changes).toEqual({});
  });
});
