// The environment of a benchmark: a Postgres in a temporary folder, the API as in production, and
// the load generator. The servers under test get a processor of their own.
import { execFileSync, fork, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import packageJson from '../../package.json' with { type: 'json' };
import { startEmbedded } from '../../src/embedded-postgres/embedded-postgres.ts';
import { migrate } from '../../src/db/operator/migrate.ts';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { loadSeed } from '../../src/seed/load.ts';
import type { SeedFileInput } from '../../src/seed/schema.ts';
import { findFreePort } from '../../test/support/ports.ts';
import type { Job, Outcome, Reply } from './load.ts';

/** A server on 127.0.0.1, in a process of its own. */
export interface ServerProcess {
  readonly port: number;
  readonly pid: number;
}

/** The environment of a benchmark, as `openWorld` makes it. */
export interface World {
  readonly pool: pg.Pool;
  /** Loads teams and resolves with one key of each, by team id. */
  seed(file: SeedFileInput): Promise<Map<string, string>>;
  /**
   * Starts a server with `DATABASE_URL`, `PORT` and the variables of `env`. Resolves when it
   * answers requests for `path`.
   */
  start(
    entry: URL,
    path: string,
    env?: (port: number) => Record<string, string>,
  ): Promise<ServerProcess>;
  /** One job at a time. */
  load(job: Job): Promise<Outcome>;
  /** Milliseconds of processor time that Postgres has used; NaN on systems without /proc. */
  postgresMs(): Promise<number>;
}

/** Settings of a production server. Writes are synced to disk, as in production. */
const SETTINGS = {
  shared_buffers: '512MB',
  max_wal_size: '4GB',
  checkpoint_timeout: '15min',
  random_page_cost: '1.1',
  max_connections: '300',
  // Not needed in production: tells when an event was committed.
  track_commit_timestamp: 'on',
};

/** The API process, which is measured. */
export const API = new URL('../../src/api.ts', import.meta.url);

const ROOT = join(import.meta.dirname, '../..');
/** Where Node keeps what it has compiled, as in the image. */
const COMPILED = join(ROOT, 'node_modules/.cache/compiled');
/** How each script of package.json begins that runs Node. */
const START = ['exec', 'node'];

const LOOKS_MAX = 10;

const APP_SECRET = randomBytes(32).toString('hex');

/** Opens a world. Disposing `stack` ends everything, and so does the end of this process. */
export async function openWorld(stack: AsyncDisposableStack): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'customer-api-bench-'));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 5 });
  stack.defer(remove);
  await chmod(folder, 0o755);
  const postgres = await startEmbedded({ dataDir: folder, settings: SETTINGS });
  runAfterOurEnd(stack, 'kill -QUIT "$1"; sleep 1; rm -rf "$2"', [String(postgres.pid), folder]);
  stack.defer(() => postgres.stop().then(remove));
  const cpus = await chooseCpus();
  pin(postgres.pid, cpus.rest);
  const { databaseUrl } = postgres;
  await migrate(databaseUrl);
  compileOnce();
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
  pool.on('error', () => undefined);
  stack.defer(() => pool.end());
  const generator = fork(fileURLToPath(new URL('./load.ts', import.meta.url)));
  stack.defer(() => stop(generator));
  pin(generator.pid, cpus.rest);
  return {
    pool,
    seed: async (file) => {
      const { teams } = await loadSeed(databaseUrl, file, {
        replace: false,
        appSecret: APP_SECRET,
      });
      return new Map(
        Object.entries(teams).map(([id, { api_keys }]) => [id, Object.values(api_keys)[0] ?? '']),
      );
    },
    start: async (entry, path, env = () => ({})) => {
      const port = await findFreePort();
      const child = spawn(process.execPath, argumentsOf(fileURLToPath(entry)), {
        cwd: ROOT,
        env: { ...environment(databaseUrl, port), ...env(port) },
        stdio: ['ignore', 'ignore', 'inherit'],
      });
      stack.defer(() => stop(child));
      const pid = child.pid ?? 0;
      runAfterOurEnd(stack, 'kill -9 "$1"', [String(pid)]);
      pin(pid, cpus.server);
      await waitForAnswer(`http://127.0.0.1:${port}${path}`, child);
      return { port, pid };
    },
    load: (job) => ask(generator, job),
    postgresMs: () => readPostgresMs(postgres.pid),
  };
}

/** As the image does: programs that are compiled when they start take 25 MB more. */
function compileOnce(): void {
  const load = `import('${ROOT}/src/api.ts'); import('${ROOT}/src/worker.ts')`;
  const env = { ...process.env, NODE_COMPILE_CACHE: COMPILED };
  execFileSync(process.execPath, ['-e', load], { env, cwd: ROOT });
}

/** What Node gets to run the file: for a program of the service, the same as in production. */
function argumentsOf(file: string): readonly string[] {
  const end = ` ${relative(ROOT, file)}`;
  const commands = Object.values<string>(packageJson.scripts);
  const script = commands.find((command) => command.endsWith(end));
  const options = script?.slice(0, -end.length).split(' ').slice(START.length) ?? [];
  return [...options, file];
}

/**
 * Milliseconds of processor time that the process has used, with those of its children that have
 * ended; null on systems without /proc.
 */
