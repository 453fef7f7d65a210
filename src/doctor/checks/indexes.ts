import { checkOfDatabase, fail, orOk, warn } from '../check.ts';

interface Invalid {
  readonly name: string;
  readonly on_table: string;
  readonly is_leftover: boolean;
  readonly is_being_built: boolean;
  readonly is_partitioned: boolean;
}

/** Indexes that Postgres does not use, because their creation has failed. */
export const indexes = checkOfDatabase('indexes', 'Doctor', async (ask) => {
  const rows = await ask<Invalid>(
    `select i.indexrelid::regclass::text as name, i.indrelid::regclass::text as on_table,
       c.relname ~ '_ccnew\\d*$' as is_leftover, c.relkind = 'I' as is_partitioned,
       exists (
         select
         from pg_stat_progress_create_index p
         where p.index_relid = i.indexrelid or p.relid = i.indrelid and p.index_relid = 0
       ) as is_being_built
     from pg_index i
     join pg_class c on c.oid = i.indexrelid
     where not (i.indisvalid and i.indisready and i.indislive)
     order by 1`,
  );
  const findings = rows.map(({ name, on_table, is_leftover, is_being_built, is_partitioned }) => {
    if (is_being_built)
      return warn(`${name} of ${on_table} is being built`, 'Wait until it is done.');
    const text = `${name} of ${on_table} is invalid: it costs writes and helps no reader`;
    if (is_leftover) return fail(text, `Run "DROP INDEX CONCURRENTLY ${name}".`);
    if (is_partitioned)
      return fail(text, 'Create the index that one of its partitions lacks, and attach it.');
    return fail(text, `Run "REINDEX INDEX CONCURRENTLY ${name}".`);
  });
  return orOk(findings, 'all are valid');
});
