import { execFile, type ChildProcess } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  startEmbedded,
  type EmbeddedPostgres,
} from '../../src/embedded-postgres/embedded-postgres.ts';
import { isRunning } from '../../src/embedded-postgres/process.ts';
import { openDataFolder } from '../../src/runtime/data-folder.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeFolder } from '../support/folder.ts';
import { SOURCES } from '../support/sources.ts';
import { until } from '../support/until.ts';
import { APP_SECRET, countRows, fullFile, openClient, tinyTeam } from './full-file.ts';

let database: TestDatabase;
let folder: string;

beforeAll(async () => {
  database = await createTestDatabase();
  folder = await makeFolder('seed');
});

afterAll(() => database.drop());

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

async function writeJson(name: string, content: unknown): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

function seed(
  args: string[],
  env: Record<string, string> = { DATABASE_URL: database.url, APP_SECRET },
  cwd = folder,
): Promise<Outcome> {
  return spawnSeed(args, env, cwd).outcome;
}

/** A seed that may be ended. */
function spawnSeed(
  args: string[],
  env: Record<string, string>,
  cwd: string,
): { child: ChildProcess; outcome: Promise<Outcome> } {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const child = execFile(
    process.execPath,
    [join(SOURCES, 'scripts/seed.ts'), ...args],
    { cwd, env: { PATH, NODE_COMPILE_CACHE, ...env } },
    (error, stdout, stderr) => resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
  );
  return { child, outcome: promise };
}

async function countTeams(): Promise<number | undefined> {
  const client = await openClient(database.url);
  const counts = await countRows(client);
  await client.end();
  return counts['team'];
}

describe('npm run seed', () => {
  it('prints only one JSON object, the keys and secrets, to standard output', async () => {
    const { code, stdout, stderr } = await seed([await writeJson('full.json', fullFile())]);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/^Loaded 1 team\(s\) in [\d.]+ s\.\n$/),
    });
    expect(stdout.endsWith('}\n')).toBe(true);
    expect(JSON.parse(stdout)).toEqual({
      teams: {
        team_a: {
          api_keys: {
            full: expect.stringMatching(/^svck_live_[0-9a-f]+_[0-9a-f]+$/),
            narrow: expect.any(String),
          },
          webhook_endpoints: {
            whe_1: expect.stringMatching(/^whsec_/),
            [Object.keys(
              (JSON.parse(stdout) as { teams: Record<string, { webhook_endpoints: object }> })
                .teams['team_a']?.webhook_endpoints ?? {},
            )[1] ?? '']: expect.any(String),
          },
        },
      },
    });
  });

  it('refuses a team that exists, unless --replace is given', async () => {
    const path = await writeJson('twice.json', { teams: [tinyTeam('team_twice')] });
    expect((await seed([path])).code).toBe(0);
    const refused = await seed([path]);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('$.teams[0].id: ');
    expect((await seed([path, '--replace'])).code).toBe(0);
  });

  it('names every fault with its path on standard error, exits 1 and writes nothing', async () => {
    const before = await countTeams();
    const path = await writeJson('faults.json', {
      teams: [{ ...tinyTeam('team_new'), plan: 'gold', nmae: 'x' }],
    });
    const { code, stdout, stderr } = await seed([path]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('$.teams[0].plan: ');
    expect(stderr).toContain('$.teams[0].nmae: ');
    expect(stderr).not.toContain('    at ');
    expect(await countTeams()).toBe(before);
  });

  it.each([
    [64, 'no file', []],
    [1, 'a file that is not there', ['nowhere.json']],
    [64, 'an unknown option', ['x.json', '--force']],
  ])('exits %i with a word about it, for %s', async (expected, _, args) => {
    const { code, stdout, stderr } = await seed(args);
    expect({ code, stdout }).toEqual({ code: expected, stdout: '' });
    expect(stderr).not.toBe('');
  });

  it('exits 1 for a file that is not JSON', async () => {
    expect(await seed([await writeJson('bad.json', '{')])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('bad.json cannot be read'),
    });
  });

  it('needs APP_SECRET only for webhook endpoints', async () => {
    const env = { DATABASE_URL: database.url };
    expect(
      await seed(
        [
          await writeJson('plain.json', {
            teams: [tinyTeam('team_plain', { api_keys: [{ name: 'k' }] })],
          }),
        ],
        env,
      ),
    ).toMatchObject({ code: 0 });
    const refused = await seed(
      [
        await writeJson('hooks.json', {
          teams: [tinyTeam('team_hooks', { webhook_endpoints: [{ url: 'https://example.com' }] })],
        }),
      ],
      env,
    );
    expect(refused).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('APP_SECRET'),
    });
  });

  it('migrates and uses the embedded database when DATABASE_URL is not set', async () => {
    const path = await writeJson('embedded.json', {
      teams: [tinyTeam('team_embedded', { webhook_endpoints: [{ url: 'https://example.com' }] })],
    });
    const first = await seed([path], {});
    expect(first).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^\{"teams":\{"team_embedded":/),
    });
    expect(await readdir(join(folder, '.data'))).toContain('postgres');
    expect(await seed([path], {})).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('$.teams[0].id'),
    });
  });

  it.each([[{}], [{ APP_SECRET }]])('names a schema that is missing, with %j', async (secrets) => {
    const empty = await createEmptyDatabase();
    const path = await writeJson('unmigrated.json', { teams: [tinyTeam('team_early')] });
    const refused = await seed([path], { DATABASE_URL: empty.url, ...secrets });
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toContain('npm run migrate');
    await empty.drop();
  });
});

