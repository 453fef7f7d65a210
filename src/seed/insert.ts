import type { ClientBase } from 'pg';

/** Column → value. Arrays and objects go into array and JSON columns; bytes as `\x…` text, times as ISO text. */
export type Row = Readonly<Record<string, unknown>>;

const BATCH_ROWS = 5_000;
/** Rows may carry 128 KiB of free JSON each, so a batch ends by size, too. */
const BATCH_CHARACTERS = 4_000_000;

/**
 * Writes rows that all have the first one's columns, some thousands a statement. One statement is in flight while the next
 * batch is made, so memory stays bounded and Postgres and Node work at the same time. Resolves with the number of rows.
 * (JSON measures the same as an array a column, and needs no list of types.)
 */
export async function insertRows(
  client: ClientBase,
  table: string,
  rows: Iterable<Row>,
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
    // Looked at before the next statement; until then it must not count as unhandled.
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
  return total;
}

/** `$1` is a JSON array of rows with these columns. */
export function insertStatement(
  table: string,
  names: readonly string[],
  onConflict: string,
): string {
  const columns = names.map((name) => `"${name}"`).join(', ');
  return `INSERT INTO "${table}" (${columns}) SELECT ${columns} FROM json_populate_recordset(null::"${table}", $1::json) ${onConflict}`;
}
