// `npm start` as a person runs it. Each test has a folder of its own, with package.json and links
// to everything else, so that `.data` is new.
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { findServer, isRunning } from '../../src/embedded-postgres/process.ts';
import { demoSeedFile } from '../../src/seed/demo.ts';
import { loadTestSeed, TEST_APP_SECRET } from '../support/api.ts';
import { createTestDatabase } from '../support/database.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort, findRefusedPort } from '../support/ports.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
/** Far longer than a start takes, even on a busy machine. */
const START_TIMEOUT_MS = 60_000;

let folder: string;
let children: ChildProcess[];

beforeEach(async () => {
  folder = await makeFolder('start');
  children = [];
  await copyFile(join(root, 'package.json'), join(folder, 'package.json'));
  for (const name of ['src', 'prisma', 'node_modules'])
    await symlink(join(root, name), join(folder, name));
});

afterEach(async () => {
  for (const child of children) killGroup(child, 'SIGKILL');
  const server = await findServer(join(folder, '.data', 'postgres'));
  if (server) process.kill(server.pid, 'SIGKILL');
  await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});

interface Started {
  readonly child: ChildProcess;
  output(): string;
  readonly exitCode: Promise<number | null>;
  /** Resolves when it has printed its greeting or has ended. */
  greeting(): Promise<Greeting>;
}

interface Greeting {
  readonly text: string;
  readonly base: string;
  readonly docs: string;
  readonly key: string;
  readonly testKey: string;
  /** The printed lines that a person is to paste. */
  readonly curls: readonly string[];
}

/** Starts it in a process group of its own, as a terminal does. */
function start(program: 'npm' | 'node', env: Record<string, string> = {}): Started {
  const [command, ...args] =
    program === 'npm'
      ? ['npm', 'start']
      : [process.execPath, '--import', './src/runtime/node-version.js', 'src/start.ts'];
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(command, args, {
    cwd: folder,
    env: { PATH, HOME, NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  children.push(child);
  const chunks: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  const output = () => chunks.join('');
  const exitCode = once(child, 'close').then(([code]) => code as number | null);
  const greeting = async (): Promise<Greeting> => {
    await until(() => output().includes('Ctrl-C stops everything') || child.exitCode !== null);
    return readGreeting(output());
  };
  return { child, output, exitCode, greeting };
}

function readGreeting(text: string): Greeting {
  const value = (label: string) =>
    new RegExp(`^ +${label} +(.+)$`, 'm').exec(text)?.[1] ?? `no ${label} in:\n${text}`;
  const curls = text.split('\n').filter((line) => line.trimStart().startsWith('curl '));
  return {
    text,
    base: value('Base URL'),
    docs: value('Docs'),
    key: value('API key'),
    testKey: value('Test key'),
    curls,
  };
}

/** Runs each line as printed, except that curl prints the status instead of the response. */
async function paste(lines: readonly string[]): Promise<string[]> {
  const statuses = lines.map((line) => pasteAndRead(`${line} -s -o /dev/null -w '%{http_code}'`));
  return Promise.all(statuses);
}

/** Rejects unless curl exits 0. */
async function pasteAndRead(line: string): Promise<string> {
  const { stdout } = await promisify(execFile)('sh', ['-c', line]);
  return stdout;
}

/** Registers a receiver of webhooks on this machine. Resolves with the status. */
async function registerLocalReceiver(base: string, key: string): Promise<number> {
  const response = await fetch(`${base}/webhook-endpoints`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'http://localhost:4000/hook', events: ['member.joined'] }),
  });
  return response.status;
}

async function readSandbox(base: string, key: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${key}` };
  return (await fetch(`${base}/sandbox`, { headers })).json();
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-(child.pid ?? 0), signal);
  } catch {
    // All processes of the group have ended.
  }
}

const cluster = () => join(folder, '.data', 'postgres');
const postmaster = async () => (await findServer(cluster()))?.pid ?? 0;

/** Expects that neither the folder's Postgres nor any process of the group runs. */
async function expectNothingLeft({ child }: Started, postgres: number): Promise<void> {
  await until(async () => !(await isRunning(postgres)));
  expect(await findServer(cluster())).toBeNull();
  expect(() => process.kill(-(child.pid ?? 0), 0)).toThrow(/ESRCH/);
}

async function findPort(): Promise<string> {
  return String(await findFreePort());
}

/** Pastes a call that writes, which then waits in the database until `release`. */
async function holdRequest(line: string) {
  const holder = new Client({ connectionString: embeddedUrl() });
  holder.on('error', () => undefined);
  await holder.connect();
  await holder.query(`BEGIN; SELECT FROM team FOR UPDATE`);
  const pasted = pasteAndRead(line).then(
    () => 'answered',
    () => 'lost',
  );
  const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'`;
  await until(async () => (await query(waiting)).length === 1);
  return { pasted, release: () => holder.end() };
}

