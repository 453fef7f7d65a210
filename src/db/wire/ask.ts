import type pg from 'pg';
import { isStalePlan, rethrow } from '../errors.ts';
import { statement, type Statement } from '../statement.ts';
import { LARGE_BYTES, takeTurn } from './turns.ts';
import type { Outgoing, Sender, Wire } from './wire.ts';

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

/** The result of a statement. */
export interface Result<Row> {
  readonly command: string;
  readonly rows: Row[];
}

// Without bitmap scans, whose rows have to be sorted. It holds for the statement behind it.
const IN_ORDER = statement('search.inOrder', `select set_config('enable_bitmapscan', 'off', true)`);

// Partitions could also be read one after the other, and sorted.
const MERGED = statement(
  'search.merged',
  `select set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)`,
);

/** Sends the statement. Throws `unavailable` when the database cannot be reached. */
export function ask<Row>(sender: Sender, question: Question<Row>): Promise<Row[]> {
  const { wire } = sender;
  const { inOrder, isMerged } = question.what;
  const settings = inOrder
    ? [wire.prepare(isMerged ? MERGED : IN_ORDER, [], () => undefined, false)]
    : [];
  return sendBy(sender, toQuery(wire, question), settings).then(({ rows }) => rows);
}

/** A statement to send, and its future result. */
export interface Sendable<T> {
  readonly query: Outgoing;
  readonly result: Promise<T>;
}

/** Sends it behind the settings that hold for it alone. Call it once. */
export function sendBy<T>(
  sender: Sender,
  { query, result }: Sendable<T>,
  settings: readonly Outgoing[] = [],
): Promise<T> {
  sender.send(query, settings);
  return result;
}

/**
 * Name of a statement → how often its plan has become stale, because a migration changed the type
 * of a column. The number becomes a part of its name and text, so that it is planned anew on all
 * connections; poolers recognize statements by their texts.
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
export function toQuery<Row>(wire: Wire, question: Question<Row>): Sendable<Result<Row>> {
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
  const query = wire.prepare(current(what), values, onEnd, isRead);
  return { query, result: promise.catch(rethrow) };
}
