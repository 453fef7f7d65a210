/** What a loop asks beside its rounds. */
import { statement, type Db, type Tx } from '../db/client.ts';
import { columnsOf } from './result-store.ts';

/** An event without a place. */
export interface UnplacedEvent {
  readonly team_id: string;
  readonly id: string;
  /** Whether this transaction gives places to the team's events; if not, another one does. */
  readonly is_own: boolean;
}

/** SQL: the index of these events holds no others. Who inserts an event does not write it. */
export const IS_UNPLACED = 'place is null and fanned_out_at is not null';

/** The first number of the advisory locks; the second one is made from the team. */
export const PLACES_LOCK_CLASS = 0x706c63;

/** Whether an event waits for its place. */
export const hasUnplaced = statement<object>(
  'places.hasUnplaced',
  `select
   from event
   where ${IS_UNPLACED}
   limit 1`,
).matches<[db: Db]>();

// The lock is taken where the rows are, so it also holds while a shard of Citus moves.
export const TAKE_UNPLACED = statement<UnplacedEvent>(
  'places.take',
  `select e.team_id, e.id,
     pg_try_advisory_xact_lock(${PLACES_LOCK_CLASS}, hashtext(e.team_id)) as is_own
   from (
     select team_id, id, created_at
     from event
     where ${IS_UNPLACED} and team_id <> all ($2::text[])
     order by created_at
     limit $1
     for no key update skip locked
   ) e
   order by e.created_at, e.id`,
);

/**
 * Takes the oldest events without a place, but none of `others`, and the lock of each of their
 * teams, until the transaction ends. Waits for nobody.
 */
export function takeUnplaced(
  tx: Tx,
  limit: number,
  others: readonly string[],
): Promise<UnplacedEvent[]> {
  return tx.query(TAKE_UNPLACED, [limit, others]);
}

const GIVE = statement(
  'places.give',
  `update event e
   set place = greatest(last.place, (extract(epoch from now()) * 1000000)::bigint) + n.number
   from unnest($1::text[], $2::text[], $3::int[]) as n (team_id, id, number)
   cross join lateral (
     select coalesce(max(place), 0) as place
     from event
     where team_id = n.team_id and place is not null
   ) last
   where e.team_id = n.team_id and e.id = n.id`,
);

/** An event and its number among those of its team that get a place now, from 1 on. */
export interface NumberedEvent {
  readonly teamId: string;
  readonly id: string;
  readonly number: number;
}

/**
 * Gives each event the place behind the last one of its team. Needs the transaction that took them,
 * and their teams' locks. This is a statement of its own because it must see what was committed
 * before the lock was taken.
 */
export function givePlaces(tx: Tx, events: readonly NumberedEvent[]): void {
  tx.send(GIVE, columnsOf(events, ['teamId', 'id', 'number']));
}

const FIND_OLDEST = statement<{ readonly created_at: string }>(
  'webhooks.findOldestEvent',
  `select created_at
   from event
   where fanned_out_at is null
   order by created_at
   limit 1`,
);

/** When the oldest event that waits for its fan-out was created; null: none waits. */
export async function findOldestWaiting(db: Db): Promise<Date | null> {
  const oldest = await db.queryFirst(FIND_OLDEST, []);
  return oldest && new Date(oldest.created_at);
}

// Tables are analyzed that a burst of events fills. A session keeps the plans of its statements
// until then, and those made for a few rows read whole tables: each result of 20,000 deliveries
// would be compared with all of them. Autovacuum looks once a minute.

/** All that grow with the deliveries. Only one worker analyzes a table, and nobody waits for it. */
const ANALYZE = {
  event: statement('webhooks.analyzeEvents', 'analyze (skip_locked) event'),
  event_in_hand: statement('webhooks.analyzeInHand', 'analyze (skip_locked) event_in_hand'),
  webhook_delivery: statement(
    'webhooks.analyzeDeliveries',
    'analyze (skip_locked) webhook_delivery',
  ),
};

/** Pages. Smaller tables are read as fast as by an index, and plans for larger ones use indexes. */
const PAGES = { least: 16, most: 128 };
/** A plan is good for a table that is so many times as large. */
const GROWTH = 4;

// `relpages` is the size at the last time. Only its owner may analyze a table.
const FIND_GROWN = statement<{ readonly name: keyof typeof ANALYZE }>(
  'webhooks.findGrownTables',
  `select relname as name
   from pg_class
   where oid = any ('{${Object.keys(ANALYZE).join(', ')}}'::regclass[])
     and relpages < ${PAGES.most}
     and pg_relation_size(oid) / current_setting('block_size')::int
       >= greatest(${PAGES.least}, relpages * ${GROWTH})
     and pg_has_role(relowner, 'usage')`,
);

/**
 * Analyzes the tables that have grown fourfold; one takes up to 100 ms.
 */
export async function analyzeGrown(db: Db): Promise<void> {
  for (const { name } of await db.query(FIND_GROWN, [])) await db.query(ANALYZE[name], []);
}