async function query(text: string, url = embeddedUrl()): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<Record<string, unknown>>(text);
  await client.end();
  return rows;
}

function embeddedUrl(): string {
  const { port, password } = JSON.parse(
    readFileSync(join(folder, '.data', 'postgres.json'), 'utf8'),
  ) as { port: number; password: string };
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
}

// A test starts the service up to twice, and each start has all its time.
describe('npm start', { timeout: 5 * START_TIMEOUT_MS }, () => {
  test('prints calls that work when pasted; Ctrl-C leaves nothing running', async () => {
    const port = await findPort();
    const keys: string[] = [];
    for (let run = 0; run < 2; run += 1) {
      const service = start('npm', { PORT: port });
      const { text, base, docs, key, testKey, curls } = await service.greeting();
      expect(base).toBe(`http://127.0.0.1:${port}/api/public/v1`);
      expect(key).toMatch(/^svck_live_/);
      expect(await paste(curls)).toEqual(['200', '200', '201']);
      expect((await fetch(docs)).status).toBe(200);
      expect(await registerLocalReceiver(base, key)).toBe(201);
      expect(testKey).toMatch(/^svck_test_/);
      expect(await readSandbox(base, testKey)).toMatchObject({ scenario: 'typical' });
      const login = docs.replace(/docs$/, 'trpc-session/development/usr_demo_nobody');
      const refused = await fetch(login, { method: 'POST' });
      expect(await refused.json()).toMatchObject({ code: 'not_found' });
      expect(text).toContain(docs.replace(/docs$/, 'admin  (sign in with one click)'));
      expect(text).not.toMatch(/webhook/i);
      keys.push(key);

      const postgres = await postmaster();
      expect(await isRunning(postgres)).toBe(true);
      killGroup(service.child, 'SIGINT');
      expect(await service.exitCode).toBe(0);
      await expectNothingLeft(service, postgres);
    }
    expect(keys[1]).toBe(keys[0]);
  });

  test('stops in order although npm passes Ctrl-C on late', async () => {
    const service = start('npm', { PORT: await findPort() });
    const { curls } = await service.greeting();
    const postgres = await postmaster();
    const { pasted, release } = await holdRequest(curls[2] ?? '');
    service.child.kill('SIGSTOP');
    killGroup(service.child, 'SIGINT');
    await delay(300);
    service.child.kill('SIGCONT');
    await delay(500);
    await release();
    expect(await pasted).toBe('answered');
    expect(await service.exitCode).toBe(0);
    await expectNothingLeft(service, postgres);
  });

  test('recovers after kill -9 with the same key; a POST pasted twice acts once', async () => {
    const env = { PORT: await findPort() };
    const killed = start('node', env);
    const before = await killed.greeting();
    const [, , invite = ''] = before.curls;
    const invited = await pasteAndRead(invite);
    killed.child.kill('SIGKILL');
    await killed.exitCode;

    const service = start('node', env);
    const { key } = await service.greeting();
    expect(key).toBe(before.key);
    expect(await pasteAndRead(invite)).toBe(invited);
    const { id } = JSON.parse(invited) as { id: string };
    expect(
      await query(
        `SELECT count(*)::int AS members
         FROM member
         WHERE email = (SELECT email FROM member WHERE id = '${id}')`,
      ),
    ).toEqual([{ members: 1 }]);

    const postgres = await postmaster();
    service.child.kill('SIGTERM');
    expect(await service.exitCode).toBe(0);
    await expectNothingLeft(service, postgres);
  });

  test('recovers when it and Postgres were killed while it made the demo team', async () => {
    const env = { PORT: await findPort() };
    const killed = start('node', env);
    await until(() => existsSync(join(folder, '.data', 'demo.json')));
    killed.child.kill('SIGKILL');
    await killed.exitCode;
    const postgres = await postmaster();
    // 0 would be the test's own processes.
    expect(postgres).toBeGreaterThan(0);
    process.kill(postgres, 'SIGKILL');

    const service = start('node', env);
    const { curls } = await service.greeting();
    expect(await paste(curls)).toEqual(['200', '200', '201']);
    expect(await query('SELECT id FROM team ORDER BY id')).toEqual([
      { id: 'team_demo' },
      { id: 'team_demo:sandbox' },
    ]);
  });

  test('names the port that is in use, and leaves nothing running', async () => {
    const holder = createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    const service = start('node', { PORT: String(port) });
    expect(await service.exitCode).toBe(1);
    expect(service.output()).toContain(`Port ${port} is in use`);
    const [pid = '0'] = (
      await readFile(join(cluster(), 'postmaster.pid'), 'utf8').catch(() => '')
    ).split('\n');
    await expectNothingLeft(service, Number(pid));
    holder.close();
  });

  test('refuses to run twice in one folder, and the first one keeps running', async () => {
    const first = start('node', { PORT: await findPort() });
    const { curls } = await first.greeting();
    const second = start('node', { PORT: await findPort() });
    expect(await second.exitCode).toBe(1);
    expect(second.output()).toMatch(/Another "npm start" or .* is running on .*\.data/);
    expect(await paste(curls)).toEqual(['200', '200', '201']);
  });

  test('stops on a signal while it is starting', async () => {
    const service = start('node', { PORT: await findPort() });
    await until(async () => (await postmaster()) > 0);
    const postgres = await postmaster();
    service.child.kill('SIGINT');
    expect(await service.exitCode).toBe(0);
    expect(service.output()).not.toContain('Base URL');
    await expectNothingLeft(service, postgres);
  });

  test('ends at once at the second signal, even with a request in flight', async () => {
    const service = start('node', { PORT: await findPort() });
    const { curls, base } = await service.greeting();
    const postgres = await postmaster();
    const { pasted } = await holdRequest(curls[2] ?? '');

    service.child.kill('SIGTERM');
    await until(() =>
      fetch(base).then(
        () => false,
        () => true,
      ),
    );
    // Repeat it, because a signal shortly after the first counts as npm's echo of the first.
    while (service.child.exitCode === null) {
      service.child.kill('SIGTERM');
      await delay(20);
    }
    expect(await service.exitCode).toBe(1);
    expect(await pasted).toBe('lost');
    await expectNothingLeft(service, postgres);
  });

  test('makes no demo team in production', async () => {
    const env = { PORT: await findPort(), NODE_ENV: 'production', MAIL_DIR: 'mails' };
    const service = start('node', env);
    await until(() => service.output().includes('Docs') || service.child.exitCode !== null);
    const { key, curls } = readGreeting(service.output());
    expect(key).toBe('(none: no demo tenant in production)');
    expect(curls).toEqual([]);
    expect(await query('SELECT FROM team')).toEqual([]);
  });

  test('with DATABASE_URL starts no Postgres, and no demo team beside others', async () => {
    const database = await createTestDatabase();
    await loadTestSeed(database, makeSeed([makeTeam('a')]));
    const service = start('node', { PORT: await findPort(), DATABASE_URL: database.url });
    await until(() => service.output().includes('Docs') || service.child.exitCode !== null);
    expect(readGreeting(service.output()).key).toBe('(none: this database had teams of its own)');
    expect(existsSync(cluster())).toBe(false);
    expect(await query('SELECT id FROM team', database.url)).toEqual([{ id: 'team_a' }]);
    service.child.kill('SIGTERM');
    expect(await service.exitCode).toBe(0);
    await database.drop();
  });

  test('loads no demo team again where another database has lost its keys', async () => {
    const database = await createTestDatabase();
    await loadTestSeed(database, demoSeedFile());
    const added = `INSERT INTO member (team_id, id, email, role, status, created_at)
      VALUES ('team_demo', 'mem_added', 'added@example.com', 'member', 'invited', now())`;
    await query(added, database.url);
    await mkdir(join(folder, '.data'));
    await writeFile(join(folder, '.data', 'demo.json'), '{"state":"loading"}');
    const env = { DATABASE_URL: database.url, APP_SECRET: TEST_APP_SECRET };
    const service = start('node', { PORT: await findPort(), ...env });
    await until(() => service.output().includes('Docs') || service.child.exitCode !== null);
    const member = `SELECT id FROM member WHERE id = 'mem_added'`;
    expect(await query(member, database.url)).toEqual([{ id: 'mem_added' }]);
    expect(readGreeting(service.output()).key).toMatch(/^\(none: /);
    service.child.kill('SIGTERM');
    expect(await service.exitCode).toBe(0);
    await database.drop();
  });

  test('keeps the keys of each database, also at a port that fetch refuses', async () => {
    const database = await createTestDatabase();
    const env = { PORT: String(await findRefusedPort()) };
    const keys: string[] = [];
    for (const own of [{}, { DATABASE_URL: database.url }, {}]) {
      const service = start('node', { ...env, ...own });
      const { key, curls } = await service.greeting();
      expect(await paste(curls)).toEqual(['200', '200', '201']);
      keys.push(key);
      service.child.kill('SIGTERM');
      expect(await service.exitCode).toBe(0);
    }
    const [first, other, again] = keys;
    expect(again).toBe(first);
    expect(other).not.toBe(first);
    await database.drop();
  });
});
