import { isStalePlan, rethrow } from '../errors.ts';
import { statement, type Statement } from '../statement.ts';
import { Outgoing, type Named, type Result } from './outgoing.ts';
import type { Sender } from './query-group.ts';
import { LARGE_BYTES, takeTurn } from './turns.ts';

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

// Without bitmap scans, whose rows have to be sorted. It holds for the statement behind it.
const IN_ORDER = statement('search.inOrder', `select set_config('enable_bitmapscan', 'off', true)`);

// Partitions could also be read one after the other, and sorted.
const MERGED = statement(
  'search.merged',
  `select set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)`,
);

/** Sends the statement. Throws `unavailable` when the database cannot be reached. */
export async function ask<Row>(send: Sender, question: Question<Row>): Promise<Row[]> {
  const { inOrder, isMerged } = question.what;
  const settings = inOrder ? [toUnread(isMerged ? MERGED : IN_ORDER, [])] : [];
  const { query, result } = toQuery(question);
  send(query, settings);
  return (await result).rows;
}

/** Makes a statement whose result nobody reads. If it fails, so does what comes behind it. */
export function toUnread(what: Statement<unknown>, values: readonly unknown[]): Outgoing {
  return new Outgoing(what, values, () => undefined, { isRead: false });
}

/** A statement to send, and its future result. */
export interface Sendable<T> {
  readonly query: Outgoing;
  readonly result: Promise<T>;
}

/**
 * Name of a statement → how often its plan has become stale, because a migration changed the type
 * of a column. The number becomes a part of its name and text, so that it is planned anew on all
 * connections; poolers recognize statements by their texts.
 */
const revisions = new Map<string, number>();

function current({ name, text, isSearch }: Statement<unknown>): Named {
  if (isSearch) return { text };
  const revision = revisions.get(name);
  if (revision === undefined) return { name, text };
  return { name: `${name}#${revision}`, text: `/* ${revision} */ ${text}` };
}

/**
 * Makes what sends the statement, and its result, as `ask` says. Throws if a value cannot be sent.
 */
export function toQuery<Row>(question: Question<Row>): Sendable<Result<Row>> {
  const { what, values, observe, isRead = true } = question;
  const { promise, resolve, reject } = Promise.withResolvers<Result<Row>>();
  const revision = revisions.get(what.name) ?? 0;
  const onEnd = (outcome: Result | Error): void => {
    const error = outcome instanceof Error ? outcome : null;
    observe(what, query.sentAt, error);
    if (isStalePlan(error)) revisions.set(what.name, revision + 1);
    if (outcome instanceof Error) reject(outcome);
    else if (query.bytes > LARGE_BYTES) takeTurn(() => resolve(outcome as Result<Row>));
    else resolve(outcome as Result<Row>);
  };
  const query = new Outgoing(current(what), values, onEnd, { isRead });
  return { query, result: promise.catch(rethrow) };
}
