import { randomBytes } from 'node:crypto';
import { Client, Pool } from 'pg';
import { inject } from 'vitest';

/** A database that one test file, or one test, has to itself. */
export interface TestDatabase {
  url: string;
  /** Ends all sessions that are left and drops the database. */
  drop(): Promise<void>;
}

/** Whether the tests run on a Citus cluster (`npm run test:citus`). */
export const isOnCitus = (): boolean => inject('testWorkerUrls').length > 0;

/**
 * The same database by the server's Unix socket, if it is one of the run's server. To send a
 * statement and to be woken by its answer takes a third of the processor time that it takes by TCP.
 */
export function bySocket(url: string): string {
  const folder = inject('testSocketFolder');
  const { host } = new URL(inject('testServerUrl'));
  if (folder === '') return url;
  return url.replace(`@${host}/`, `@${encodeURIComponent(folder)}:${host.replace(/^.*:/, '')}/`);
}

/**
 * Clones the migrated template in about 20 ms. Copying files is faster than Postgres's default
 * here, because the test server does not sync writes to disk.
 */
export async function createTestDatabase(): Promise<TestDatabase> {
  return cloneOf('template_migrated');
}

/** Clones a database that nobody is connected to, as fast as {@link createTestDatabase} does. */
export function cloneDatabase({ url }: Pick<TestDatabase, 'url'>): Promise<TestDatabase> {
  return cloneOf(new URL(url).pathname.slice(1));
}

function cloneOf(template: string): Promise<TestDatabase> {
  return createDatabase(`TEMPLATE ${template} STRATEGY FILE_COPY`, inject('testWorkerUrls'));
}

const OBJECT_IN_USE = '55006';

/** Creates an empty database, for tests of the migrations themselves. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return createDatabase('TEMPLATE template0 STRATEGY FILE_COPY');
}

/** An empty database with a client that is connected to it. `drop` ends the client, too. */
export interface OpenDatabase extends TestDatabase {
  readonly client: Client;
}

/** Creates an empty database and connects to it. */
export async function openEmptyDatabase(): Promise<OpenDatabase> {
  const database = await createEmptyDatabase();
  const client = new Client({ connectionString: database.url });
  await client.connect();
  return {
    url: database.url,
    client,
    drop: async () => {
      await client.end();
      await database.drop();
    },
  };
}

/** Creates a database, as the clause of `CREATE DATABASE` says. */
export async function createDatabase(
  template: string,
  workers: readonly string[] = [],
): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`;
  const servers = [inject('testServerUrl'), ...workers];
  const runOnAll = async (statement: string): Promise<void> => {
    await Promise.all(servers.map((server) => runOnServer(server, statement)));
  };
  await runOnAll(`CREATE DATABASE ${name} ${template}`);
  return {
    url: inject('testServerUrl').replace(/[^/]+$/, name),
    drop: async () => {
      await Promise.all(servers.map((server) => dropDatabase(server, name)));
    },
  };
}

/** On Citus, other nodes may connect while the sessions are being ended. Then it tries again. */
async function dropDatabase(server: string, name: string): Promise<void> {
  try {
    await runOnServer(server, `DROP DATABASE ${name} WITH (FORCE)`);
  } catch (error) {
    if ((error as { code?: string }).code !== OBJECT_IN_USE) throw error;
    await dropDatabase(server, name);
  }
}

/**
 * The process's connections to each server. They are kept, because to connect costs as much as to
 * clone a database. They do not keep the process from ending.
 */
const pools = new Map<string, Pool>();

async function runOnServer(server: string, statement: string): Promise<void> {
  const pool = pools.get(server) ?? openPool(server);
  pools.set(server, pool);
  await pool.query(statement);
}

function openPool(connectionString: string): Pool {
  const pool = new Pool({
    connectionString: bySocket(connectionString),
    max: 4,
    allowExitOnIdle: true,
  });
  // It replaces a connection that breaks.
  pool.on('error', () => undefined);
  return pool;
}
