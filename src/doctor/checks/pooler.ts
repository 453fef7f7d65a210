import { FIND_OWN_NAME } from '../../db/connections/poolers.ts';
import { checkOfDatabase, fail, ok, warn } from '../check.ts';

/**
 * Whether a pooler stands between, and whether it follows prepared statements. The API finds both
 * in the same way: the login names another process than the one that serves, and one that follows
 * statements gives them names of its own.
 */
export const pooler = checkOfDatabase('pooler', 'Topologies', async (ask) => {
  if (!ask.isPooled) return [ok('the connection is a direct one')];
  const isSeen = (await ask.prepared(FIND_OWN_NAME)).length > 0;
  return [
    isSeen
      ? fail(
          'pooler_without_prepared_statements: the pooler does not follow prepared statements',
          'Use PgBouncer 1.21 or newer, with max_prepared_statements.',
        )
      : ok('the pooler follows prepared statements, so the API may use it'),
    warn(
      'DATABASE_URL leads to a pooler, which only the API may use',
      'Run the doctor also with the DATABASE_URL of the worker, which must be a direct one.',
    ),
  ];
});
