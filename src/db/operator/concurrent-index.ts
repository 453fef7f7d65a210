/**
 * A migration that builds an index while rows are written. `CREATE INDEX` keeps every writer of the
 * table waiting until it is done, which takes minutes for ten million rows. With `CONCURRENTLY` it
 * keeps nobody waiting, but it cannot be part of a transaction: it is alone in its file, and the
 * ledger is written after it. A run that dies leaves an index that is not valid, or a valid one
 * that the ledger lacks. The next run mends both.
 */
import type { ClientBase } from 'pg';

/** A statement that builds an index beside its writers. */
export interface ConcurrentIndex {
  readonly name: string;
  readonly statement: string;
}

const LEADING_COMMENTS = /^(?:\s|--[^\n]*\n|\/\*[^]*?\*\/)*/;
const CREATES = /^create\s+(?:unique\s+)?index\s+concurrently\s+"(\w+)"\s/i;

/** Returns the index of a file that does nothing else; null for any other file. */
export function concurrentIndexOf(statements: readonly string[]): ConcurrentIndex | null {
  const [statement = '', ...others] = statements;
  const [, name] = CREATES.exec(statement.replace(LEADING_COMMENTS, '')) ?? [];
  return name === undefined || others.length > 0 ? null : { name, statement };
}

/** Builds the index outside a transaction, unless a run before has done it. */
export async function buildIndex(
  client: ClientBase,
  { name, statement }: ConcurrentIndex,
): Promise<void> {
  const { rows } = await client.query<{ is_valid: boolean }>(
    'SELECT indisvalid AS is_valid FROM pg_index WHERE indexrelid = to_regclass($1)',
    [`"${name}"`],
  );
  const [found] = rows;
  if (found?.is_valid) return;
  if (found) await client.query(`DROP INDEX CONCURRENTLY "${name}"`);
  await client.query(statement);
}