export async function readCpuMs(pid: number): Promise<number | null> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
  if (stat === null) return null;
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  // utime, stime, cutime and cstime, in ticks. Linux reports 100 ticks per second to every program.
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * 10;
}

/** Milliseconds of processor time that the processes have used; NaN on systems without /proc. */
export async function cpuMsOf(processes: readonly { readonly pid: number }[]): Promise<number> {
  const each = await Promise.all(processes.map(({ pid }) => readCpuMs(pid)));
  return each.reduce<number>((sum, ms) => sum + (ms ?? NaN), 0);
}

/** A process may end between the list and the look at it. Then its time is that of its parent. */
async function readPostgresMs(pid: number): Promise<number> {
  for (let looks = 1; ; looks += 1) {
    const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
    const pids = [pid, ...children.split(' ').filter(Boolean).map(Number)];
    const ms = await cpuMsOf(pids.map((each) => ({ pid: each })));
    if (!Number.isNaN(ms) || looks === LOOKS_MAX) return ms;
  }
}

/** Megabytes that the process holds in memory; NaN on systems without /proc. */
export async function readMemoryMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

function environment(databaseUrl: string, port: number): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    NODE_ENV: 'production',
    DATABASE_URL: databaseUrl,
    PORT: String(port),
    NODE_COMPILE_CACHE: COMPILED,
    APP_SECRET,
    API_KEY_RATE_LIMIT_PER_MIN: '1000000000',
  };
}

function ask(generator: ChildProcess, job: Job): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const onExit = (): void => reject(new Error('the load generator ended'));
    generator.once('exit', onExit).once('message', (reply: Reply) => {
      generator.off('exit', onExit);
      if ('error' in reply) reject(new Error(reply.error));
      else resolve(reply.outcome);
    });
    generator.send(job);
  });
}

/**
 * Chooses one processor for the servers; Postgres and the load generator share the others. Null if
 * there are fewer than two, or if the system does not list them.
 */
async function chooseCpus(): Promise<{ server: string | null; rest: string | null }> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(status)?.[1] ?? '';
  const [server, ...rest] = list.split(',').flatMap((range) => {
    const [from = NaN, to = from] = range.split('-').map(Number);
    return Array.from({ length: to - from + 1 || 0 }, (_, index) => String(from + index));
  });
  return server !== undefined && rest.length > 0
    ? { server, rest: rest.join(',') }
    : { server: null, rest: null };
}

function pin(pid: number | undefined, cpus: string | null): void {
  if (cpus === null || pid === undefined) return;
  try {
    execFileSync('taskset', ['-a', '-c', '-p', cpus, String(pid)], { stdio: 'ignore' });
  } catch {
    // Without taskset the figures vary more, but they are still right.
  }
}

/**
 * Runs `script` when this process ends, even by `kill -9`: a shell waits for the end of its
 * standard input, which this process holds open.
 */
function runAfterOurEnd(
  stack: AsyncDisposableStack,
  script: string,
  args: readonly string[],
): void {
  const shell = spawn('/bin/sh', ['-c', `cat >/dev/null; ${script}`, 'sh', ...args], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  shell.on('error', () => undefined);
  shell.unref();
  stack.defer(() => stop(shell));
}

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) {
      resolve();
      return;
    }
    // `ref`, also for a process that was `unref`ed: this process must not end before it.
    child.ref();
    child.once('exit', () => {
      child.stdin?.destroy();
      resolve();
    });
    child.kill('SIGTERM');
  });
}

async function waitForAnswer(url: string, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await fetch(url).catch(() => null))) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`${url} does not answer`);
    await delay(50);
  }
}

type TeamSeed = NonNullable<SeedFileInput['teams']>[number];

/** What an assignment of a benchmark practises. */
export const COMBINATION = {
  situation_id: 'sit_cold',
  personality_id: 'per_calm',
  industry_id: 'ind_saas',
};

/** A seed file of teams without limits, each with an owner, a key and what `generate` makes. */
export function seedFile(
  teams: readonly { readonly id: string; readonly generate?: TeamSeed['generate'] }[],
): SeedFileInput {
  const name = { de: 'Eintrag', en: 'Entry' };
  return {
    catalog: [
      { kind: 'situation', id: COMBINATION.situation_id, name },
      { kind: 'personality', id: COMBINATION.personality_id, name },
      { kind: 'industry', id: COMBINATION.industry_id, name },
    ],
    teams: teams.map(({ id, generate }) => ({
      id,
      name: id,
      plan: 'enterprise',
      seats: 1_000_000_000,
      rate_limit_per_min: 1_000_000_000,
      members: [
        { id: `mem_${id}`, user_id: `usr_${id}`, email: `owner@${id}.example`, role: 'owner' },
      ],
      api_keys: [{ name: 'bench', scopes: 'all' }],
      generate,
    })),
  };
}

/** Returns a complete HTTP request of the REST API for the load generator. */
export function httpRequest(
  method: string,
  key: string,
  path: string,
  { body, headers = '' }: { readonly body?: object; readonly headers?: string } = {},
): string {
  const text = body === undefined ? '' : JSON.stringify(body);
  const content = body && `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n`;
  const start = `${method} ${BASE_PATH}${path} HTTP/1.1\r\nHost: bench\r\n`;
  return `${start}Authorization: Bearer ${key}\r\n${headers}${content ?? ''}\r\n${text}`;
}
