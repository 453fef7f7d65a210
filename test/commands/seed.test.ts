import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { main } from '../../scripts/seed.ts';
import { APP_SECRET, countRows, fullFile, openClient, tinyTeam } from '../seed/full-file.ts';
import { commandAt, type Ended } from '../support/commands.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeFolder } from '../support/folder.ts';

let database: TestDatabase;
let folder: string;
beforeAll(async () => {
  database = await createTestDatabase();
  folder = await makeFolder('seed');
});
afterAll(() => database.drop());

async function writeJson(name: string, content: unknown): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const seed = (
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Ended> => commandAt(database.url)(main, args, { APP_SECRET, ...env });

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
    [1, 'a file that is not there', ['/nowhere/at/all.json']],
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
    const env = { APP_SECRET: '' };
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

  it.each([[{ APP_SECRET: '' }], [{ APP_SECRET }]])(
    'names a schema that is missing, with %j',
    async (secrets) => {
      const empty = await createEmptyDatabase();
      const path = await writeJson('unmigrated.json', { teams: [tinyTeam('team_early')] });
      const refused = await seed([path], { DATABASE_URL: empty.url, ...secrets });
      expect(refused).toMatchObject({ code: 1, stdout: '' });
      expect(refused.stderr).toContain('npm run migrate');
      await empty.drop();
    },
  );
});
