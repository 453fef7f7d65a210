import type { Logger } from 'pino';
import { openDatabase, type Database, type DatabaseOptions } from '../db/connections/database.ts';
import type { Config } from './config.ts';

/**
 * Opens the database of a process, and logs what becomes of its connections and statements.
 * `observers` are those of its metrics.
 */
export function openDatabaseOf(
  config: Config,
  logger: Logger,
  observers: Pick<DatabaseOptions, 'observeRefusal' | 'observeWait'> = {},
): Database {
  return openDatabase({
    url: config.databaseUrl,
    poolMax: config.databasePoolMax,
    onError: (error) => logger.warn({ err: error }, 'an idle database connection broke'),
    onSlow: (slow) => logger.warn(slow, 'a slow statement'),
    ...observers,
  });
}
