import type { ClientBase } from 'pg';
import type { SeedRows } from './seed-rows.ts';

const BATCH_ROWS = 5_000;
/** Below this, even a plan that reads all rows each time costs nothing. */
const ANALYZE_FROM_ROWS = 100;
/** A row may hold 128 KiB of free-form JSON, so the size of a batch is limited too. */
const BATCH_CHARACTERS = 4_000_000;

/**
 * Inserts rows in batches of thousands and returns their number. All rows must have the same
 * columns as the first one. One statement is in flight while the next batch is made. So Postgres
 * and Node work at the same time, and memory stays bounded. `onConflict` is an SQL clause or empty.
 *
 * Rows are sent as JSON. One array parameter for each column was measured to be equally fast, but
 * needs a list of column types.
 */
export async function insertRows<Table extends keyof SeedRows>(
  client: ClientBase,
  table: Table,
  rows: Iterable<SeedRows[Table]>,
  onConflict = '',
): Promise<number> {
  let sent: Promise<unknown> = Promise.resolve();
  let batch: string[] = [];
  let characters = 0;
  let total = 0;
  let text = '';
  const flush = async (): Promise<void> => {
    await sent;
    sent = client.query({ text, values: [`[${batch.join(',')}]`] });
    // The rejection is handled before the next statement. Until then it must not count as
    // unhandled.
    sent.catch(() => undefined);
    total += batch.length;
    batch = [];
    characters = 0;
  };
  for (const row of rows) {
    if (text === '') text = insertStatement(table, Object.keys(row), onConflict);
    const json = JSON.stringify(row);
    batch.push(json);
    characters += json.length;
    if (batch.length === BATCH_ROWS || characters >= BATCH_CHARACTERS) await flush();
  }
  if (batch.length > 0) await flush();
  await sent;
  if (total >= ANALYZE_FROM_ROWS) await refreshStatistics(client, table, total);
  return total;
}

/**
 * Analyzes a table that holds more rows than its statistics say. Whoever inserts rows that refer to
 * it looks each one up, with a plan that is made once. For a table that was empty, Postgres might
 * choose an index that finds the team but not the row, and would read the whole team each time.
 * Again whenever a load has doubled the table: statistics of its first team alone would tell the
 * planner that a team is nearly the whole table. Other loads are not waited for.
 */
async function refreshStatistics(client: ClientBase, table: string, rows: number): Promise<void> {
  const { rowCount } = await client.query(
    `SELECT
     FROM pg_class
     WHERE oid = $1::regclass
       AND reltuples < greatest($2, pg_stat_get_xact_tuples_inserted(oid) / 2)`,
    [`public."${table}"`, rows],
  );
  if (rowCount) await client.query(`ANALYZE (SKIP_LOCKED) "${table}"`);
}

/** Returns an INSERT whose parameter `$1` is a JSON array of rows with these columns. */
export function insertStatement(
  table: string,
  names: readonly string[],
  onConflict: string,
): string {
  const columns = names.map((name) => `"${name}"`).join(', ');
  return `
    INSERT INTO "${table}" (${columns})
    SELECT ${columns}
    FROM json_populate_recordset(null::"${table}", $1::json)
    ${onConflict}`;
}
