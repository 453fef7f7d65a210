/**
 * Has tables analyzed that a burst of events fills. A session keeps the plans of its statements
 * until then, and those made for a few rows read whole tables: each result of 20,000 deliveries
 * would be compared with all of them. Autovacuum looks once a minute.
 */
import { statement, type Db } from '../db/client.ts';

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
