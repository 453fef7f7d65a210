// One Postgres for a run of the tests, in a temporary folder, with a migrated database for the test files to clone.
import { spawn } from 'node:child_process';
import { chmod, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbedded, type EmbeddedPostgres } from '../src/db/embedded.ts';
import { migrate } from '../src/db/migrate.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Of the run's server, as its superuser; see support/database.ts. */
    testServerUrl: string;
  }
}

/** Nothing here outlives the run, so nothing is worth a write to the disk. */
const settings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_connections: '300',
  shared_buffers: '64MB',
  autovacuum_naptime: '10min',
};

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'customer-api-test-'));
  // mkdtemp keeps others out, and the server is another user where the tests run as root.
  await chmod(dataDir, 0o755);
  const postgres = await startEmbedded({ dataDir, settings });
  const release = removeWhenWeAreGone(dataDir, postgres);
  await makeTemplate(postgres.databaseUrl);
  project.provide('testServerUrl', postgres.databaseUrl);
  return async () => {
    await postgres.stop();
    await release();
  };
}

/**
 * A shell that waits for the end of its standard input, which comes with the end of this process, however it ends:
 * neither Ctrl-C nor `kill -9` then leaves a server or a folder behind.
 */
function removeWhenWeAreGone(dataDir: string, postgres: EmbeddedPostgres): () => Promise<void> {
  const script =
    'cat >/dev/null; kill -QUIT "$1" 2>/dev/null; sleep 0.2; rm -rf "$2" || { sleep 2; rm -rf "$2"; }';
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

async function makeTemplate(serverUrl: string): Promise<void> {
  const client = new Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await client.query('CREATE DATABASE template_migrated');
    await migrate(serverUrl.replace(/[^/]+$/, 'template_migrated'));
    // A database with a session cannot be cloned, so nobody may open one.
    await client.query('ALTER DATABASE template_migrated ALLOW_CONNECTIONS false');
  } finally {
    await client.end();
  }
}
