/**
 * The Postgres that `npm start` and the tests bring with them. The caller chooses the folder:
 *
 *   <dataDir>/postgres/      the cluster (Postgres's word for its data folder); renamed into place,
 *                            so it is complete or absent
 *   <dataDir>/postgres.json  port and password (0600); the port is kept, so that a DATABASE_URL
 *                            that somebody has noted stays valid
 *   <dataDir>/postgres.log   the output of the server since its last start
 *
 * A server may outlive a Node process that was killed. A start therefore has three steps:
 *
 *  1. If a server has the cluster open, take it over.
 *  2. Remove a postmaster.pid that was left behind. Its process is gone, or its process id belongs
 *     to another program by now (process ids repeat after a restart of a container).
 *  3. Start a server.
 */
import { mkdir, open, readFile, realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { ensureCluster } from './cluster.ts';
import { ensureFreePort, readConnection, urlOf, type ConnectionSettings } from './connection.ts';
import { findServer, isAlive, isRunning, removePidFile, type RunningServer } from './process.ts';
import { chooseProgramUser, findPrograms, spawnProgram, type ProgramUser } from './programs.ts';

/** A running server. It has one database, `postgres`, and one role, the superuser `postgres`. */
export interface EmbeddedPostgres {
  databaseUrl: string;
  /** The process id of the server. */
  pid: number;
  /** Ends all connections. Resolves when the server and its processes are gone. */
  stop(): Promise<void>;
  /**
   * Kills the server without waiting, for a process that must exit now. The next start recovers the
   * data.
   */
  kill(): void;
}

export interface EmbeddedOptions {
  dataDir: string;
  /** Postgres settings for this start, named as in postgresql.conf. */
  settings?: Readonly<Record<string, string>>;
  /** Gives up the start and ends the processes that it has started. */
  signal?: AbortSignal;
}

const READY_TIMEOUT_MS = 30_000;
const START_ATTEMPTS = 5;

/**
 * Starts the server of `dataDir` on 127.0.0.1, or takes over the one that runs. Creates the cluster
 * if there is none, which takes about half a second. The caller must make sure that no two
 * processes call this for the same folder at once. Rejects with an error that says what to do.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const dataDir = resolve(options.dataDir);
  const { signal, settings = {} } = options;
  let user: ProgramUser | null = null;
  try {
    const { initdb, postgres } = await findPrograms();
    await mkdir(dataDir, { recursive: true });
    user = await chooseProgramUser(dataDir, postgres);
    const connection = await readConnection(dataDir);
    const { password } = connection;
    const cluster = await ensureCluster({ dataDir, initdb, user, password, signal });
    const running = await takeOver(cluster, connection);
    if (running) return running;
    return await startServer({ dataDir, cluster, postgres, user, connection, settings, signal });
  } catch (error) {
    throw new Error(
      `The embedded Postgres in ${dataDir} did not start. ${describeFailure(error, dataDir, user)}`,
      { cause: error },
    );
  }
}

/**
 * Finds the server of `dataDir` if one runs, also beside the process that has started it. Returns
 * null if none does. Creates and starts nothing.
 */
export async function findEmbedded(dataDir: string): Promise<EmbeddedPostgres | null> {
  const cluster = await realpath(join(dataDir, 'postgres')).catch(() => null);
  if (cluster === null || !(await findServer(cluster))) return null;
  return takeOver(cluster, await readConnection(resolve(dataDir)));
}

/** Waits for the server that has the cluster open, if there is one. Returns null if none has. */
async function takeOver(
  cluster: string,
  { password }: ConnectionSettings,
): Promise<EmbeddedPostgres | null> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  for (;;) {
    const server = await findServer(cluster);
    if (!server) return null;
    const connection = { port: server.port, password };
    if (await isServing(cluster, connection)) return toEmbedded(server, connection);
    if (Date.now() > deadline)
      throw new Error(`Its server (process ${server.pid}) runs but does not answer.`);
    await delay(50);
  }
}

interface ServerStart {
  dataDir: string;
  cluster: string;
  /** The path of the program `postgres`. */
  postgres: string;
  user: ProgramUser | null;
  connection: ConnectionSettings;
  settings: Readonly<Record<string, string>>;
  signal: AbortSignal | undefined;
}

/**
 * Starts a server, in several attempts: another program may take the port just before the server
 * does, and a dying process of the last server may still have the cluster open.
 */
async function startServer(start: ServerStart): Promise<EmbeddedPostgres> {
  for (let attempt = 1; ; attempt += 1) {
    const connection = await ensureFreePort(start.dataDir, start.connection);
    try {
      return await spawnServer({ ...start, connection });
    } catch (error) {
      if (attempt === START_ATTEMPTS || start.signal?.aborted) throw error;
      await delay(200 * attempt);
    }
  }
}

