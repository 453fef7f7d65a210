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
import { type Db, type Tx, withFirst } from '../../db/client.ts';
import type { Database } from '../../db/connections/database.ts';
import type { Statement } from '../../db/statement.ts';
import { HINTS } from './shard-statements-store.ts';

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
