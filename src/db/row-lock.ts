import { ofTeams } from './statement.ts';

/**
 * SQL of a join that keeps the table's row of each given one from being deleted or changed in its
 * key until the transaction ends. It waits for nobody: `own.is_held` is null where somebody else
 * has locked the row. `isRow` compares the whole primary key, so that one row is read. `teams` is
 * the parameter with the teams, for a distributed database.
 */
export function holdUnlessLocked(
  table: 'webhook_endpoint' | 'api_key',
  isRow: string,
  teams?: string,
): string {
  return `left join lateral (
      select true as is_held
      from ${table}
      where ${isRow}${teams === undefined ? '' : ofTeams('team_id', teams)}
      limit 1
      for key share skip locked
    ) own on true`;
}
