import { isDistributed } from '../../db/citus/shards.ts';
import type { Database } from '../../db/connections/database.ts';
import { holdSessionLock, newLockNumber } from '../../db/connections/session-lock.ts';
import { urlOfNode, type Host } from '../../db/database-url.ts';
import { WORKER_LOCK_CLASS } from '../claim-store.ts';
import { startDispatcher } from '../dispatcher.ts';
import type { DispatcherOptions } from '../loop.ts';
import { startShardLoops, type NodeConnections, type ShardLoops } from './shard-loops.ts';

/** The delivery loops of one worker: one, or one for each shard of a distributed database. */
export type Loops = ShardLoops;

/** What a worker's loops need. The caller closes the database and the sender after `stop`. */
export interface LoopsOptions extends Omit<DispatcherOptions, 'db' | 'beside' | 'lock'> {
  readonly databaseUrl: string;
  readonly db: Database;
  /** Opens the database by a node of its own. */
  readonly openNode: (databaseUrl: string) => Database;
}

/**
 * Starts the loops that the database needs, with locks that show other workers that this one is
 * alive.
 */
export async function startLoops(options: LoopsOptions): Promise<Loops> {
  return (await isDistributed(options.db)) ? startAtShards(options) : startAtDatabase(options);
}

async function startAtDatabase(options: LoopsOptions): Promise<Loops> {
  const lock = await holdSessionLock(options.databaseUrl, WORKER_LOCK_CLASS);
  const beside = options.db.forCaller({ share: 'beside the rounds', background: true });
  const dispatcher = startDispatcher({ ...options, beside, lock });
  const stop = async (): Promise<void> => {
    await dispatcher.stop();
    await lock.close();
  };
  return { ...dispatcher, stop, databases: () => [] };
}

function startAtShards(options: LoopsOptions): Promise<Loops> {
  const number = newLockNumber();
  const openNode = async (host: Host): Promise<NodeConnections> => {
    const url = urlOfNode(options.databaseUrl, host);
    const db = options.openNode(url);
    const lock = await holdSessionLock(url, WORKER_LOCK_CLASS, number);
    const close = async (): Promise<void> => {
      await lock.close();
      await db.close();
    };
    return { db, lock, close };
  };
  return startShardLoops({ ...options, coordinator: options.db, openNode });
}
