/**
 * SQL of a join that keeps the table's row of each given one from being deleted or changed in its
 * key until the transaction ends. It waits for nobody: `own.is_held` is null where somebody else
 * has locked the row. `isRow` compares the whole primary key, so that one row is read.
 */
export function holdUnlessLocked(table: 'webhook_endpoint' | 'api_key', isRow: string): string {
  return `left join lateral (
      select true as is_held
      from ${table}
      where ${isRow}
      limit 1
      for key share skip locked
    ) own on true`;
}
