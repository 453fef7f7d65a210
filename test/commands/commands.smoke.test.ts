// Each command as a process, once; `trace` and `doctor` have tests of their own. What they do is
// tested in this process, in the files beside this one.
import { execFile, spawn } from 'node:child_process';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { main } from '../../scripts/announce.ts';
import { tinyTeam } from '../seed/full-file.ts';
import { loadTestSeed, TEST_APP_SECRET } from '../support/api.ts';
import { commandAt } from '../support/commands.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeFolder } from '../support/folder.ts';
import { startMailServer } from '../support/mail-server.ts';
import { runScript } from '../support/processes.ts';
import { makeMember, makeSeed, makeTeam, memberId } from '../support/seed.ts';
import { SOURCES } from '../support/sources.ts';
import { until } from '../support/until.ts';

async function prepare(...teams: Parameters<typeof makeSeed>[0]): Promise<TestDatabase> {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  await loadTestSeed(database, makeSeed(teams));
  return database;
}

test('migrate applies what is missing', async () => {
  const empty = await createEmptyDatabase();
  onTestFinished(() => empty.drop());
  const started = runScript(empty.url, ['migrate']);
  expect(await started.exited).toEqual({ code: 0, signal: null });
  expect(started.output()).toMatch(/^applied .*\nThe database is up to date\.\n$/s);
});

test('seed starts its own Postgres when DATABASE_URL is not set, and stops it', async () => {
  const folder = await makeFolder('seed');
  const path = join(folder, 'embedded.json');
  const team = tinyTeam('team_embedded', { webhook_endpoints: [{ url: 'https://example.com' }] });
  await writeFile(path, JSON.stringify({ teams: [team] }));
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env;
  const stdout = await new Promise<string>((done, fail) => {
    execFile(
      process.execPath,
      [join(SOURCES, 'scripts/seed.ts'), path],
      { cwd: folder, env: { PATH, NODE_COMPILE_CACHE } },
      (error, text) => (error ? fail(new Error('seed failed', { cause: error })) : done(text)),
    );
  });
  expect(Object.keys(JSON.parse(stdout).teams)).toEqual(['team_embedded']);
  expect(await readdir(join(folder, '.data'))).toContain('postgres');
  expect(await readdir(join(folder, '.data/postgres'))).not.toContain('postmaster.pid');
});

test('rotate-secret encrypts anew', async () => {
  const hook = { url: 'https://example.com/hook' };
  const database = await prepare(makeTeam('a', { webhook_endpoints: [hook] }));
  const started = runScript(database.url, ['rotate-secret'], {
    APP_SECRET: 'the secret that comes after it, just as long',
    APP_SECRET_PREVIOUS: TEST_APP_SECRET,
  });
  expect(await started.exited).toEqual({ code: 0, signal: null });
  expect(started.output()).toContain('webhook_endpoint.secret_encrypted: 1 encrypted anew');
});

test('announce, killed, is gone on with; only the mail in flight is sent twice', async () => {
  const admins = Array.from({ length: 20 }, (_, index) => `admin${String(index).padStart(2, '0')}`);
  const addresses = admins.map((name) => `${name}@a.test`);
  const database = await prepare({
    ...makeTeam('a', { members: admins.map((name) => makeMember('a', name, { role: 'admin' })) }),
    api_keys: admins.map((name) => ({ name, scopes: [], created_by: memberId('a', name) })),
  });
  const dates = { since: '2027-01-01', sunset: '2028-01-01' };
  const file = join(await makeFolder('deprecations'), 'dates.json');
  await writeFile(file, JSON.stringify({ version: dates }));
  const args = ['--version', 'v1', '--deprecation', dates.since, '--sunset', dates.sunset];
  let script: ReturnType<typeof runScript> | null = null;
  const mail = await startMailServer(async (to) => {
    // Killed before it learns that this mail was accepted. It cannot know, so it sends it again.
    if (to === addresses[7]) await script?.kill('SIGKILL');
    return undefined;
  });
  onTestFinished(() => mail.stop());
  const env = { DEPRECATIONS_FILE: file, SMTP_URL: mail.url };
  // The dates are in UTC, even where it is still the day before.
  script = runScript(database.url, ['announce', ...args], { ...env, TZ: 'America/New_York' });
  expect(await script.exited).toMatchObject({ signal: 'SIGKILL' });
  script = null;
  await until(() => mail.received.length >= 8);
  expect(mail.received.map(({ to }) => to)).toEqual(addresses.slice(0, 8));
  for (const { text } of mail.received) expect(text).toContain('1. Januar 2028');
  expect(await commandAt(database.url)(main, args, env)).toMatchObject({
    code: 0,
    stdout: '13 mails sent, 0 failed.\n',
  });
  expect(mail.received.map(({ to }) => to)).toEqual([
    ...addresses.slice(0, 8),
    ...addresses.slice(7),
  ]);
});

// Other systems have another `script`.
test.runIf(process.platform === 'linux')('operator asks at a terminal', async () => {
  const database = await prepare(makeTeam('look'));
  const command = `${process.execPath} scripts/operator.ts team end team_look`;
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    cwd: SOURCES,
    env: {
      ...process.env,
      DATABASE_URL: database.url,
      APP_SECRET: TEST_APP_SECRET,
      NODE_ENV: 'test',
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let shown = '';
  const closed = new Promise<number | null>((done) => child.once('close', done));
  child.stdout.on('data', (chunk: Buffer) => {
    shown += chunk.toString();
  });
  await until(() => shown.includes('Type team_look to go on: '));
  child.stdin.write('team_look\r');
  await until(() => /Done, as request/.test(shown));
  child.stdin.end();
  expect(await closed).toBe(0);
});
