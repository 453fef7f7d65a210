// The database as the delivery loop of a team uses it.
import { isDistributed, listShards } from '../../src/db/citus/shards.ts';
import type { Db } from '../../src/db/client.ts';
import { urlOfNode } from '../../src/db/database-url.ts';
import { atShard } from '../../src/delivery/citus/shard-store.ts';
import { openPatiently } from './wire.ts';

/** What a loop asks. Close it. */
export interface LoopDatabase {
  /** Where the loop enters. */
  readonly url: string;
  readonly db: Db;
  /** Whether the loop has only the teams of one shard. */
  readonly isShard: boolean;
  close(): Promise<void>;
}

/** Opens the database; on Citus the shard with the team's rows, by the node where it is. */
export async function openLoopDatabase(url: string, teamId: string): Promise<LoopDatabase> {
  const whole = openPatiently(url);
  if (!(await isDistributed(whole))) {
    return { url, db: whole, isShard: false, close: () => whole.close() };
  }
  const shards = await listShards(whole);
  const { rows } = await whole.pool.query<{ id: string }>(
    `select get_shard_id_for_distribution_column('webhook_delivery', $1::text)::text as id`,
    [teamId],
  );
  await whole.close();
  const shard = shards.find(({ id }) => id === rows[0]?.id);
  if (!shard) throw new Error(`${teamId} is in no shard`);
  const nodeUrl = urlOfNode(url, shard.node);
  const node = openPatiently(nodeUrl);
  return { url: nodeUrl, db: atShard(node, shard), isShard: true, close: () => node.close() };
}
