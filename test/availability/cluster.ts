// Three Postgres under Patroni and one etcd, of Debian's packages, as real processes in a folder of
// their own. The faults that the tests provoke are signals to these processes.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { run, whyNot } from '../support/debian.ts';
import { findRoom, makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { send } from '../support/processes.ts';
import { until } from '../support/until.ts';

const PROGRAMS = '/usr/lib/postgresql/15/bin';
const SCOPE = 'app';
const NAMES = ['pg1', 'pg2', 'pg3'] as const;

/** The least that Patroni allows, so that the tests need not wait for longer. */
export const SETTINGS = { ttl: 20, loop_wait: 1, retry_timeout: 3 } as const;

/** Why the cluster cannot be started on this machine, or null. */
export function whyNoCluster(): string | null {
  if (!existsSync(`${PROGRAMS}/initdb`)) return 'missing on this machine: postgresql-15';
  return whyNot(['patroni', 'patronictl', 'etcd', 'haproxy', 'setpriv']);
}

/** A Postgres and its Patroni. */
export interface Member {
  readonly name: string;
  readonly port: number;
  /** Of Patroni's REST API. */
  readonly restPort: number;
  /** Starts Patroni, which starts Postgres. */
  start(): void;
  /** Sends the signal to all processes of these programs. */
  signal(signal: NodeJS.Signals, programs: readonly ('patroni' | 'postgres')[]): Promise<void>;
  /** Ends all sessions of the service, which opens new ones. */
  endSessions(): Promise<void>;
}

/** A running cluster. */
export interface Cluster {
  readonly members: readonly Member[];
  /** With what `patronictl` finds it. */
  readonly environment: Readonly<Record<'PATRONICTL_CONFIG_FILE' | 'LC_ALL' | 'LANG', string>>;
  /** The only one that accepts writes, as Patroni sees it. */
  primary(): Promise<Member>;
  /** The standby that has every acknowledged write. */
  synchronousStandby(): Promise<Member>;
  /** Resolves when all members run, two of them follow the primary, and one is synchronous. */
  whole(): Promise<void>;
  /** Makes the synchronous standby the primary, as an operator does. */
  switchOver(): Promise<void>;
  /** What Patroni keeps in etcd, and what all have logged last. */
  log(): Promise<string>;
  stop(): Promise<void>;
}

/** Starts the cluster with an empty database `app`. Resolves when it is whole. */
export async function startCluster(): Promise<Cluster> {
  const folder = await makeFolder('cluster', await findRoom());
  await chmod(folder, 0o777);
  const watcher = killAfterOurEnd(folder);
  const etcd = await startEtcd(folder);
  const members = await Promise.all(NAMES.map((name) => makeMember(folder, name, etcd.port)));
  const find = (role: Role): Promise<Member> =>
    until(async () => (await membersWith(role, members))[0]);
  const cluster: Cluster = {
    members,
    environment: {
      PATRONICTL_CONFIG_FILE: join(folder, NAMES[0], 'patroni.json'),
      ...IN_ENGLISH.env,
    },
    primary: () => find('primary'),
    synchronousStandby: () => find('synchronous'),
    whole: async () => {
      const roles = ['primary', 'synchronous', 'replica'] as const;
      let brokenAt = performance.now() + MENDS_ITSELF_MS;
      await until(async () => {
        if (performance.now() > brokenAt) {
          brokenAt = performance.now() + MENDS_ITSELF_MS;
          await copyAnew(folder, members);
        }
        const found = await Promise.all(roles.map((role) => membersWith(role, members)));
        return found.map(({ length }) => length).join() === '1,1,2';
      });
    },
    switchOver: async () => {
      const [from, to] = [await find('primary'), await find('synchronous')];
      const names = ['--leader', from.name, '--candidate', to.name];
      const file = join(folder, from.name, 'patroni.json');
      await run('patronictl', ['-c', file, 'switchover', SCOPE, ...names, '--force'], IN_ENGLISH);
    },
    log: async () => `${await readKeys(etcd.port)}\n\n${await readLogs(folder)}`,
    stop: async () => {
      for (const member of members) await member.signal('SIGKILL', ['patroni', 'postgres']);
      etcd.process.kill('SIGKILL');
      watcher.kill('SIGKILL');
    },
  };
  try {
    for (const member of members) member.start();
    await cluster.whole();
    const { port } = await cluster.primary();
    await asSuperuser(port, 'create role app login', 'create database app owner app');
    return cluster;
  } catch (error) {
    console.error(await cluster.log());
    await cluster.stop();
    throw error;
  }
}

/** A cluster mends itself within this time, if it can. */
const MENDS_ITSELF_MS = 60_000;

/**
 * Copies the standbys that cannot start from the primary, as the runbook says. Patroni 3.0 does not
 * rewind a standby that had more of the log than the one that was promoted.
 */
async function copyAnew(folder: string, members: readonly Member[]): Promise<void> {
  for (const { name, restPort } of members) {
    const state = await stateOf(restPort);
    if (!BROKEN.has(state)) continue;
    console.warn(`${name} is "${state}" for long: it is copied from the primary`);
    const file = join(folder, name, 'patroni.json');
    await run('patronictl', ['-c', file, 'reinit', SCOPE, name, '--force'], IN_ENGLISH);
  }
}

/** What Patroni says of a Postgres that it cannot start. */
const BROKEN: ReadonlySet<string> = new Set(['start failed', 'stopped', 'crashed']);

async function stateOf(restPort: number): Promise<string> {
  const signal = AbortSignal.timeout(1_000);
  return fetch(`http://127.0.0.1:${restPort}/patroni`, { signal }).then(
    async (response) => ((await response.json()) as { state: string }).state,
    () => 'unknown',
  );
}

/** Python's click refuses to run in the locale C. */
const IN_ENGLISH = { env: { LC_ALL: 'C.UTF-8', LANG: 'C.UTF-8' } };

/** What each member says of itself now. What Patroni keeps in etcd is old after a fault. */
type Role = 'primary' | 'synchronous' | 'replica';

/** Resolves with the members that have the role, as load balancers ask for it. */
async function membersWith(role: Role, members: readonly Member[]): Promise<readonly Member[]> {
  // A replica that does not follow has a lag.
  const path = role === 'replica' ? 'replica?lag=1MB' : role;
  const answers = members.map(async (member) => {
    const signal = AbortSignal.timeout(1_000);
    const asking = fetch(`http://127.0.0.1:${member.restPort}/${path}`, { signal });
    return asking.then(
      ({ ok }) => (ok ? [member] : []),
      () => [],
    );
  });
  return (await Promise.all(answers)).flat();
}

async function startEtcd(folder: string): Promise<{ port: number; process: ChildProcess }> {
  const [port, peerPort] = [await findFreePort(), await findFreePort()];
  const [url, peerUrl] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${peerPort}`];
  const process = start(folder, 'etcd', [
    'etcd',
    // Patroni 3.0 loses track of keys with version 3 of the API.
    '--enable-v2',
    `--data-dir=${join(folder, 'etcd')}`,
    `--listen-client-urls=${url}`,
    `--advertise-client-urls=${url}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
  ]);
  await until(() =>
    fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return { port, process };
}

