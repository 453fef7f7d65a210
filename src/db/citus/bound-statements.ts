/** Statements as they are for some teams of one shard. */
import { withFirst, type Db, type Tx } from '../client.ts';
import { OffersPrisma } from '../offers-prisma.ts';
import type { Statement } from '../statement.ts';
import { toShardText, type ShardText } from './shard-text.ts';

/** A statement and its values. */
export interface Question<Row> {
  readonly what: Statement<Row>;
  readonly values: readonly unknown[];
}

interface Bound {
  readonly what: Statement<unknown>;
  readonly columns: ShardText['columns'];
}

const made = new Map<Statement<unknown>, Bound | null>();

/** null: the statement is the same everywhere. */
function boundOf(what: Statement<unknown>): Bound | null {
  const known = made.get(what);
  if (known !== undefined) return known;
  const shardText = toShardText(what.text);
  const bound = shardText && {
    what: { ...what, name: `${what.name}.shard`, text: shardText.text },
    columns: shardText.columns,
  };
  made.set(what, bound);
  return bound;
}

/** The parameters of the rows of teams that the statement is given; null without any. */
export function columnsOfRows(what: Statement<unknown>): ShardText['columns'] {
  return boundOf(what)?.columns ?? null;
}

/**
 * Limits a statement to the teams of the rows that it is given, or else to `teams`. One for a
 * single team stays as it is.
 */
export function bindTeams<Row>(
  { what, values }: Question<Row>,
  teams: readonly string[] | null,
): Question<Row> {
  const bound = boundOf(what);
  if (!bound) return { what, values };
  const bare = bound.what as Statement<Row>;
  if (bound.columns) return { what: bare, values };
  if (!teams) throw new Error(`nothing says whose rows ${what.name} is about`);
  return { what: bare, values: [...values, teams] };
}

/** The transaction with other ways to ask. */
export function withStatements(
  tx: Tx,
  { query, send }: { readonly query: Db['query']; readonly send: Tx['send'] },
): Tx {
  const queries = withFirst(query);
  const others: Omit<Tx, keyof typeof queries | 'prisma'> = {
    trace: tx.trace,
    afterCommit: (work) => tx.afterCommit(work),
    send,
    transaction: (work) => tx.transaction(() => work(own)),
  };
  const own: Tx = Object.assign(new OffersPrisma(() => tx.prisma), queries, others);
  return own;
}
