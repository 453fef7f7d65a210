import type { Pool } from 'pg';

/**
 * Resolves with a mark of each table. It changes with the rows: one that is written has a younger
 * transaction than all others. Each connection of `pool` keeps the plan, for the same tables.
 */
export async function marksOf(
  pool: Pool,
  tables: Iterable<string>,
): Promise<ReadonlyMap<string, string>> {
  const marks = Array.from(
    tables,
    (name) =>
      `select '${name}' as name, count(*) || ' ' || coalesce(sum(xmin::text::bigint), 0) as mark
       from ${name}`,
  );
  const { rows } = await pool.query<{ name: string; mark: string }>({
    name: 'marks of the tables',
    text: marks.join(' union all '),
  });
  return new Map(rows.map(({ name, mark }) => [name, mark]));
}
