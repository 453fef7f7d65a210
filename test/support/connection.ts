import type pg from 'pg';
import { openPool } from '../../src/db/connections/pool.ts';
import { startWatchdog } from '../../src/db/connections/watchdog.ts';
import { createTestDatabase } from './database.ts';
import { startPostgresProxy } from './postgres-proxy.ts';
import { waitToConnect } from './wire.ts';

/** A connection as the service opens it, to a database of its own. */
export interface TestConnection {
  readonly client: pg.PoolClient;
  /** Closes it and drops the database. */
  close(): Promise<void>;
}

/** `isPooled`: a pooler seems to stand before the database. */
export async function openTestConnection(
  statementTimeoutMs: number,
  { isPooled = false }: { readonly isPooled?: boolean } = {},
): Promise<TestConnection> {
  const database = await createTestDatabase();
  const proxy = isPooled ? await startPostgresProxy(database.url, { isPooler: true }) : null;
  const watchdog = startWatchdog(5_000);
  const opened = openPool({
    url: proxy?.url ?? database.url,
    max: 1,
    statementTimeoutMs,
    watchdog,
    onError: () => undefined,
    onLostStatement: () => undefined,
  });
  const { pool, connect } = waitToConnect(opened);
  const client = await connect();
  return {
    client,
    close: async () => {
      client.release();
      watchdog.stop();
      await pool.end();
      await proxy?.stop();
      await database.drop();
    },
  };
}
