// A database for processes that are killed in the middle of a call, and what a call has written.
import { Client } from 'pg';
import { beforeAll } from 'vitest';
import { loadTestSeed, type Call } from './api.ts';
import { createTestDatabase } from './database.ts';
import { makeSeed, makeTeam } from './seed.ts';
import { until } from './until.ts';

export let client: Client;
export let url: string;
export let key: string;

/** Gives the tests of this file a database with team a. */
export function useCrashes(): void {
  beforeAll(async () => {
    const database = await createTestDatabase();
    const { teams } = await loadTestSeed(database, makeSeed([makeTeam('a')]));
    key = teams['team_a']?.api_keys['full'] ?? '';
    url = database.url;
    client = new Client({ connectionString: url });
    await client.connect();
    return async () => {
      await client.end();
      await database.drop();
    };
  });
}

export const sendInvitation = (call: Call, email: string) =>
  call(key, 'POST', '/users', { body: { email }, headers: { 'idempotency-key': email } });

export async function written(
  email: string,
): Promise<{ members: number; events: number; audit: number; records: number }> {
  const { rows } = await client.query(
    `with m as (select id from member where team_id = 'team_a' and email = $1)
     select (select count(*)::int from m) as members,
       (
         select count(*)::int
         from event
         where team_id = 'team_a' and data->>'member_id' in (select id from m)
       ) as events,
       (
         select count(*)::int
         from audit_log
         where team_id = 'team_a' and target_id in (select id from m)
       ) as audit,
       (
         select count(*)::int
         from idempotency_record
         where team_id = 'team_a' and key = $1
       ) as records`,
    [email],
  );
  return rows[0];
}

export const ONCE = { members: 1, events: 1, audit: 1, records: 1 };
export const OTHER_SESSIONS = `from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid()`;

export async function untilQuiet(): Promise<void> {
  // Those of Citus itself stay.
  const sessions = `select ${OTHER_SESSIONS} and backend_type = 'client backend'
    and application_name not like 'citus_internal%'`;
  await until(async () => (await client.query(sessions)).rowCount === 0);
}
