// `npm run doctor` as a process, and its checks behind PgBouncer and on a full disk, which other
// programs make. `doctor-checks.smoke.test.ts` has the checks.
import { execFile, spawn, spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { migrate } from '../../src/db/operator/migrate.ts';
import { CHECKS } from '../../src/doctor/checks.ts';
import { examine } from '../../src/doctor/examine.ts';
import { startEmbedded } from '../../src/embedded-postgres/embedded-postgres.ts';
import { createTestDatabase } from '../support/database.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { fillDisk, mountSmallDisk } from '../support/small-disk.ts';
import { until } from '../support/until.ts';

const ROOT = join(import.meta.dirname, '../..');
const APP_SECRET = 'a secret for tests, 32 characters';
const PASSWORD = 'hunter2';

/** Runs the command of a production install. */
function runDoctor(env: Readonly<Record<string, string>>, ...args: string[]) {
  return new Promise<{ code: number; text: string }>((done) => {
    execFile(
      join(ROOT, 'scripts/deploy/run'),
      ['doctor', ...args],
      { env: { PATH: process.env['PATH'], ...env } },
      (error, stdout, stderr) =>
        done({ code: error ? Number(error.code) : 0, text: `${stdout}${stderr}` }),
    );
  });
}

/** What a check finds, as lines. */
async function findingsOf(id: string, DATABASE_URL: string): Promise<string[]> {
  const checks = CHECKS.filter((check) => check.id === id);
  const [examined] = await examine(checks, { env: { DATABASE_URL, APP_SECRET } });
  return (examined?.findings ?? []).map((found) => `${found.level}: ${found.text}`);
}

test('the command exits 1 for what fails', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const { code, text } = await runDoctor({ DATABASE_URL: database.url, APP_SECRET: 'short' });
  expect(code).toBe(1);
  expect(text).toMatch(/^fail +configuration +APP_SECRET must .*README/m);
});

test('the role and the pooler fail behind a PgBouncer of before', async (context) => {
  if (spawnSync('pgbouncer', ['--version']).error) return context.skip('there is no PgBouncer');
  const folder = await makeFolder('doctor');
  chmodSync(folder, 0o755);
  const server = await startEmbedded({ dataDir: folder, settings: { fsync: 'off' } });
  onTestFinished(() => server.stop());
  const admin = new Client({ connectionString: server.databaseUrl });
  await admin.connect();
  await admin.query(`CREATE ROLE app LOGIN PASSWORD '${PASSWORD}'`);
  await admin.query(`ALTER ROLE app SET default_transaction_isolation = 'serializable'`);
  await admin.query('CREATE DATABASE app OWNER app');
  await admin.end();
  const url = new URL(server.databaseUrl.replace(/[^/]+$/, 'app'));
  url.username = 'app';
  url.password = PASSWORD;
  await migrate(url.href);
  const pooled = await startOldPooler(url);
  expect(await findingsOf('role', pooled)).toEqual([
    expect.stringMatching(/^fail: .*default_transaction_isolation = serializable/),
  ]);
  expect(await findingsOf('pooler', pooled)).toEqual([
    expect.stringMatching(/^fail: pooler_without_prepared_statements/),
    expect.stringMatching(/^warn: .*only the API/),
  ]);
});

/** PgBouncer that does not follow prepared statements, whatever its release. */
async function startOldPooler({ hostname, port: serverPort }: URL): Promise<string> {
  const port = await findFreePort();
  const own = await makeFolder('doctor-pooler');
  chmodSync(own, 0o755);
  const file = join(own, 'pgbouncer.ini');
  await writeFile(join(own, 'users'), `"app" "${PASSWORD}"\n`);
  await writeFile(
    file,
    `[databases]
app = host=${hostname} port=${serverPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${join(own, 'users')}
pool_mode = transaction
`,
  );
  const command = [
    '--reuid=nobody',
    '--clear-groups',
    '--pdeathsig',
    'KILL',
    'pgbouncer',
    '-q',
    file,
  ];
  const pgbouncer = spawn('setpriv', command, { stdio: 'ignore' });
  onTestFinished(() => void pgbouncer.kill('SIGKILL'));
  const pooled = `postgres://app:${PASSWORD}@127.0.0.1:${port}/app`;
  await until(async () => {
    const client = new Client({ connectionString: pooled });
    return client.connect().then(
      () => client.end().then(() => true),
      () => false,
    );
  });
  return pooled;
}

test('the disk fails when it is full', async (context) => {
  const small = await mountSmallDisk(160);
  if (small === null) return context.skip('only root may mount a small disk to fill');
  const full = await startEmbedded({ dataDir: small, settings: { fsync: 'off' } });
  onTestFinished(() => full.stop());
  expect(await findingsOf('disk', full.databaseUrl)).toEqual([
    expect.stringMatching(/^ok: the database has/),
    expect.stringMatching(/ of 168 MB are free/),
  ]);
  const makeRoom = fillDisk(small);
  const found = await findingsOf('disk', full.databaseUrl);
  makeRoom();
  expect(found[0]).toMatch(/^fail: disk_full/);
});
