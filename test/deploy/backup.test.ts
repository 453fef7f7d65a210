// The backups of the runbook, made and restored with Postgres's own programs, as it says. The API
// then runs on what was restored.
import { existsSync } from 'node:fs';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrate } from '../../src/db/operator/migrate.ts';
import { createCall, loadTestSeed } from '../support/api.ts';
import { startApiProcess } from '../support/processes.ts';
import { because, run, whyNot } from '../support/debian.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';
import { until } from '../support/until.ts';
import { runBlock } from './runbook.ts';

const RUNBOOK = new URL('../../scripts/deploy/README.md', import.meta.url);
const PROGRAMS = '/usr/lib/postgresql/15/bin';
const reason = existsSync(`${PROGRAMS}/initdb`)
  ? whyNot(['setpriv'])
  : 'missing on this machine: postgresql-15';

describe.skipIf(reason !== null)(`a backup${because(reason)}`, { timeout: 600_000 }, () => {
  let folder: string;
  let url: string;
  let key: string;
  let users: unknown;
  const running: string[] = [];

  /** Postgres refuses root. */
  const asPostgres = (program: string, ...args: string[]): Promise<string> => {
    const user = ['--reuid=postgres', '--regid=postgres', '--clear-groups'];
    return run('setpriv', [...user, `${PROGRAMS}/${program}`, ...args]);
  };

  /** Starts the cluster in `data` and resolves with the URL of its database. */
  async function start(data: string): Promise<string> {
    const port = await findFreePort();
    const options = `-p ${port} -c listen_addresses=127.0.0.1 -k ${folder}`;
    await asPostgres('pg_ctl', 'start', '-w', '-D', data, '-o', options, '-l', `${data}.log`);
    running.push(data);
    return `postgres://postgres@127.0.0.1:${port}/app`;
  }

  /** What a customer sees of a database. */
  async function readUsers(databaseUrl: string): Promise<unknown> {
    const api = await startApiProcess(databaseUrl);
    try {
      const { status, body } = await createCall(api.url)(key, 'GET', '/users');
      expect(status).toBe(200);
      return body;
    } finally {
      await api.kill('SIGKILL');
    }
  }

  async function query(databaseUrl: string, sql: string): Promise<Record<string, unknown>[]> {
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    try {
      return (await client.query<Record<string, unknown>>(sql)).rows;
    } finally {
      await client.end();
    }
  }

  beforeAll(async () => {
    folder = await makeFolder('backup');
    await chmod(folder, 0o777);
    const data = join(folder, 'primary');
    await asPostgres('initdb', '-D', data, '-U', 'postgres', '--auth=trust', '--no-sync');
    const settings = `archive_mode = on\narchive_command = 'cp %p ${folder}/wal/%f'\nfsync = off\n`;
    await mkdir(join(folder, 'wal'));
    await chmod(join(folder, 'wal'), 0o777);
    await writeFile(join(data, 'postgresql.auto.conf'), settings);
    url = await start(data);
    await query(url.replace(/app$/, 'postgres'), 'create database app');
    await migrate(url);
    const { teams } = await loadTestSeed({ url }, makeSeed([makeFullTeam('a')]));
    key = teams['team_a']?.api_keys['full'] ?? '';
    users = await readUsers(url);
  }, 300_000);

  afterAll(async () => {
    for (const data of running) await asPostgres('pg_ctl', 'stop', '-m', 'immediate', '-D', data);
  });

  /** Resolves when everything that was committed is in the archive. */
  async function archiveAll(): Promise<void> {
    const [last] = await query(url, 'select pg_walfile_name(pg_current_wal_lsn()) as name');
    await query(url, 'select pg_switch_wal()');
    await until(async () => {
      const [archived] = await query(url, 'select last_archived_wal as name from pg_stat_archiver');
      const name = archived?.['name'];
      return typeof name === 'string' && name >= String(last?.['name']);
    });
  }

  test('of pg_dump restores into a new database', async () => {
    const [, command = ''] = /`(pg_dump [^`]+)`/.exec(await readFile(RUNBOOK, 'utf8')) ?? [];
    const dump = (from: string): Promise<string> =>
      runBlock(command.replace('URL', from), {}, folder);
    await dump(url);
    // A later one that breaks off leaves the last good one.
    await expect(dump(url.replace(/app$/, 'nowhere'))).rejects.toThrow('"nowhere" does not exist');
    const file = join(folder, 'app.dump');
    const restored = url.replace(/app$/, 'restored');
    await query(url, 'create database restored');
    await asPostgres('pg_restore', '--exit-on-error', `--dbname=${restored}`, file);
    await asPostgres('vacuumdb', '--analyze-in-stages', `--dbname=${restored}`);
    const analyzed = await query(restored, `select from pg_stats where tablename = 'member'`);
    expect(analyzed.length).toBeGreaterThan(0);
    expect(await readUsers(restored)).toEqual(users);
  });

  test('of pg_basebackup restores to the moment before a mistake', async () => {
    const data = join(folder, 'base');
    await asPostgres(
      'pg_basebackup',
      '-D',
      data,
      '-d',
      url.replace(/app$/, 'postgres'),
      '-c',
      'fast',
    );
    await query(url, `update team set name = 'After the backup'`);
    const [moment] = await query(url, 'select now()::text as now');
    await query(url, `update member set role = 'member' where role = 'admin'`);
    await archiveAll();

    const recovery = [
      `restore_command = 'cp ${folder}/wal/%f %p'`,
      `recovery_target_time = '${String(moment?.['now'])}'`,
      `recovery_target_action = 'promote'`,
    ];
    await writeFile(join(data, 'postgresql.auto.conf'), recovery.join('\n'));
    await writeFile(join(data, 'recovery.signal'), '');
    const restored = await start(data);
    await until(async () => {
      const [row] = await query(restored, 'select pg_is_in_recovery() as recovering');
      return row?.['recovering'] === false;
    });
    const [team] = await query(restored, 'select name from team');
    expect(team?.['name']).toBe('After the backup');
    expect(await readUsers(restored)).toEqual(users);
  });
});
