import type { ClientBase } from 'pg';
import { statement } from '../db/statement.ts';
import { TENANT_TABLE_NAMES } from '../db/tenant-tables.ts';

const REMOVALS = [
  statement(
    'seed.removeCounters',
    `DELETE FROM rate_counter
     WHERE bucket IN ('team:' || $1, 'app:' || $1)
       OR bucket IN (
         SELECT 'key:' || prefix
         FROM api_key
         WHERE team_id = $1
       )
       OR bucket IN (
         SELECT 'person:' || jsonb_build_array(team_id, id)::text
         FROM person
         WHERE team_id = $1
       )`,
  ),
  ...TENANT_TABLE_NAMES.map((table) =>
    statement(`seed.remove.${table}`, `DELETE FROM "${table}" WHERE team_id = $1`),
  ),
  statement('seed.removeTeam', 'DELETE FROM team WHERE id = $1'),
];

/** Removes the team with all its rows and rate counters. Needs a transaction. */
export async function removeTeam(client: ClientBase, teamId: string): Promise<void> {
  for (const { text } of REMOVALS) await client.query(text, [teamId]);
}
