import { expect } from 'vitest';
import { fastWire } from '../../src/db/wire/fast-wire.ts';
import { plainWire } from '../../src/db/wire/plain-wire.ts';
import {
  openDatabase,
  type Database,
  type DatabaseOptions,
} from '../../src/db/connections/database.ts';
import type { Wire, WireMode } from '../../src/db/wire/wire.ts';

/**
 * How the databases that tests open send their statements. `npm run test:plain` chooses the plain
 * wire; processes that tests start have the fast one in any case.
 */
export const TEST_WIRE: WireMode = process.env['PLAIN_WIRE'] === '1' ? 'plain' : 'fast';

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
  return waitToConnect(openDatabase({ wire: TEST_WIRE, onError: () => undefined, ...options }));
}

/** Opens one whose statements may take long, too, as they may with many rows. */
export const openPatiently = (url: string): Database =>
  openTestDatabase({ url, poolMax: 4, statementTimeoutMs: 60_000, answerTimeoutMs: 65_000 });

/** The wire itself, for tests of what is sent on one connection. */
export const testWire: Wire = TEST_WIRE === 'plain' ? plainWire : fastWire;

/** Runs a test of what only the fast wire does: `test.runIf(IS_FAST)`. Say why beside it. */
export const IS_FAST = TEST_WIRE === 'fast';

/** What the fast wire is expected to count; of the plain one any number is right. */
export function onFast(count: number): unknown {
  return IS_FAST ? count : expect.any(Number);
}
