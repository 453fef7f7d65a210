/** Which shards of a node have something to do for the delivery loop, in one round trip. */
import type { Shard } from '../../db/citus/shards.ts';
import { statement } from '../../db/client.ts';
import type { Database } from '../../db/connections/database.ts';
import { IS_UNPLACED } from '../places-store.ts';
import { askShards } from './shard-database.ts';
import { WAITING } from '../waiting-store.ts';

/** What there is to do in a shard. */
export interface ShardWork {
  readonly shard: string;
  /** Events without deliveries, or requested attempts. */
  readonly has_new: boolean;
  /** Due deliveries, claimed ones, whose workers may have died, or events without a place. */
  readonly has_more: boolean;
}

const FIND = statement<Omit<ShardWork, 'shard'>>(
  'webhooks.findWork',
  `select
     exists (
       select
       from event
       where fanned_out_at is null
     ) or exists (
       select
       from webhook_delivery
       where ${WAITING.requested.isWaiting}
     ) as has_new,
     exists (
       select
       from webhook_delivery
       where held_by is not null
     ) or exists (
       select
       from event_in_hand
     ) or exists (
       select
       from event
       where ${IS_UNPLACED}
     ) or exists (
       select
       from webhook_delivery
       where ${WAITING.pending.isWaiting}
     ) or exists (
       select
       from webhook_delivery
       where ${WAITING.retrying.isWaiting} and due_at <= $1::timestamptz
     ) as has_more`,
);

/** Looks into the shards of one node. */
export function findWork(
  node: Database,
  shards: readonly Shard[],
  now: Date,
): Promise<ShardWork[]> {
  return askShards(node, shards, { what: FIND, values: [now] });
}
