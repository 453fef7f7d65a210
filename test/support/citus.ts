// Citus for tests: a coordinator and workers on 127.0.0.1. Debian's postgresql-15 is copied, and
// the extension is unpacked over the copy, once for each machine.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { chmod, chown, mkdtemp, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { migrate } from '../../src/db/operator/migrate.ts';
import { findFreePort } from './ports.ts';

const SYSTEM = '/usr/lib/postgresql/15';
const ROOT = join(tmpdir(), 'citus-programs-15');
const PROGRAMS = join(ROOT, SYSTEM, 'bin');
/** Postgres refuses root: "nobody" runs it then. */
const NOBODY = 65_534;
const USER = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/** The archive with the extension; there is no package of it to fetch. */
function findArchive(): string | undefined {
  const named = process.env['CITUS_ARCHIVE'];
  if (named !== undefined) return existsSync(named) ? named : undefined;
  const folder = join(import.meta.dirname, '../../../shared/citus');
  return globSync(join(folder, 'citus-*-postgresql-15-*.tar.xz'))[0];
}

/** What a suite that needs Citus says when it is skipped, or null if it can run. */
export function whyNoCitus(): string | null {
  if (!existsSync(join(SYSTEM, 'bin/postgres')))
    return 'missing on this machine: postgresql-15 (apt-get install postgresql-15)';
  if (findArchive() === undefined)
    return (
      'the archive of the extension is not at CITUS_ARCHIVE, nor in ../shared/citus; ' +
      'it cannot be downloaded'
    );
  return null;
}

/** A server of the cluster. */
export interface CitusNode {
  readonly port: number;
  /** Of the database `postgres`, as superuser. */
  readonly url: string;
  /** Ends it as a crash does. What it has acknowledged is kept. */
  kill(): Promise<void>;
  /** Shuts it down. */
  stop(): Promise<void>;
  /** Makes it silent, as a host does that is cut off: its connections stay, without an answer. */
  freeze(): void;
  thaw(): void;
  /** Starts it again, maybe with other settings, and resolves when it answers. */
  start(changed?: Readonly<Record<string, string>>): Promise<void>;
}

/** A cluster; the first node is the coordinator. Stop it. */
export interface CitusCluster {
  readonly nodes: readonly CitusNode[];
  /** Creates a database on every node, which still are databases apart. Returns the first URL. */
  createDatabase(name: string): Promise<string>;
  /** Makes the databases of this name one cluster. */
  join(name: string): Promise<void>;
  /** Starts one more node, which belongs to no cluster yet. */
  addNode(): Promise<CitusNode>;
  stop(): Promise<void>;
}

/** Starts a coordinator and `workers` more nodes; a distributed table gets `shards` shards. */
export async function startCitus({
  workers = 2,
  shards = 4,
  settings = {},
}: {
  readonly workers?: number;
  readonly shards?: number;
  /** Of Postgres, on every node. */
  readonly settings?: Readonly<Record<string, string>>;
} = {}): Promise<CitusCluster> {
  preparePrograms();
  const folder = await mkdtemp(join(tmpdir(), 'citus-'));
  await give(folder);
  const release = removeAfterOurEnd(folder);
  const nodes: CitusNode[] = [];
  const addNode = async (): Promise<CitusNode> => {
    const node = await makeNode(folder, nodes.length, {
      'citus.shard_count': String(shards),
      ...settings,
    });
    nodes.push(node);
    return node;
  };
  for (let count = 0; count <= workers; count += 1) await addNode();
  return {
    nodes,
    addNode,
    createDatabase: async (name) => {
      for (const { url } of nodes) await runSql(url, `CREATE DATABASE ${name}`);
      return urlOf(nodes[0]?.url ?? '', name);
    },
    join: async (name) => {
      for (const { url } of nodes) await runSql(urlOf(url, name), 'CREATE EXTENSION citus');
      const [coordinator, ...others] = nodes;
      if (!coordinator) throw new Error('a cluster without a coordinator');
      const url = urlOf(coordinator.url, name);
      await runSql(url, `SELECT citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`);
      for (const { port } of others)
        await runSql(url, `SELECT citus_add_node('127.0.0.1', ${port})`);
    },
    stop: async () => {
      await Promise.all(nodes.map((node) => node.kill()));
      await release();
    },
  };
}

/** Creates a distributed database of the service on the cluster. Returns its URL. */
export async function createDistributed(cluster: CitusCluster, name: string): Promise<string> {
  const url = await cluster.createDatabase(name);
  await cluster.join(name);
  await migrate(url, { distribute: true });
  return url;
}

/** Returns the port of the node with the rows of each team, whether there are any or not. */
export async function portsOf(
  url: string,
  teamIds: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await runSql<{ team: string; port: number }>(
    url,
    `select t.id as team, n.nodeport as port
     from unnest('{${teamIds.join(',')}}'::text[]) as t (id)
     join pg_dist_placement p on p.shardid = get_shard_id_for_distribution_column('team', t.id)
     join pg_dist_node n on n.groupid = p.groupid`,
  );
  return new Map(rows.map(({ team, port }) => [team, port]));
}

