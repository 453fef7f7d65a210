// Which rows a statement changes, and which it leaves alone.
import type { Pool } from 'pg';

/** Table → what happened to which rows: `+ key`, `- key`, or `key: column old → new`. */
export type Changes = Readonly<Record<string, readonly string[]>>;

/**
 * Runs `work` and resolves with everything that it changed in the tables of the service. A key is
 * written as its columns, `team_a whe_1`. Only tables with changes are named.
 */
export async function changesOf(pool: Pool, work: () => Promise<unknown>): Promise<Changes> {
  const keys = await readKeys(pool);
  const before = await readTables(pool, keys);
  await work();
  const after = await readTables(pool, keys);
  const changes = [...keys.keys()].map((table): [string, string[]] => [
    table,
    compare(before.get(table) ?? new Map(), after.get(table) ?? new Map()),
  ]);
  return Object.fromEntries(changes.filter(([, lines]) => lines.length > 0));
}

type Row = Readonly<Record<string, unknown>>;
/** Key → row. */
type Rows = ReadonlyMap<string, Row>;

/** Table → the columns of its primary key. */
async function readKeys(pool: Pool): Promise<ReadonlyMap<string, readonly string[]>> {
  const { rows } = await pool.query<{ table: string; columns: string[] }>(
    `select c.conrelid::regclass::text as table,
       array_agg(a.attname::text order by array_position(c.conkey, a.attnum)) as columns
     from pg_constraint c
     join pg_attribute a on a.attrelid = c.conrelid and a.attnum = any (c.conkey)
     where c.contype = 'p' and c.connamespace = 'public'::regnamespace
     group by c.conrelid
     order by 1`,
  );
  return new Map(rows.map(({ table, columns }) => [table, columns]));
}

// Columns that Postgres makes from others say nothing more than those.
const GENERATED = `
  select coalesce(array_agg(distinct column_name::text), '{}') as names
  from information_schema.columns
  where table_schema = 'public' and is_generated = 'ALWAYS'`;

/** Reads all of them in one statement, so that they are of one moment. */
async function readTables(
  pool: Pool,
  keys: ReadonlyMap<string, readonly string[]>,
): Promise<ReadonlyMap<string, Rows>> {
  const [generated] = (await pool.query<{ names: string[] }>(GENERATED)).rows;
  const selects = [...keys.keys()].map(
    (table) => `select '${table}' as of, to_jsonb(t) - $1::text[] as row from ${table} t`,
  );
  const { rows } = await pool.query<{ of: string; row: Row }>(selects.join('\nunion all\n'), [
    generated?.names,
  ]);
  const tables = new Map<string, Map<string, Row>>();
  for (const { of, row } of rows) {
    const key = (keys.get(of) ?? []).map((column) => String(row[column])).join(' ');
    const table = tables.get(of) ?? new Map<string, Row>();
    tables.set(of, table.set(key, row));
  }
  return tables;
}

function compare(before: Rows, after: Rows): string[] {
  const lines = [...new Set([...before.keys(), ...after.keys()])].flatMap((key): string[] => {
    const [was, is] = [before.get(key), after.get(key)];
    if (!is) return [`- ${key}`];
    if (!was) return [`+ ${key}`];
    return Object.keys(is)
      .filter((column) => JSON.stringify(was[column]) !== JSON.stringify(is[column]))
      .map((column) => `${key}: ${column} ${text(was[column])} → ${text(is[column])}`);
  });
  return lines.toSorted();
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
