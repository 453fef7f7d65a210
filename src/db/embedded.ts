// The Postgres that `npm start` and the tests bring with them, in a folder of the caller.
//
//   <dataDir>/postgres/       the cluster; appears by one rename, so it is whole or absent
//   <dataDir>/postgres.json   port and password (0600); the port is kept so that a DATABASE_URL noted down stays right
//   <dataDir>/postgres.log    what the server said since its last start
//
// A server may outlive a killed Node. So a start first looks whether the cluster is already served and takes it over;
// a postmaster.pid whose process is gone, or is by now something else (pids repeat after a container's restart), is
// removed; only then is a server started.
import { randomBytes } from 'node:crypto';
import {
  chown,
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import {
  chooseProgramUser,
  findPrograms,
  spawnProgram,
  type Programs,
  type ProgramUser,
} from './embedded-programs.ts';
import {
  findServer,
  isAlive,
  isRunning,
  removePidFile,
  type RunningServer,
} from './embedded-process.ts';

/** A running cluster. Its only database is `postgres`, its only role the superuser in `databaseUrl`. */
export interface EmbeddedPostgres {
  databaseUrl: string;
  /** The server's process id. */
  pid: number;
  /** Ends all connections and resolves when no process of the server is left. */
  stop(): Promise<void>;
  /** Tells the server to die at once, without waiting: for a process that must exit now. The next start recovers. */
  kill(): void;
}

/** `settings` are Postgres settings of this start, as in postgresql.conf. `signal` gives the start up, leaving nothing. */
export interface EmbeddedOptions {
  dataDir: string;
  settings?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
}

const readyTimeoutMs = 30_000;
const startAttempts = 5;

/**
 * Serves the cluster in `dataDir` on 127.0.0.1, making it first where there is none (about half a second). The caller
 * sees to it that two processes do not call this for the same folder at once. Rejects with what to do about it.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const dataDir = resolve(options.dataDir);
  const { signal } = options;
  try {
    const programs = await findPrograms();
    await mkdir(dataDir, { recursive: true });
    const user = await chooseProgramUser(dataDir, programs);
    const access = await readAccess(dataDir);
    const cluster = await requireCluster({ dataDir, programs, user, access, signal });
    const running = await takeOver(cluster, access);
    if (running) return running;
    return await startServer({
      dataDir,
      cluster,
      programs,
      user,
      access,
      settings: options.settings ?? {},
      signal,
    });
  } catch (error) {
    throw new Error(
      `The embedded Postgres in ${dataDir} did not start. ${explain(error, dataDir)}`,
      { cause: error },
    );
  }
}

interface Access {
  port: number;
  password: string;
}

interface ServerStart {
  dataDir: string;
  cluster: string;
  programs: Programs;
  user: ProgramUser | null;
  access: Access;
  settings: Readonly<Record<string, string>>;
  signal: AbortSignal | undefined;
}

async function readAccess(dataDir: string): Promise<Access> {
  const text = await readFile(join(dataDir, 'postgres.json'), 'utf8').catch(() => null);
  if (text !== null) {
    const { port, password } = JSON.parse(text) as Partial<Access>;
    if (typeof port === 'number' && typeof password === 'string') return { port, password };
  }
  const access = { port: await findFreePort(), password: randomBytes(24).toString('base64url') };
  await writeAccess(dataDir, access);
  return access;
}

/** Through a second file and a rename, so that a kill between never leaves half a password. */
async function writeAccess(dataDir: string, access: Access): Promise<void> {
  const file = join(dataDir, 'postgres.json');
  await writeFile(`${file}.new`, `${JSON.stringify(access)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** Makes the cluster unless it is there. What an interrupted attempt left is removed; its folder has another name. */
async function requireCluster(options: Omit<ServerStart, 'cluster' | 'settings'>): Promise<string> {
  const { dataDir, programs, user, access, signal } = options;
  const cluster = join(dataDir, 'postgres');
  if (await stat(join(cluster, 'PG_VERSION')).catch(() => null)) return realpath(cluster);

  const leftovers = (await readdir(dataDir)).filter(
    (name) => name === 'postgres' || name.startsWith('postgres.init-'),
  );
  await Promise.all(
    leftovers.map((name) =>
      rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 5 }),
    ),
  );
  const work = join(dataDir, `postgres.init-${process.pid}-${randomBytes(4).toString('hex')}`);
  await mkdir(work, { mode: 0o700 });
  const passwordFile = join(work, 'password');
  await writeFile(passwordFile, `${access.password}\n`, { mode: 0o600 });
  if (user)
    await Promise.all([chown(work, user.uid, user.gid), chown(passwordFile, user.uid, user.gid)]);

  await runInitdb({
    program: programs.initdb,
    user,
    pgdata: join(work, 'data'),
    passwordFile,
    signal,
  });
  await rename(join(work, 'data'), cluster);
  await rm(work, { recursive: true, force: true });
  return realpath(cluster);
}

/**
 * `--no-sync` and the builtin locale make this quick and the same on every machine. One SCRAM iteration is enough
 * for a password of 192 random bits, and saves each new connection milliseconds.
 */
async function runInitdb(options: {
  program: string;
  user: ProgramUser | null;
  pgdata: string;
  passwordFile: string;
  signal: AbortSignal | undefined;
}): Promise<void> {
  const { program, user, pgdata, passwordFile, signal } = options;
  const locale = [
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    '--encoding=UTF8',
  ];
  const access = [
    '--auth=scram-sha-256',
    '--username=postgres',
    `--pwfile=${passwordFile}`,
    '--set=scram_iterations=1',
  ];
  const rest = [
    '--no-sync',
    '--no-instructions',
    '--no-data-checksums',
    '--set=timezone=UTC',
    '--set=log_timezone=UTC',
  ];
  const child = spawnProgram(program, [`--pgdata=${pgdata}`, ...locale, ...access, ...rest], {
    user,
    signal,
    // It has made nothing worth keeping, and puts off every other signal until its current step is done.
    killSignal: 'SIGKILL',
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const code = await new Promise<number | null>((done, fail) => {
    child.once('error', fail);
    child.once('close', done);
  });
  if (code !== 0) throw new Error(`initdb failed: ${said.trim()}`);
}

/** The server that already serves this cluster, if there is one. Waits while it is starting or stopping. */
async function takeOver(cluster: string, access: Access): Promise<EmbeddedPostgres | null> {
  const deadline = Date.now() + readyTimeoutMs;
  for (;;) {
    const server = await findServer(cluster);
    if (!server) return null;
    if (await isServing(cluster, { ...access, port: server.port })) {
      return handle(server, { ...access, port: server.port });
    }
    if (Date.now() > deadline)
      throw new Error(`Its server (process ${server.pid}) runs but does not answer.`);
    await delay(50);
  }
}

/** Another program may take the port between our look and the server's, and a dying backend may hold the cluster. */
async function startServer(start: ServerStart): Promise<EmbeddedPostgres> {
  for (let attempt = 1; ; attempt += 1) {
    const port = (await isFree(start.access.port)) ? start.access.port : await findFreePort();
    const access = { ...start.access, port };
    if (port !== start.access.port) await writeAccess(start.dataDir, access);
    try {
      return await spawnServer({ ...start, access });
    } catch (error) {
      if (attempt === startAttempts || start.signal?.aborted) throw error;
      await delay(200 * attempt);
    }
  }
}

async function spawnServer({
  dataDir,
  cluster,
  programs,
  user,
  access,
  settings,
  signal,
}: ServerStart): Promise<EmbeddedPostgres> {
  await removePidFile(cluster);
  const log = await open(join(dataDir, 'postgres.log'), 'w', 0o600);
  const all = {
    listen_addresses: '127.0.0.1',
    port: String(access.port),
    unix_socket_directories: '',
    ...settings,
  };
  const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const child = spawnProgram(programs.postgres, ['-D', cluster, ...flags], {
    user,
    signal,
    killSignal: 'SIGQUIT',
    stdio: ['ignore', log.fd, log.fd],
  });
  const ended = new Promise<never>((_, fail) => {
    child.once('error', fail);
    child.once('exit', () => fail(new Error('exited')));
  });
  ended.catch(() => null);
  await log.close();
  child.unref();
  const { pid } = child;
  try {
    await Promise.race([ended, waitUntilServing(cluster, access)]);
    if (pid === undefined) throw new Error('The server has no process id.');
    return handle({ pid, port: access.port, cluster }, access);
  } catch (error) {
    if (pid !== undefined && isAlive(pid)) process.kill(pid, 'SIGQUIT');
    throw new Error(`The server failed: ${await readLogEnd(dataDir)}`, { cause: error });
  }
}

async function waitUntilServing(cluster: string, access: Access): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs;
  while (!(await isServing(cluster, access))) {
    if (Date.now() > deadline)
      throw new Error(`It did not answer within ${readyTimeoutMs / 1000} s.`);
    await delay(10);
  }
}

/** True only when it is this cluster that answers: the remembered port may by now be another Postgres's. */
async function isServing(cluster: string, access: Access): Promise<boolean> {
  const client = new Client({ connectionString: urlOf(access), connectionTimeoutMillis: 5_000 });
  client.on('error', () => null);
  try {
    await client.connect();
    const { rows } = await client.query<{ path: string }>(
      `SELECT current_setting('data_directory') AS path`,
    );
    return rows[0]?.path === cluster;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === '28P01')
      throw new Error('Its password is not the one in postgres.json.', { cause: error });
    return false;
  } finally {
    await client.end().catch(() => null);
  }
}

function handle(server: RunningServer, access: Access): EmbeddedPostgres {
  return {
    databaseUrl: urlOf(access),
    pid: server.pid,
    stop: () => stopServer(server),
    kill: () => {
      if (isAlive(server.pid)) process.kill(server.pid, 'SIGQUIT');
    },
  };
}

/** SIGINT is Postgres's "fast" stop: it ends the sessions and writes everything out. The rest is for a stuck one. */
async function stopServer(server: RunningServer): Promise<void> {
  const steps = [
    { signal: 'SIGINT', patienceMs: 8_000 },
    { signal: 'SIGQUIT', patienceMs: 3_000 },
    { signal: 'SIGKILL', patienceMs: 1_000 },
  ] as const;
  for (const { signal, patienceMs } of steps) {
    if (!(await isRunning(server.pid))) return;
    process.kill(server.pid, signal);
    const deadline = Date.now() + patienceMs;
    while ((await isRunning(server.pid)) && Date.now() < deadline) await delay(10);
  }
}

function urlOf({ port, password }: Access): string {
  return `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
}

async function findFreePort(): Promise<number> {
  const port = await listenOnce(0);
  if (port === null) throw new Error('This machine has no free port on 127.0.0.1.');
  return port;
}

async function isFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) !== null;
}

async function listenOnce(port: number): Promise<number | null> {
  const server = createServer();
  return new Promise((done) => {
    server.once('error', () => done(null));
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => done(typeof address === 'object' && address ? address.port : null));
    });
  });
}

async function readLogEnd(dataDir: string): Promise<string> {
  const log = await readFile(join(dataDir, 'postgres.log'), 'utf8').catch(() => '');
  return log.trim().split('\n').slice(-5).join('\n') || 'it said nothing';
}

function explain(error: unknown, dataDir: string): string {
  const reason = error instanceof Error ? error.message : String(error);
  if (reason.includes('setpriv')) {
    return `Postgres cannot run as root, and no other user may enter this folder. Start as an ordinary user, move the project out of ${dataDir}, install util-linux, or set DATABASE_URL.`;
  }
  if (/EACCES|EPERM|Permission denied/i.test(reason)) {
    return `${reason}\nThe folder belongs to another user: start as that user, or remove ${dataDir} (this deletes its data), or set DATABASE_URL.`;
  }
  return `${reason}\nLook at ${join(dataDir, 'postgres.log')}. If the data is not needed, remove ${dataDir} and start again; or set DATABASE_URL to a Postgres 15 or newer.`;
}
