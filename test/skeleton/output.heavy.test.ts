// In production, each line of a process is JSON, also of one that cannot start or that breaks: what
// ships the logs parses them all. Elsewhere a person reads the faults.
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { TEST_APP_SECRET } from '../support/api.ts';
import { runEntry } from '../support/processes.ts';
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

interface Line {
  readonly level: number;
  readonly time: string;
  readonly pid: number;
  readonly release: string;
  readonly msg: string;
  readonly faults?: readonly string[];
  readonly err?: { readonly type: string; readonly message: string; readonly stack?: string };
}

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const PRODUCTION = { NODE_ENV: 'production', MAIL_DIR: 'mails', LOG_LEVEL: 'info' };

/** Every line, or an error with the one that is no JSON. */
function parse(output: string): Line[] {
  return output
    .trimEnd()
    .split('\n')
    .map((line) => {
      try {
        return JSON.parse(line) as Line;
      } catch {
        throw new Error(`no JSON: ${line}`);
      }
    });
}

/** Runs an entry of the production processes to its end. */
async function run(
  entry: string,
  env: Record<string, string>,
  args: readonly string[] = [],
): Promise<{ code: number | null; lines: Line[] }> {
  const running = runEntry(entry, { ...PRODUCTION, DATABASE_URL: database.url, ...env }, args);
  const { code } = await running.exited;
  return { code, lines: parse(running.output()) };
}

/**
 * Makes Node run this code in each thread of an entry, once `begin` is called: not by time, because
 * a busy machine may take any time to start the entry.
 */
async function prepare(
  code: string,
): Promise<{ env: Record<string, string>; begin: () => Promise<void> }> {
  const folder = await makeFolder('preload');
  const [file, flag] = [join(folder, 'preload.cjs'), join(folder, 'begin')];
  const preload = `
    const { existsSync } = require('node:fs');
    const { isMainThread } = require('node:worker_threads');
    const timer = setInterval(() => {
      if (!existsSync(${JSON.stringify(flag)})) return;
      clearInterval(timer);
      ${code}
    }, 50);
    timer.unref();`;
  await writeFile(file, preload);
  return { env: { NODE_OPTIONS: `--require=${file}` }, begin: () => writeFile(flag, '') };
}

