import type { Pool } from 'pg';

/**
 * Returns, for each table, the columns that a statement can write, as SQL. Postgres makes the
 * others from these.
 */
export async function readWrittenColumns(pool: Pool): Promise<ReadonlyMap<string, string>> {
  const { rows } = await pool.query<{ table: string; columns: string }>(
    `select t.table_name as table,
       string_agg(quote_ident(c.column_name), ', ' order by c.ordinal_position) as columns
     from information_schema.tables t
     join information_schema.columns c using (table_schema, table_name)
     where table_schema = 'public' and t.table_type = 'BASE TABLE' and c.is_generated = 'NEVER'
     group by t.table_name`,
  );
  return new Map(rows.map(({ table, columns }) => [table, columns]));
}