async function spawnServer(start: ServerStart): Promise<EmbeddedPostgres> {
  const { dataDir, cluster, connection } = start;
  await removePidFile(cluster);
  const log = await open(join(dataDir, 'postgres.log'), 'w', 0o600);
  const child = spawnProgram(start.postgres, ['-D', cluster, ...settingFlags(start)], {
    user: start.user,
    signal: start.signal,
    killSignal: 'SIGQUIT',
    stdio: ['ignore', log.fd, log.fd],
  });
  const ended = new Promise<never>((_, reject) => {
    child.once('error', reject);
    child.once('exit', () => reject(new Error('exited')));
  });
  ended.catch(() => null);
  await log.close();
  child.unref();
  const { pid } = child;
  try {
    await Promise.race([ended, waitUntilServing(cluster, connection)]);
    if (pid === undefined) throw new Error('The server has no process id.');
    return toEmbedded({ pid, port: connection.port, cluster }, connection);
  } catch (error) {
    if (pid !== undefined && isAlive(pid)) process.kill(pid, 'SIGQUIT');
    throw new Error(`The server failed: ${await readLogEnd(dataDir)}`, { cause: error });
  }
}

function settingFlags({ connection, settings }: ServerStart): string[] {
  const all = {
    listen_addresses: '127.0.0.1',
    port: String(connection.port),
    unix_socket_directories: '',
    ...settings,
  };
  return Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

async function waitUntilServing(cluster: string, connection: ConnectionSettings): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (!(await isServing(cluster, connection))) {
    if (Date.now() > deadline)
      throw new Error(`It did not answer within ${READY_TIMEOUT_MS / 1000} s.`);
    await delay(10);
  }
}

/** Whether the server on the port serves this cluster: the port may belong to another Postgres. */
async function isServing(cluster: string, connection: ConnectionSettings): Promise<boolean> {
  const client = new Client({
    connectionString: urlOf(connection),
    connectionTimeoutMillis: 5_000,
  });
  client.on('error', () => null);
  try {
    await client.connect();
    const { rows } = await client.query<{ path: string }>(
      `SELECT current_setting('data_directory') AS path`,
    );
    return rows[0]?.path === cluster;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === INVALID_PASSWORD)
      throw new Error('Its password is not the one in postgres.json.', { cause: error });
    return false;
  } finally {
    await client.end().catch(() => null);
  }
}

/** The SQLSTATE of a wrong password. */
const INVALID_PASSWORD = '28P01';

function toEmbedded(server: RunningServer, connection: ConnectionSettings): EmbeddedPostgres {
  return {
    databaseUrl: urlOf(connection),
    pid: server.pid,
    stop: () => stopServer(server),
    kill: () => {
      if (isAlive(server.pid)) process.kill(server.pid, 'SIGQUIT');
    },
  };
}

/**
 * SIGINT is Postgres's "fast" shutdown: it ends the sessions and writes all data to disk. The other
 * signals are for a server that hangs.
 */
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

async function readLogEnd(dataDir: string): Promise<string> {
  const log = await readFile(join(dataDir, 'postgres.log'), 'utf8').catch(() => '');
  return log.trim().split('\n').slice(-5).join('\n') || 'its log is empty';
}

/** Says what failed and what to do. `user` is null if Postgres runs as our own user. */
function describeFailure(error: unknown, dataDir: string, user: ProgramUser | null): string {
  const reason = error instanceof Error ? error.message : String(error);
  if (/setpriv|EACCES|EPERM|Permission denied/i.test(reason)) {
    return user
      ? describeRefusal(reason, user)
      : `${reason}\nThe folder belongs to another user. Start as that user, or set DATABASE_URL.`;
  }
  return (
    `${reason}\nRead ${join(dataDir, 'postgres.log')}. If you do not need the data, ` +
    `remove ${dataDir} and start again. Or set DATABASE_URL to a Postgres 15 or newer.`
  );
}

/** We are root, and the system has refused something to the user that runs Postgres. */
function describeRefusal(reason: string, { uid, closedFolder }: ProgramUser): string {
  const closed = closedFolder === null ? '' : `, who may not enter ${closedFolder}`;
  return (
    `Postgres does not run as root but as the user with the id ${uid}${closed}. ` +
    `${reason.trim()}\nStart as an ordinary user, move the project out of ` +
    `${closedFolder ?? 'this folder'}, or set DATABASE_URL to a Postgres 15 or newer. ` +
    '(The program setpriv of util-linux lets that user in, if this machine or container allows it.)'
  );
}