describe('a process of production writes JSON only', () => {
  test('if its environment is wrong, with each fault and each likely misspelling', async () => {
    for (const entry of ['src/api.ts', 'src/worker.ts']) {
      const env = { APP_SECRET: 'hunter2', PORT: 'x', SMTP_URLS: 'x' };
      const { code, lines } = await run(entry, env);
      expect(code).toBe(1);
      expect(lines.map(({ level }) => level)).toEqual([40, 60]);
      expect(lines[0]?.msg).toMatch(/^SMTP_URLS is no setting/);
      expect(lines[1]?.faults).toEqual([
        'APP_SECRET must have at least 32 characters',
        'PORT must be a whole number from 0 to 65535',
      ]);
      expect(JSON.stringify(lines)).not.toContain('hunter2');
      for (const line of lines) {
        expect(line).toMatchObject({ pid: expect.any(Number), release: expect.any(String) });
        expect(Date.parse(line.time)).toBeGreaterThan(Date.now() - 600_000);
      }
    }
  });

  test('if NODE_ENV is misspelt', async () => {
    const { code, lines } = await run('src/api.ts', { NODE_ENV: 'prod' });
    expect(code).toBe(1);
    expect(lines[0]?.faults).toEqual([expect.stringMatching(/^NODE_ENV must be/)]);
  });

  test('if its port is in use', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const { code, lines } = await run('src/api.ts', { PORT: String(port) });
    expect(code).toBe(1);
    const inUse = expect.objectContaining({
      level: 60,
      msg: expect.stringContaining('EADDRINUSE'),
    });
    expect(lines).toContainEqual(inUse);
    const warning = expect.stringMatching(/^PUBLIC_URL is not set: .*http:\/\/127\.0\.0\.1:/);
    expect(lines).toContainEqual(expect.objectContaining({ level: 40, msg: warning }));
    const metrics = { PORT: String(await findFreePort()), METRICS_PORT: String(port) };
    expect((await run('src/api.ts', metrics)).lines).toContainEqual(inUse);
  });

  test('if the database is none of its release, or not there', async () => {
    const empty = await createEmptyDatabase();
    onTestFinished(() => empty.drop());
    const behind = await run('src/worker.ts', { DATABASE_URL: empty.url });
    expect(behind.lines.at(-1)?.msg).toMatch(/Run "npm run migrate" first/);
    const gone = `postgres://app:hunter2@127.0.0.1:${await findFreePort()}/app`;
    const { code, lines } = await run('src/worker.ts', { DATABASE_URL: gone });
    expect(code).toBe(1);
    expect(lines.at(-1)).toMatchObject({ level: 60, msg: expect.stringContaining('ECONNREFUSED') });
    expect(JSON.stringify(lines)).not.toContain('hunter2');
  });

  test('if it starts without a public URL, which it warns of', async () => {
    const gone = `postgres://app@127.0.0.1:${await findFreePort()}/app`;
    const warned = async (entry: string, env: Record<string, string> = {}) =>
      (await run(entry, { DATABASE_URL: gone, ...env })).lines
        .filter(({ msg }) => msg.startsWith('PUBLIC_URL '))
        .map(({ level }) => level);
    expect(await warned('src/worker.ts')).toEqual([40]);
    expect(await warned('src/worker.ts', { PUBLIC_URL: 'https://api.test' })).toEqual([]);
  });

  test('if nobody catches an error, or a promise rejects', async () => {
    for (const fault of ['throw error', 'Promise.reject(error)']) {
      const { env, begin } = await prepare(
        `const error = new TypeError('a fault'); if (isMainThread) ${fault};`,
      );
      const port = String(await findFreePort());
      const settings = { ...PRODUCTION, ...env, DATABASE_URL: database.url, PORT: port };
      const api = runEntry('src/api.ts', settings);
      await until(() => api.output().includes('api listens'));
      await begin();
      expect(await api.exited).toMatchObject({ code: 1 });
      expect(parse(api.output()).filter(({ level }) => level === 60)).toMatchObject([
        {
          msg: 'a fault',
          err: { type: 'TypeError', stack: expect.stringContaining('preload.cjs') },
        },
      ]);
    }
  });

  test('if Node warns, a library uses the console, and the thread of the jobs breaks', async () => {
    const { env, begin } = await prepare(`
      process.emitWarning('of the ' + (isMainThread ? 'process' : 'thread'), 'DeprecationWarning');
      if (isMainThread) {
        console.error('of the console: %s', 'kim@example.com');
        console.log('news');
      } else setTimeout(() => { throw new Error('of the thread'); }, 100);
    `);
    const settings = { ...PRODUCTION, DATABASE_URL: database.url, ...env };
    const worker = runEntry('src/worker.ts', settings);
    await until(() => worker.output().includes('worker runs'));
    await begin();
    await until(() => worker.output().includes('the thread of the jobs ended'));
    await worker.kill('SIGTERM');
    const lines = parse(worker.output());
    const said = lines.map(({ msg, err }) => `${msg}${err ? `: ${err.message}` : ''}`);
    expect(said).toEqual(
      expect.arrayContaining([
        'of the console: [redacted]',
        'news',
        'a warning of Node: of the process',
        'a warning of Node: of the thread',
        expect.stringMatching(/^the thread of the jobs ended by itself.*: of the thread$/),
        'worker stopped',
      ]),
    );
  });

  test('if it is one of the commands', async () => {
    // Its secret is rotated, which others of this file must not meet.
    const own = await createTestDatabase();
    onTestFinished(() => own.drop());
    const env = { DATABASE_URL: own.url };
    const migrated = await run('scripts/migrate.ts', env);
    expect(migrated).toMatchObject({ code: 0, lines: [{ msg: 'The database is up to date.' }] });
    const refused = await run('scripts/migrate.ts', { DATABASE_URL: '' });
    expect(refused.lines[0]?.msg).toContain('DATABASE_URL is required');
    const file = join(await makeFolder('seed'), 'seed.json');
    await writeFile(file, JSON.stringify(makeSeed([makeTeam('a')])));
    const seeded = await run('scripts/seed.ts', env, [file]);
    expect(seeded.code).toBe(0);
    const rotated = await run('scripts/rotate-secret.ts', {
      ...env,
      APP_SECRET: `${TEST_APP_SECRET}, another`,
      APP_SECRET_PREVIOUS: TEST_APP_SECRET,
    });
    expect(rotated.code).toBe(0);
    const used = await run('scripts/announce.ts', {});
    expect(used.lines[0]?.msg).toMatch(/^Usage:/);
  });
});