/**
 * Ends the servers and removes their folder when this process ends, even by `kill -9`: a shell
 * waits for the end of its standard input, which this process holds open.
 */
function removeAfterOurEnd(folder: string): () => Promise<void> {
  const script =
    'cat >/dev/null; for file in "$1"/*/postmaster.pid; do ' +
    '[ -f "$file" ] && kill -QUIT "$(head -n 1 "$file")" 2>/dev/null; done; ' +
    'sleep 0.2; rm -rf "$1" || { sleep 2; rm -rf "$1"; }';
  const shell = spawn('/bin/sh', ['-c', script, 'sh', folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  return () =>
    new Promise((done) => {
      shell.once('exit', () => done());
      shell.stdin.end();
    });
}

/** The same server, another database. */
export function urlOf(url: string, database: string): string {
  return url.replace(/[^/]+$/, database);
}

/** Runs SQL on a connection of its own. */
export async function runSql<Row extends object>(url: string, sql: string): Promise<Row[]> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Copies the server's programs and unpacks the extension over them, unless that is done. */
function preparePrograms(): void {
  if (existsSync(ROOT)) return;
  const archive = findArchive();
  if (archive === undefined) throw new Error(whyNoCitus() ?? 'no archive');
  const part = `${ROOT}.${process.pid}`;
  for (const share of ['/usr/lib/postgresql', '/usr/share/postgresql']) {
    mkdirSync(join(part, share), { recursive: true });
    cpSync(`${share}/15`, join(part, share, '15'), { recursive: true, dereference: true });
  }
  execFileSync('tar', ['-xJf', archive, '-C', part, '--no-same-owner']);
  execFileSync('chmod', ['-R', 'a+rX', part]);
  try {
    renameSync(part, ROOT);
  } catch (error) {
    rmSync(part, { recursive: true, force: true });
    // Another run was faster.
    if (!existsSync(ROOT)) throw error;
  }
}

async function give(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  if (USER.uid !== undefined) await chown(folder, USER.uid, USER.gid);
}

async function makeNode(
  folder: string,
  number: number,
  ownSettings: Readonly<Record<string, string>>,
): Promise<CitusNode> {
  const port = await findFreePort();
  const data = join(folder, `node-${number}`);
  const env = { ...process.env, LC_ALL: 'C', HOME: folder };
  execFileSync(
    join(PROGRAMS, 'initdb'),
    [
      '-D',
      data,
      '-U',
      'postgres',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--locale=C',
      '--lc-ctype=C.UTF-8',
      '-N',
    ],
    { ...USER, env, cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: folder,
    max_connections: 300,
    shared_buffers: '64MB',
    shared_preload_libraries: 'citus',
    // Moving a shard copies it by logical replication.
    wal_level: 'logical',
    max_prepared_transactions: 300,
    // The machine survives, but nodes are killed, and must keep what they have acknowledged.
    fsync: 'off',
    full_page_writes: 'off',
    'citus.local_hostname': '127.0.0.1',
    'citus.node_conninfo': 'sslmode=disable',
    'citus.enable_statistics_collection': 'off',
    'citus.enable_version_checks': 'off',
    ...ownSettings,
  };
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  let server: ChildProcess | null = null;
  const start = async (changed: Readonly<Record<string, string>> = {}): Promise<void> => {
    const args = ['-D', data, '-p', String(port)];
    for (const [name, value] of Object.entries({ ...settings, ...changed }))
      args.push('-c', `${name}=${value}`);
    const log = await open(`${data}.log`, 'a');
    server = spawn(join(PROGRAMS, 'postgres'), args, {
      ...USER,
      env,
      cwd: folder,
      stdio: ['ignore', log.fd, log.fd],
    });
    await log.close();
    await untilAnswering(url);
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const running = server;
    if (running?.exitCode !== null || running.signalCode !== null) return;
    const ended = new Promise((done) => running.once('exit', done));
    running.kill(signal);
    await ended;
  };
  const signalAll = (signal: NodeJS.Signals): void => {
    if (server?.pid === undefined) throw new Error('the server does not run');
    const { pid } = server;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
    for (const each of [pid, ...children.map(Number)]) process.kill(each, signal);
  };
  await start();
  return {
    port,
    url,
    start,
    kill: () => end('SIGQUIT'),
    stop: () => end('SIGINT'),
    freeze: () => signalAll('SIGSTOP'),
    thaw: () => signalAll('SIGCONT'),
  };
}

async function untilAnswering(url: string): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      await runSql(url, 'SELECT 1');
      return;
    } catch (error) {
      if (attempt === 300) throw error;
      await delay(100);
    }
  }
}
