import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createEmptyDatabase } from '../support/database.ts';
import { APP_SECRET, countRows, fullFile, openClient, tinyTeam } from './full-file.ts';
import { database, folder, seed, useSeedCommand, writeJson } from './command.ts';

useSeedCommand();

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