/** The folder of another process, which has a Postgres there. */
describe('npm run seed, where .data is in use', () => {
  let own: string;
  let path: string;
  let postgres: EmbeddedPostgres;

  beforeAll(async () => {
    own = await makeFolder('seed-beside');
    path = await writeJson('beside.json', { teams: [tinyTeam('team_beside')] });
    await seed([path], {}, own);
    postgres = await startEmbedded({ dataDir: join(own, '.data') });
  });

  afterAll(() => postgres.stop());

  /** Begins a seed that waits for the table of teams. */
  async function begin() {
    const holder = await openClient(postgres.databaseUrl);
    holder.on('error', () => undefined);
    await holder.query('BEGIN; LOCK TABLE team');
    const begun = spawnSeed([path, '--replace'], {}, own);
    const client = await openClient(postgres.databaseUrl);
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;
    await until(async () => (await client.query(waiting)).rowCount === 1);
    await client.end();
    return { ...begun, release: () => holder.end() };
  }

  it('is refused beside another one, whose end stops Postgres', async () => {
    const first = await begin();
    const second = await seed([path, '--replace'], {}, own);
    await first.release();
    expect(second).toMatchObject({ code: 1, stdout: '' });
    expect(second.stderr).toMatch(/^Another "npm run seed" is using .*\.data\. Wait/);
    expect(await first.outcome).toMatchObject({ code: 0 });
    expect(await isRunning(postgres.pid)).toBe(false);
    postgres = await startEmbedded({ dataDir: join(own, '.data') });
  });

  it('stops Postgres when it is ended by a signal', async () => {
    const { child, outcome, release } = await begin();
    child.kill('SIGTERM');
    expect((await outcome).code).toBe(143);
    await until(async () => !(await isRunning(postgres.pid)));
    await release();
    postgres = await startEmbedded({ dataDir: join(own, '.data') });
  });

  it('uses the Postgres of "npm start", and leaves it running', async () => {
    openDataFolder(join(own, '.data'))?.readSecrets();
    expect(await seed([path, '--replace'], {}, own)).toMatchObject({ code: 0 });
    expect(await isRunning(postgres.pid)).toBe(true);
  });

  it('starts no Postgres that "npm start" would not stop', async () => {
    const other = join(await makeFolder('seed-outside'), '.data');
    await mkdir(other);
    openDataFolder(other)?.readSecrets();
    const refused = await seed([path], {}, join(other, '..'));
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/\.data is in use .*Wait for it/);
    expect(await readdir(other)).not.toContain('postgres');
  });
});