async function makeMember(folder: string, name: string, etcdPort: number): Promise<Member> {
  const [port, restPort] = [await findFreePort(), await findFreePort()];
  const own = join(folder, name);
  await mkdir(own);
  await chmod(own, 0o777);
  const file = join(own, 'patroni.json');
  await writeFile(file, JSON.stringify(settingsOf({ name, own, port, restPort, etcdPort })));
  let patroni: ChildProcess | null = null;
  const pids = async (program: 'patroni' | 'postgres'): Promise<readonly number[]> => {
    if (program === 'patroni') return patroni?.pid === undefined ? [] : [patroni.pid];
    return postgresOf(join(own, 'data'));
  };
  const sendAll: Member['signal'] = async (signal, programs) => {
    // Patroni first, so that it does not start what was just killed.
    for (const program of programs.toSorted())
      for (const pid of await pids(program)) send(pid, signal);
  };
  return {
    name,
    port,
    restPort,
    start: () => {
      patroni = start(folder, name, ['patroni', file]);
    },
    signal: async (signal, programs) => {
      // So that all die at once: a session that outlives its postmaster shows others what still
      // waits for a standby, and a webhook of it may be sent. A session that began while its
      // postmaster was being stopped stops with the second signal.
      if (signal !== 'SIGCONT') await sendAll('SIGSTOP', programs);
      await sendAll(signal, programs);
      if (signal !== 'SIGKILL' || !programs.includes('patroni')) return;
      if (patroni && patroni.exitCode === null && patroni.signalCode === null)
        await once(patroni, 'exit');
      await rm(join(folder, `${name}.pid`), { force: true });
      patroni = null;
    },
    endSessions: () =>
      asSuperuser(
        port,
        `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'app'`,
      ),
  };
}

