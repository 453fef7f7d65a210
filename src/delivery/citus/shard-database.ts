import { createHash } from 'node:crypto';
import { ofShard, type Question } from '../../db/citus/shards.ts';
import { type Db, type Tx, withFirst } from '../../db/client.ts';
import type { Database } from '../../db/connections/database.ts';
import { OffersPrisma } from '../../db/connections/prisma.ts';
import type { Shard } from '../../db/shard.ts';
import type { Statement } from '../../db/statement.ts';

/** Returns the database as seen from one shard. `node` is the database, entered by its node. */
export function atShard(node: Database, shard: Shard): Db {
  const translate = createTranslation(shard);
  // What waits for a lock here must not keep the other shards' statements waiting.
  const acting = node.forCaller({ share: shard.id, background: true });
  const query: Db['query'] = (what, values) =>
    (what.readsShard ? node : acting).query(translate(what), values);
  return {
    shard,
    prisma: node.prisma,
    ...withFirst(query),
    transaction: (work) => acting.transaction((tx) => work(inShard(tx, shard, translate))),
  };
}

/**
 * Asks a statement that reads a shard (`readsShard`) of many shards of one node, in one round trip.
 * Each row says of which shard it is.
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

type Translate = <Row>(what: Statement<Row>) => Statement<Row>;

function inShard(tx: Tx, shard: Shard, translate: Translate): Tx {
  const queries = withFirst((what, values) => tx.query(translate(what), values));
  const others: Omit<Tx, keyof typeof queries | 'prisma'> = {
    trace: tx.trace,
    wakeAfterCommit: (what) => tx.wakeAfterCommit(what),
    shard,
    send: (what, values) => tx.send(translate(what), values),
    transaction: (work) => tx.transaction(() => work(own)),
  };
  const own: Tx = Object.assign(new OffersPrisma(() => tx.prisma), queries, others);
  return own;
}

function createTranslation({ id, tables }: Shard): Translate {
  const known = new Map<Statement<unknown>, Statement<unknown>>();
  const table = new RegExp(`\\b(${Object.keys(tables).join('|')})\\b`, 'g');
  const ofTables = (what: Statement<unknown>): Statement<unknown> => {
    const text = what.text.replace(table, (plain) => tables[plain] ?? plain);
    return { ...what, name: `${what.name}.${id}`, text };
  };
  return <Row>(what: Statement<Row>) => {
    if (!what.readsShard) return ofShard(what);
    const made = known.get(what) ?? ofTables(what);
    known.set(what, made);
    return made as Statement<Row>;
  };
}
