// `npm run seed` beside a process that has a Postgres in its folder.
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  startEmbedded,
  type EmbeddedPostgres,
} from '../../src/embedded-postgres/embedded-postgres.ts';
import { isRunning } from '../../src/embedded-postgres/process.ts';
import { openDataFolder } from '../../src/runtime/data-folder.ts';
import { makeFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';
import { openClient, tinyTeam } from './full-file.ts';
import { seed, spawnSeed, useSeedCommand, writeJson } from './command.ts';

useSeedCommand();

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
