import {
  openDatabase,
  type Database,
  type DatabaseOptions,
} from '../../src/db/connections/database.ts';

/** Longer than Postgres takes to begin a session on any machine. A process waits for 2 s. */
const CONNECT_MS = 60_000;

/** Lets a database that tests open wait for its connections, however busy the machine is. */
export function waitToConnect<T extends Pick<Database, 'pool'>>(db: T): T {
  db.pool.options.connectionTimeoutMillis = CONNECT_MS;
  return db;
}

/** Opens a database as a process does, but for the time that it waits for a connection. */
export function openTestDatabase(
  options: Omit<DatabaseOptions, 'onError'> & Partial<DatabaseOptions>,
): Database {
  return waitToConnect(openDatabase({ onError: () => undefined, ...options }));
}

/** Opens one whose statements may take long, too, as they may with many rows. */
export const openPatiently = (url: string): Database =>
  openTestDatabase({ url, poolMax: 4, statementTimeoutMs: 60_000, answerTimeoutMs: 65_000 });
