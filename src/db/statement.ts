import type pg from 'pg';
import type { Db } from './client.ts';
import { isStalePlan, rethrow } from './errors.ts';
import { PreparedQuery, type WireQuery } from './prepared-query.ts';
import { LARGE_BYTES, takeTurn } from './turns.ts';

/** Exists only as a type. It carries `Row`, and only `statement` can make an object that has it. */
declare const row: unique symbol;

/**
 * A statement, declared once beside the store function that runs it. The name makes it a prepared
 * statement of the wire protocol. pg keeps these per connection, and PgBouncer supports them in
 * transaction mode. `Row` is the type of a result row; timestamps are ISO text, never `Date`.
 */
export interface Statement<Row> {
  readonly name: string;
  readonly text: string;
  /**
   * True: planned at each call, with its values. For searches whose best index depends on how
   * common the values are, which the one plan of a prepared statement cannot know.
   */
  readonly isSearch: boolean;
  /** The text for a distributed database, with what `ofTeams` marks; null: the same text. */
  readonly shardText: string | null;
  /** True: on a distributed database it reads the tables of one shard, by their own names. */
  readonly readsShard: boolean;
  readonly [row]: Row;
}

/**
 * Marks where a statement over several teams names them once more, so that a distributed database
 * finds their shard. `parameter` is an array of their ids. Every table of the statement needs it.
 * On plain Postgres there is nothing at this place.
 *
 * Citus knows the shard by this text. Its other collation keeps Postgres from using it with an
 * index: without statistics it would read all rows of the teams where the plain statement looks up
 * a few by their key.
 */
export function ofTeams(column: string, parameter: string): string {
  return `{{and ${column} collate "C" = any (${parameter}::text[])}}`;
}

const MARKED = /\s*\{\{(.*?)\}\}/g;

const declared = new Map<string, Statement<unknown>>();

/**
 * Declares a statement. Call it while the module loads, so that all statements are known then.
 * Throws if the name is taken: pg would notice two texts with one name only on a connection that
 * has prepared the other text.
 */
export function statement<Row = Record<never, never>>(
  name: string,
  text: string,
  { isSearch = false, readsShard = false } = {},
): Statement<Row> {
  if (declared.has(name)) throw new Error(`the statement ${name} is declared twice`);
  const made = {
    name,
    text: text.replace(MARKED, ''),
    isSearch,
    shardText: text.includes('{{') && !readsShard ? text.replace(MARKED, ' $1') : null,
    readsShard,
  } as Statement<Row>;
  declared.set(name, made);
  return made;
}

/** Returns all statements of the loaded modules. */
export function declaredStatements(): readonly Statement<unknown>[] {
  return [...declared.values()];
}

/** The statement for one combination of filters, and the filters' values in its order. */
export interface Filtered<Row> {
  readonly list: Statement<Row>;
  readonly values: readonly unknown[];
}

/**
 * Declares one statement for each combination of filters. Returns a function that picks the
 * statement for the given filters; a filter that is undefined is not given. A single statement with
 * "or $n is null" would have one plan for all combinations, and would scan the table. `declare`
 * gets the filters of a combination in the order of `filters`.
 */
export function statementsByFilters<Name extends string, Row>(
  filters: readonly Name[],
  declare: (named: readonly Name[]) => Statement<Row>,
): (given: { readonly [name in Name]?: unknown }) => Filtered<Row> {
  const lists = Array.from({ length: 2 ** filters.length }, (_, combination) =>
    declare(filters.filter((_name, place) => combination & (2 ** place))),
  );
  return (given) => {
    const isNamed = (name: Name): boolean => given[name] !== undefined;
    const list =
      lists[filters.reduce((sum, name, place) => sum + (isNamed(name) ? 2 ** place : 0), 0)];
    if (!list) throw new Error('a combination of filters without a statement');
    return { list, values: filters.filter(isNamed).map((name) => given[name]) };
  };
}

/** Called with each statement that has ended: when it was sent, and its error. */
export type Observe = (
  statement: Pick<Statement<unknown>, 'name'>,
  sentAt: number,
  error: Error | null,
) => void;

/** A statement with its values. */
export interface Question<Row> {
  readonly what: Statement<Row>;
  readonly values: readonly unknown[];
  readonly observe: Observe;
  /** False: nobody reads its rows, so that none of them can be unreadable. */
  readonly isRead?: boolean;
}

/** What comes of a statement. */
export interface Result<Row> {
  readonly command: string;
  readonly rows: Row[];
}

/** Sends a statement: on a connection, perhaps behind the limits that this one lacks. */
export type Wire = (query: WireQuery) => void;

/** Sends the statement. Throws `unavailable` when the database cannot be reached. */
export function ask<Row>(wire: Wire, question: Question<Row>): Promise<Row[]> {
  return sendBy(wire, toQuery(question)).then(({ rows }) => rows);
}

/** A statement to send, and what will come of it. */
export interface Sendable<T> {
  readonly query: WireQuery;
  readonly result: Promise<T>;
}

/** Sends what can be sent once. */
export function sendBy<T>(wire: Wire, { query, result }: Sendable<T>): Promise<T> {
  wire(query);
  return result;
}

/**
 * How often the plan of a statement has become stale, by its name: a migration has changed the type
 * of a column. Under another text it is planned anew on all connections of the process, behind a
 * pooler, too, which knows statements by their texts.
 */
const revisions = new Map<string, number>();

function current({ name, text, isSearch }: Statement<unknown>) {
  if (isSearch) return { name: undefined, text };
  const revision = revisions.get(name);
  if (revision === undefined) return { name, text };
  return { name: `${name}#${revision}`, text: `/* ${revision} */ ${text}` };
}

/**
 * Makes what sends the statement, and its result, as `ask` says. Throws if a value cannot be sent.
 * Uses a callback: pg's own promise keeps the rows alive until the next full garbage collection.
 */
export function toQuery<Row>(question: Question<Row>): Sendable<Result<Row>> {
  const { what, values, observe, isRead } = question;
  const { promise, resolve, reject } = Promise.withResolvers<Result<Row>>();
  const revision = revisions.get(what.name) ?? 0;
  const onEnd = (error: Error | null, result: pg.QueryResult): void => {
    observe(what, query.sentAt, error);
    if (isStalePlan(error)) revisions.set(what.name, revision + 1);
    if (error) reject(error);
    else if (query.bytes > LARGE_BYTES) takeTurn(() => resolve(result as Result<Row>));
    else resolve(result as Result<Row>);
  };
  const query = new PreparedQuery(current(what), values, onEnd, isRead);
  return { query, result: promise.catch(rethrow) };
}

/** Both ways to ask by statements: for all rows, and for the first one. */
export function withFirst(query: Db['query']): Pick<Db, 'query' | 'queryFirst'> {
  return { query, queryFirst: async (what, values) => (await query(what, values))[0] ?? null };
}
