// The environment of a benchmark: a Postgres in a temporary folder, the API as in production, and
// the load generator. The servers under test get a processor of their own.
import { fork, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { startEmbedded } from '../../src/embedded-postgres/embedded-postgres.ts';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import type { SeedFileInput } from '../../src/seed/schema.ts';
import { findFreePort } from '../../test/support/ports.ts';
import type { Job, Outcome, Reply } from './load.ts';
import { chooseCpus, cpuMsOfFamily, launch, pin, run, runAfterOurEnd, stop } from './processes.ts';

/** A server on 127.0.0.1, in a process of its own. */
export interface ServerProcess {
  readonly port: number;
  readonly pid: number;
}

/** A revision of the service with a database of its own. Its code only runs in other processes. */
export interface World {
  readonly pool: pg.Pool;
  /** Loads teams and resolves with one key of each, by team id. */
  seed(file: SeedFileInput): Promise<Map<string, string>>;
  /**
   * Starts a program of the revision with `DATABASE_URL`, `PORT` and the variables of `env`.
   * Resolves when it answers requests for `path`.
   */
  start(
    file: string,
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
export const API = 'src/api.ts';
/** How each script of package.json begins that runs Node. */
const START = ['exec', 'node'];

const APP_SECRET = randomBytes(32).toString('hex');

/**
 * Starts Postgres and the load generator, which all worlds share, and returns a function that opens
 * the world of the revision in a folder. Disposing `stack` ends everything, and so does the end of
 * this process.
 */
export async function openWorlds(
  stack: AsyncDisposableStack,
): Promise<(root: string) => Promise<World>> {
  const folder = await mkdtemp(join(tmpdir(), 'customer-api-bench-'));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 5 });
  stack.defer(remove);
  await chmod(folder, 0o755);
  const postgres = await startEmbedded({ dataDir: folder, settings: SETTINGS });
  runAfterOurEnd(stack, 'kill -QUIT "$1"; sleep 1; rm -rf "$2"', [String(postgres.pid), folder]);
  stack.defer(() => postgres.stop().then(remove));
  const cpus = await chooseCpus();
  pin(postgres.pid, cpus.rest);
  const generator = fork(fileURLToPath(new URL('./load.ts', import.meta.url)));
  stack.defer(() => stop(generator));
  pin(generator.pid, cpus.rest);
  let count = 0;
  return async (root) => {
    const database = `bench_${(count += 1)}`;
    const databaseUrl = await createDatabase(postgres.databaseUrl, database);
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
    pool.on('error', () => undefined);
    stack.defer(() => pool.end());
    const argumentsOf = await readArguments(root);
    const environment = {
      PATH: process.env['PATH'] ?? '',
      NODE_ENV: 'production',
      DATABASE_URL: databaseUrl,
      // Where Node keeps what it has compiled, as in the image.
      NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled'),
      APP_SECRET,
      API_KEY_RATE_LIMIT_PER_MIN: '1000000000',
    };
    const runNode = (...args: readonly string[]): Promise<string> =>
      run(stack, process.execPath, args, { cwd: root, env: environment });
    await runNode('scripts/migrate.ts');
    // As the image does: programs that are compiled when they start take 25 MB more.
    await compile(stack, root, environment.NODE_COMPILE_CACHE);
    return {
      pool,
      seed: async (file) => {
        const path = join(folder, 'seed.json');
        await writeFile(path, JSON.stringify(file));
        const { teams } = JSON.parse(await runNode('scripts/seed.ts', path)) as {
          readonly teams: Readonly<Record<string, { api_keys: Readonly<Record<string, string>> }>>;
        };
        return new Map(
          Object.entries(teams).map(([id, { api_keys }]) => [id, Object.values(api_keys)[0] ?? '']),
        );
      },
      start: async (file, path, env = () => ({})) => {
        const port = await findFreePort();
        const child = launch(stack, process.execPath, argumentsOf(file), {
          cwd: root,
          env: { ...environment, PORT: String(port), ...env(port) },
          stdio: ['ignore', 'ignore', 'inherit'],
        });
        pin(child.pid, cpus.server);
        await waitForAnswer(`http://127.0.0.1:${port}${path}`, child);
        return { port, pid: child.pid ?? 0 };
      },
      load: (job) => ask(generator, job),
      postgresMs: () => cpuMsOfFamily(postgres.pid),
    };
  };
}

async function createDatabase(serverUrl: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

async function compile(stack: AsyncDisposableStack, root: string, cache: string): Promise<void> {
  const load = `import('${root}/src/api.ts'); import('${root}/src/worker.ts')`;
  const env = { ...process.env, NODE_COMPILE_CACHE: cache };
  await run(stack, process.execPath, ['-e', load], { cwd: root, env });
}

/**
 * Returns a function that returns what Node gets to run a file of the revision: for a program of
 * the service, the same as in production.
 */
async function readArguments(root: string): Promise<(file: string) => readonly string[]> {
  const { scripts } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
    readonly scripts: Readonly<Record<string, string>>;
  };
  return (file) => {
    const command = Object.values(scripts).find((each) => each.endsWith(` ${file}`));
    return command?.split(' ').slice(START.length) ?? [file];
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
