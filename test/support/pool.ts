import { Pool } from 'pg';
import { bySocket } from './database.ts';

/**
 * Opens a pool that survives the loss of its connections. All of them may get lost: `pool.end`
 * resolves before they are closed, and then the database is dropped, which ends them with an error.
 */
export function openSturdyPool(databaseUrl: string, max: number): Pool {
  const pool = new Pool({ connectionString: bySocket(databaseUrl), max });
  const ignore = (): void => undefined;
  pool.on('error', ignore);
  pool.on('connect', (client) => client.on('error', ignore));
  return pool;
}
