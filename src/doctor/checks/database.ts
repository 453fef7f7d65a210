import { messageOf } from '../../runtime/process.ts';
import { obstacleOf, OLDEST_POSTGRES } from '../../db/operator/obstacles.ts';
import { fail, ok, type Check, type Finding } from '../check.ts';
import type { Ask } from '../session.ts';

/** The reasons that `/readyz` tells, and what to do. */
const REMEDY = 'Do as the table of the alert ApiUnavailable says for this reason.';

/** Whether the database answers, is the primary and can be written. */
export const database: Check = {
  id: 'database',
  section: 'ApiUnavailable',
  needsDatabase: false,
  run: async ({ databaseUrl, inspect }) => {
    if (databaseUrl === null)
      return [fail('DATABASE_URL is not valid', 'Set it as the README says.')];
    try {
      return await inspect(look);
    } catch (error) {
      return [fail(`${obstacleOf(error)}: ${messageOf(error)}`, REMEDY)];
    }
  },
};

async function look(ask: Ask): Promise<readonly Finding[]> {
  const [row] = await ask<{ version: string; read_only: boolean }>(
    `select current_setting('server_version') as version,
       current_setting('default_transaction_read_only')::boolean as read_only`,
  );
  const version = row?.version ?? '';
  if (row?.read_only) return [fail('database_read_only: it refuses writes', REMEDY)];
  if (Number.parseInt(version, 10) < OLDEST_POSTGRES)
    return [fail(`Postgres ${version} is too old`, `Upgrade it to ${OLDEST_POSTGRES} or newer.`)];
  return [ok(`the primary answers, with Postgres ${version}`)];
}