describe('a command that `run` starts', () => {
  // Nobody listens there: a command that goes to work fails with 1.
  const elsewhere = { DATABASE_URL: 'postgres://app@127.0.0.1:9/app', NODE_ENV: 'development' };
  const names = ['migrate', 'announce', 'doctor', 'rotate-secret', 'seed', 'trace', 'operator'];

  test('is one of these', async () => {
    const script = await readFile(new URL('../../scripts/deploy/run', import.meta.url), 'utf8');
    const [, listed = ''] = /^ {2}(.*)\) entry=scripts\/\$command/m.exec(script) ?? [];
    expect([...listed.split(' | '), 'operator']).toEqual(names);
  });

  test.each(names)('tells its usage, and does nothing for a misspelt option: %s', async (name) => {
    const asked = runEntry(`scripts/${name}.ts`, elsewhere, ['--help']);
    expect(await asked.exited).toMatchObject({ code: 0 });
    expect(asked.stdout()).toMatch(/^Usage: /);
    const misspelt = runEntry(`scripts/${name}.ts`, elsewhere, ['--dry-rum']);
    expect(await misspelt.exited).toMatchObject({ code: 64 });
  });
});

test('a secret may come from a file, and a fault of it is told', async () => {
  const folder = await makeFolder('secret-files');
  const [url, secret] = [join(folder, 'url'), join(folder, 'secret')];
  await writeFile(url, `${database.url}\n`);
  await writeFile(secret, `${TEST_APP_SECRET}\n`);
  const port = String(await findFreePort());
  const env = { APP_SECRET: '', APP_SECRET_FILE: secret, DATABASE_URL_FILE: url, PORT: port };
  const api = runEntry('src/api.ts', { ...PRODUCTION, ...env });
  await until(async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null);
    return answer?.status === 200;
  });
  await api.kill('SIGKILL');
  const migrating = runEntry('scripts/migrate.ts', { ...PRODUCTION, DATABASE_URL_FILE: url });
  expect(await migrating.exited).toMatchObject({ code: 0 });
  const tracing = runEntry('scripts/trace.ts', { ...PRODUCTION, DATABASE_URL_FILE: url }, [
    'evt_x',
  ]);
  expect(await tracing.exited).toMatchObject({ code: 2 });
  const { lines } = await run('src/api.ts', { APP_SECRET: '', APP_SECRET_FILE: `${secret}s` });
  expect(lines[0]?.faults).toEqual(['APP_SECRET_FILE names a file that cannot be read (ENOENT)']);
});

test('a person reads text', async () => {
  const api = runEntry('src/api.ts', { NODE_ENV: 'development', PORT: 'x', APP_SECRET: '' });
  await api.exited;
  expect(api.output()).toMatch(/^The environment is not valid:\n {2}DATABASE_URL is required/);
});

test('metrics have an address of their own', async () => {
  const [port, metricsPort] = [await findFreePort(), await findFreePort()];
  const api = runEntry('src/api.ts', {
    DATABASE_URL: database.url,
    PORT: String(port),
    METRICS_PORT: String(metricsPort),
    METRICS_HOST: '127.0.0.2',
  });
  const statusAt = async (host: string, one: number, path: string): Promise<number | null> =>
    (await fetch(`http://${host}:${one}${path}`).catch(() => null))?.status ?? null;
  await until(async () => (await statusAt('127.0.0.2', metricsPort, '/metrics')) === 200);
  expect(await statusAt('127.0.0.1', metricsPort, '/metrics')).toBeNull();
  expect(await statusAt('127.0.0.1', port, '/healthz')).toBe(200);
  expect(await statusAt('127.0.0.2', port, '/healthz')).toBeNull();
  await api.kill('SIGKILL');
});