/** Patroni reads YAML, of which JSON is a part. */
function settingsOf(member: {
  readonly name: string;
  readonly own: string;
  readonly port: number;
  readonly restPort: number;
  readonly etcdPort: number;
}): object {
  const { name, own, port, restPort, etcdPort } = member;
  return {
    scope: SCOPE,
    name,
    restapi: { listen: `127.0.0.1:${restPort}`, connect_address: `127.0.0.1:${restPort}` },
    etcd: { host: `127.0.0.1:${etcdPort}` },
    bootstrap: {
      dcs: {
        ...SETTINGS,
        synchronous_mode: true,
        primary_start_timeout: 0,
        postgresql: { use_pg_rewind: true, parameters: PARAMETERS },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C.UTF-8' }, 'data-checksums', 'no-sync'],
      pg_hba: ['host all all 127.0.0.1/32 trust', 'host replication all 127.0.0.1/32 trust'],
    },
    postgresql: {
      listen: `127.0.0.1:${port}`,
      connect_address: `127.0.0.1:${port}`,
      data_dir: join(own, 'data'),
      bin_dir: PROGRAMS,
      pgpass: join(own, 'pgpass'),
      authentication: {
        superuser: { username: 'postgres' },
        replication: { username: 'replicator' },
        rewind: { username: 'rewinder' },
      },
      parameters: { unix_socket_directories: own },
      // Without it, a copy waits for minutes for the next checkpoint.
      basebackup: [{ checkpoint: 'fast' }],
    },
    watchdog: { mode: 'off' },
  };
}

/** The disk is no part of what is tested: processes die here, not machines. */
const PARAMETERS = {
  fsync: 'off',
  shared_buffers: '64MB',
  max_connections: 200,
  wal_sender_timeout: '5s',
  wal_receiver_timeout: '5s',
};

/** Starts a program as the user postgres, who owns the data. Its output goes to a file. */
function start(folder: string, name: string, command: readonly string[]): ChildProcess {
  const script = 'echo $$ >"$1.pid"; log="$1.log"; shift; exec "$@" >>"$log" 2>&1';
  const user = ['--reuid=postgres', '--regid=postgres', '--clear-groups'];
  const path = join(folder, name);
  return spawn('setpriv', [...user, 'sh', '-c', script, 'sh', path, ...command], {
    stdio: 'ignore',
    cwd: folder,
    env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' },
  });
}

/** The processes of the Postgres with this folder. */
async function postgresOf(data: string): Promise<readonly number[]> {
  const file = await readFile(join(data, 'postmaster.pid'), 'utf8').catch(() => '');
  const postmaster = Number(file.split('\n')[0]);
  if (!(postmaster > 0) || !(await isPostgres(postmaster))) return [];
  return [postmaster, ...(await childrenOf(postmaster))];
}

async function isPostgres(pid: number): Promise<boolean> {
  const command = await readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '');
  return command.trim() === 'postgres';
}

async function childrenOf(parent: number): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0);
  const stats = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')),
  );
  // `pid (name) state parent …`, and the name may hold spaces.
  const parents = stats.map((stat) => Number(/\) \S+ (\d+)/.exec(stat)?.[1]));
  return pids.filter((_pid, n) => parents[n] === parent);
}

/** Ends the cluster with this process, even by `kill -9`: Postgres is nobody's child. */
function killAfterOurEnd(folder: string): ChildProcess {
  const script =
    'cat >/dev/null; for file in "$1"/*.pid "$1"/*/data/postmaster.pid; do ' +
    'kill -9 "$(head -n 1 "$file")"; done; sleep 1; rm -rf "$1"';
  const watcher = spawn('/bin/sh', ['-c', script, 'sh', folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watcher.unref();
  return watcher;
}

async function asSuperuser(port: number, ...statements: readonly string[]): Promise<void> {
  const client = new Client({ host: '127.0.0.1', port, user: 'postgres', database: 'postgres' });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

async function readKeys(etcdPort: number): Promise<string> {
  const url = `http://127.0.0.1:${etcdPort}/v2/keys/service/${SCOPE}?recursive=true`;
  return fetch(url).then(
    (response) => response.text(),
    (error: unknown) => String(error),
  );
}

async function readLogs(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.log'));
  const logs = await Promise.all(
    names.map(
      async (name) => `${name}\n${(await readFile(join(folder, name), 'utf8')).slice(-4_000)}`,
    ),
  );
  return logs.join('\n\n');
}
