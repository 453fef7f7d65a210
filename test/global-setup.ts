// Starts one Postgres for a run of the tests, in a temporary folder, with a migrated database that
// the test files clone. Builds the admin page if its sources have changed.
import { spawn } from 'node:child_process';
import { chmod, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import type { TestProject } from 'vitest/node';
import { buildAdminIfChanged } from '../scripts/build-admin.ts';
import { migrate } from '../src/db/operator/migrate.ts';
import {
  startEmbedded,
  type EmbeddedPostgres,
} from '../src/embedded-postgres/embedded-postgres.ts';
import { createDistributed, runSql, startCitus, whyNoCitus } from './support/citus.ts';
import { findRoom } from './support/folder.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The URL of the run's Postgres, as its superuser; used by support/database.ts. */
    testServerUrl: string;
    /** Where that server has its Unix socket; '' if it has none. */
    testSocketFolder: string;
    /** On Citus, the URLs of the other nodes. A database is made on every node. */
    testWorkerUrls: readonly string[];
  }
}

/** Nothing here is needed after the run, so nothing is synced to disk. */
const settings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_connections: '300',
  shared_buffers: '64MB',
  // Tests that count pages or look at plans vacuum and analyze at times of their own.
  autovacuum: 'off',
  // A statement over all tables would start processes, which cost it many times what it reads.
  max_parallel_workers_per_gather: '0',
};

/** Systems take paths of sockets up to 103 bytes; the name of Postgres' own takes the others. */
const LONGEST_SOCKET_FOLDER = 80;

/** Vitest's global setup; resolves with the teardown. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  if (project.name.startsWith('citus')) return setUpCitus(project);
  const dataDir = await mkdtemp(join(await findRoom(), 'customer-api-test-'));
  // mkdtemp gives access to our user only, but if the tests run as root, Postgres is another user.
  await chmod(dataDir, 0o755);
  // The folder of the cluster, which belongs to the server's user and is closed to others.
  const socketFolder = join(dataDir, 'postgres');
  const hasSocket = socketFolder.length <= LONGEST_SOCKET_FOLDER;
  const postgres = await startEmbedded({
    dataDir,
    settings: { ...settings, ...(hasSocket && { unix_socket_directories: socketFolder }) },
  });
  const release = removeAfterOurEnd(dataDir, postgres);
  // Tests see the admin page as its sources are now.
  await Promise.all([buildAdminIfChanged(), makeTemplate(postgres.databaseUrl)]);
  project.provide('testServerUrl', postgres.databaseUrl);
  project.provide('testSocketFolder', hasSocket ? socketFolder : '');
  project.provide('testWorkerUrls', []);
  return async () => {
    await postgres.stop();
    await release();
  };
}

/**
 * Ends the server and removes its folder when this process ends, even by Ctrl-C or `kill -9`: a
 * shell waits for the end of its standard input, which this process holds open.
 */
function removeAfterOurEnd(dataDir: string, postgres: EmbeddedPostgres): () => Promise<void> {
  const script =
    'cat >/dev/null; kill -QUIT "$1" 2>/dev/null; sleep 0.2; ' +
    'rm -rf "$2" || { sleep 2; rm -rf "$2"; }';
  const shell = spawn('/bin/sh', ['-c', script, 'sh', String(postgres.pid), dataDir], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  return () =>
    new Promise((done) => {
      shell.once('exit', () => done());
      shell.stdin.end();
    });
}

/** The same on a cluster: the template is there on every node, and so are its clones. */
async function setUpCitus(project: TestProject): Promise<() => Promise<void>> {
  const reason = whyNoCitus();
  if (reason !== null) throw new Error(`The tests on Citus cannot run: ${reason}`);
  const [cluster] = await Promise.all([startCitus(), buildAdminIfChanged()]);
  const [server, ...workers] = cluster.nodes.map(({ url }) => url);
  await createDistributed(cluster, 'template_migrated');
  for (const node of cluster.nodes) {
    await runSql(node.url, 'ALTER DATABASE template_migrated ALLOW_CONNECTIONS false');
    // Citus' own sessions, too.
    await runSql(
      node.url,
      `SELECT pg_terminate_backend(pid)
       FROM pg_stat_activity
       WHERE datname = 'template_migrated'`,
    );
  }
  project.provide('testServerUrl', server ?? '');
  project.provide('testSocketFolder', '');
  project.provide('testWorkerUrls', workers);
  return () => cluster.stop();
}

/**
 * Most databases of our customers sort texts as a language does (the official image: `en_US`), the
 * embedded Postgres and Citus of the heavy suites by their code points. What one test finds in one
 * order it must find in the other.
 */
async function makeTemplate(serverUrl: string): Promise<void> {
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query(
      "CREATE DATABASE template_migrated TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'",
    );
    await migrate(serverUrl.replace(/[^/]+$/, 'template_migrated'));
    // Postgres cannot clone a database that has sessions, so refuse them.
    await client.query('ALTER DATABASE template_migrated ALLOW_CONNECTIONS false');
  } finally {
    await client.end();
  }
}
