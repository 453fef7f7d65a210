import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { main as announce } from '../../scripts/announce.ts';
import { main as doctor } from '../../scripts/doctor.ts';
import { main as migrate } from '../../scripts/migrate.ts';
import { main as operator } from '../../scripts/operator.ts';
import { main as rotateSecret } from '../../scripts/rotate-secret.ts';
import { main as seed } from '../../scripts/seed.ts';
import { main as trace } from '../../scripts/trace.ts';
import { CHECKS } from '../../src/doctor/checks.ts';
import { loadTestSeed } from '../support/api.ts';
import { commandAt } from '../support/commands.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
  await loadTestSeed(database, makeSeed([makeTeam('a')]));
});
afterAll(() => database.drop());

const NOWHERE = 'postgres://nobody@127.0.0.1:1/nowhere';

describe.each([
  { name: 'announce', command: announce },
  { name: 'doctor', command: doctor },
  { name: 'migrate', command: migrate },
  { name: 'operator', command: operator },
  { name: 'rotate-secret', command: rotateSecret },
  { name: 'seed', command: seed },
  { name: 'trace', command: trace },
])('$name', ({ name, command }) => {
  const run = commandAt(NOWHERE);

  test.each(['--help', '-h'])('%s prints how it is called, and ends with 0', async (help) => {
    expect(await run(command, [help])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`npm run ${name}`),
      stderr: '',
    });
  });

  test('refuses an option that it does not know, with 64', async () => {
    expect(await run(command, ['--dry-rnu'])).toMatchObject({
      code: 64,
      stdout: '',
      stderr: expect.stringContaining('--dry-rnu'),
    });
  });
});

test('migrate says that it needs DATABASE_URL, and finds nothing to do', async () => {
  expect(await commandAt('')(migrate, [])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^DATABASE_URL is required\./),
  });
  expect(await commandAt(database.url)(migrate, [])).toMatchObject({
    code: 0,
    output: 'The database is up to date.\n',
  });
});

describe('trace', () => {
  const run = (...args: string[]) => commandAt(database.url)(trace, args);

  test.each([[[]], [[' ']], [['evt_a', 'evt_b']]])('takes one id, not %j', async (args) => {
    expect(await run(...args)).toMatchObject({ code: 64, stdout: '' });
  });

  test('ends with 2 for an id that nothing has, and with 0 for another', async () => {
    expect(await run('evt_none')).toMatchObject({ code: 2, stderr: '' });
    const found = await run('team_a', '--json');
    expect(found).toMatchObject({ code: 0, stderr: '' });
    expect(JSON.parse(found.stdout)).toMatchObject({ found: true });
  });

  test('ends with 1 if it cannot ask', async () => {
    expect(await commandAt(NOWHERE)(trace, ['evt_none'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('ECONNREFUSED'),
    });
  });
});

test('doctor ends with 1 for what fails', async () => {
  const run = commandAt(database.url);
  const { code, stdout } = await run(doctor, [], { APP_SECRET: 'short' });
  expect(code).toBe(1);
  expect(stdout).toMatch(/^fail +configuration +APP_SECRET must .*README/m);
  expect(stdout).toMatch(/^ok +database /m);
  const { checks } = JSON.parse((await run(doctor, ['--json'])).stdout);
  expect(checks.map(({ id }: { id: string }) => id)).toEqual(CHECKS.map(({ id }) => id));
});
