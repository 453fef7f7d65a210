/**
 * The database as a shard's loop sees it, so that the delivery loop need not know of shards:
 *
 *  * What it looks for, it reads in the shard's own tables, at their node. That is only a hint:
 *    nothing is written there.
 *  * What it does, it does through Citus, which enters by the same node. The teams lead every table
 *    of the statement to the one shard: those of the rows that the statement is given, or those
 *    that a hint finds (`HINTS`).
 */
import { createHash } from 'node:crypto';
import { bindTeams, withStatements, type Question } from '../../db/citus/bound-statements.ts';
import type { Shard } from '../../db/citus/shards.ts';
import { statement, type Db, type Statement, type Tx, withFirst } from '../../db/client.ts';
import type { Database } from '../../db/connections/database.ts';
import { CLAIMS, FORGET_EVENTS, IS_FORGOTTEN, RELEASE_CLAIMS } from '../claim-store.ts';
import { IN_ORDER, TAKE_EVENTS } from '../fan-out-store.ts';
import { IS_UNPLACED, TAKE_UNPLACED } from '../beside-store.ts';
import { WAITING } from '../waiting-store.ts';

/**
 * Returns the database as seen from one shard. `node` is the database, entered by its node.
 * `isBeside`: what it reads is slow, and keeps no other statement waiting.
 */
export function atShard(node: Database, shard: Shard, { isBeside = false } = {}): Db {
  const toOwnTables = createTranslation(shard);
  // What waits for a lock here must not keep the other shards' statements waiting.
  const acting = node.forCaller({ share: shard.id, background: true });
  const reading = isBeside ? acting : node;
  const read: Db['query'] = (what, values) => reading.query(toOwnTables(what), values);
  const actBy =
    (query: Db['query']): Db['query'] =>
    async (what, values) => {
      const hint = HINTS.get(what);
      const teams = hint ? (await read(hint, values)).map((row) => row.team_id) : null;
      if (teams?.length === 0) return [];
      const bound = bindTeams({ what, values }, teams);
      return query(bound.what, bound.values);
    };
  const act = actBy((what, values) => acting.query(what, values));
  const inShard = (tx: Tx): Tx =>
    withStatements(tx, {
      query: actBy((what, values) => tx.query(what, values)),
      send: (what, values) => {
        const bound = bindTeams({ what, values }, null);
        tx.send(bound.what, bound.values);
      },
    });
  return {
    prisma: node.prisma,
    ...withFirst((what, values) => (onlyReads(what) ? read : act)(what, values)),
    transaction: (work) => acting.transaction((tx) => work(inShard(tx))),
  };
}

const CHANGES = /\b(?:insert|update|delete|share)\b/i;

/** Whether the statement neither writes nor locks rows. */
function onlyReads({ text }: Statement<unknown>): boolean {
  return !CHANGES.test(text);
}

/**
 * Asks a statement that only reads of many shards of one node, in one round trip. Each row says of
 * which shard it is.
 */
export function askShards<Row>(
  node: Database,
  shards: readonly Shard[],
  { what, values }: Question<Row>,
): Promise<(Row & { readonly shard: string })[]> {
  const parts = shards.map(
    (shard) =>
      `select '${shard.id}' as shard, own.* from (${createTranslation(shard)(what).text}) own`,
  );
  const text = parts.join('\nunion all\n');
  const name = `${what.name}.${createHash('sha256').update(text).digest('base64url').slice(0, 12)}`;
  const asked = { ...what, name, text } as unknown as Statement<Row & { readonly shard: string }>;
  return node.query(asked, values);
}

/** Translates statements to the names of the shard's own tables. */
function createTranslation({ id, tables }: Shard): <Row>(what: Statement<Row>) => Statement<Row> {
  const known = new Map<Statement<unknown>, Statement<unknown>>();
  const table = new RegExp(`\\b(${Object.keys(tables).join('|')})\\b`, 'g');
  return <Row>(what: Statement<Row>) => {
    const text = what.text.replace(table, (plain) => tables[plain] ?? plain);
    const made = known.get(what) ?? { ...what, name: `${what.name}.${id}`, text };
    known.set(what, made);
    return made as Statement<Row>;
  };
}

interface TeamRow {
  readonly team_id: string;
}

const FIND_CLAIMS = statement<TeamRow>(
  'webhooks.findTeamsOfClaims',
  `select distinct team_id
   from webhook_delivery
   where ctid = any (array(${CLAIMS}))
     and ${IS_FORGOTTEN}`,
);

const FIND_EVENTS = statement<TeamRow>(
  'webhooks.findTeamsOfEvents',
  `select distinct team_id
   from event_in_hand
   where worker = any ($1::int[])`,
);

/** A statement that acts on any team → what finds these teams in the shard, by the same values. */
const HINTS: ReadonlyMap<Statement<unknown>, Statement<TeamRow>> = new Map<
  Statement<unknown>,
  Statement<TeamRow>
>([
  [RELEASE_CLAIMS, FIND_CLAIMS],
  [FORGET_EVENTS, FIND_EVENTS],
  [
    TAKE_EVENTS,
    statement<TeamRow>(
      'webhooks.findTeamsOfWaitingEvents',
      `select distinct team_id
       from (${IN_ORDER}
        limit $1
       ) picked`,
    ),
  ],
  [
    TAKE_UNPLACED,
    statement<TeamRow>(
      'places.findTeams',
      `select distinct team_id
       from (
         select team_id
         from event
         where ${IS_UNPLACED} and team_id <> all ($2::text[])
         order by created_at
         limit $1
       ) unplaced`,
    ),
  ],
]);

/** What there is to do in a shard. */
interface ShardWork {
  /** Events without deliveries, or requested attempts. */
  readonly has_new: boolean;
  /** Due deliveries, claimed ones, whose workers may have died, or events without a place. */
  readonly has_more: boolean;
}

export const FIND_WORK = statement<ShardWork>(
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
