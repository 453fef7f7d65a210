import type pg from 'pg';
import { openPool } from '../../src/db/connections/pool.ts';
import { startWatchdog } from '../../src/db/connections/watchdog.ts';
import { createTestDatabase } from './database.ts';
import { testWire } from './wire.ts';

/** A connection as the service opens it, to a database of its own. */
export interface TestConnection {
  readonly client: pg.PoolClient;
  /** Closes it and drops the database. */
  close(): Promise<void>;
}

export async function openTestConnection(statementTimeoutMs: number): Promise<TestConnection> {
  const database = await createTestDatabase();
  const watchdog = startWatchdog(5_000);
  const { pool, connect } = openPool({
    wire: testWire,
    url: database.url,
    max: 1,
    statementTimeoutMs,
    watchdog,
    onError: () => undefined,
    onLostStatement: () => undefined,
  });
  const client = await connect();
  return {
    client,
    close: async () => {
      client.release();
      watchdog.stop();
      await pool.end();
      await database.drop();
    },
  };
}
