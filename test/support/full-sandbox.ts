// A sandbox that has very many rows of each table that a reset empties.
import { Client } from 'pg';
import { DIMENSIONS } from '../../src/core/dimensions.ts';
import type { RemovedTable } from '../../src/features/sandbox/store.ts';
import type { TestApi } from './api.ts';

/** SQL: a text of 32 bytes as often as a row says, which cannot be compressed. */
const text = (times: number): string =>
  `(select string_agg(md5(i::text), '')
    from generate_series(1, case when $4 then ${times} else 1 end) i)`;

/**
 * SQL: the rows of the sandbox $1 from number $2 to $3, for each table. Each has keys that point to
 * it, and if $4 says so, texts that are stored apart: what makes its removal expensive.
 */
const ROWS: Readonly<Record<RemovedTable, string>> = {
  team_catalog_entry: `insert into team_catalog_entry (team_id, id, kind)
     select $1, 'ent_' || n, 'situation'`,
  catalog_release: `with entry as (
       insert into catalog_entry (id, kind)
       select 'glo_' || n, 'situation' from generate_series($2::int, $3::int) n
       on conflict do nothing
     )
     insert into catalog_release (team_id, entry_id) select $1, 'glo_' || n`,
  team_block: `insert into team_block (team_id, entry_id) select $1, 'glo_' || n`,
  person: `insert into person (team_id, id) select $1, 'usr_' || n`,
  member: `insert into member (team_id, id, user_id, email, role, status, created_at, ended_at)
     select $1, 'mem_' || n, 'usr_' || n, n || '@x.example', 'member', 'ended', now(), now()`,
  member_block: `insert into member_block (team_id, member_id, entry_id)
     select $1, 'mem_' || (1 + n % 1900), 'glo_' || n`,
  invitation_resend: `insert into invitation_resend (team_id, id, member_id, sent_at)
     select $1, 'res_' || n, 'mem_' || (1 + n % 1900), now() - interval '2 hours'`,
  assignment: `insert into assignment
       (team_id, id, member_id, status, completed_training_id, note, external_ref, created_at)
     select $1, 'asg_' || n, 'mem_' || (1 + n % 1900), 'done', 'trn_' || n, repeat('x', 500),
       json_build_object('text', ${text(250)}), now()`,
  training: `insert into training
       (team_id, id, user_id, status, assignment_id, created_at, finished_at)
     select $1, 'trn_' || n, 'usr_' || (1 + n % 1900), 'scored', 'asg_' || (1 + n % 4900),
       now() - make_interval(days => n % 90), now()`,
  evaluation: `insert into evaluation (team_id, training_id, user_id, saved_at, total, dimensions)
     select $1, 'trn_' || n, 'usr_' || (1 + n % 1900), now(), 70,
       '${JSON.stringify(Object.fromEntries(DIMENSIONS.map((name) => [name, 70])))}'`,
  training_case: `insert into training_case (team_id, id, user_id, title, fields, created_at)
     select $1, 'cas_' || n, 'usr_' || (1 + n % 1900), 'Case',
       json_build_object('text', ${text(500)}), now()`,
  analytics_person: `insert into analytics_person (team_id, user_id) select $1, 'usr_' || n`,
  analytics_person_week: `insert into analytics_person_week
       (team_id, week, user_id, total_sum, total_count,
        ${[1, 2, 3, 4, 5, 6, 7].map((day) => `day${day}_sum, day${day}_count`).join(', ')})
     select $1, date '2020-01-06' + 7 * (n / 1900), 'usr_' || (1 + n % 1900), 70, 1,
       ${Array.from({ length: 14 }, () => '0').join(', ')}`,
  crm_connection: `insert into crm_connection (team_id, id, provider, status, created_at)
     select $1, 'crm_' || n, 'hubspot', 'disconnected', now()`,
  crm_deal: `insert into crm_deal
       (team_id, id, connection_id, external_id, outcome, synced_at, created_at)
     select $1, 'deal_' || n, 'crm_' || (1 + n % 18), n, 'open', now(), now()`,
  crm_objection: `insert into crm_objection
       (team_id, id, connection_id, deal_id, category, text, lang, source, synced_at, created_at)
     select $1, 'obj_' || n, 'crm_' || (1 + n % 18), 'deal_' || (1 + n % 90), 'price', 'x', 'de',
       'note:' || n, now(), now()`,
  sandbox_mail: `insert into sandbox_mail (team_id, id, recipient, subject, body, created_at)
     select $1, 'mail_' || n, 'x@x.example', 'x', repeat('x', 1000), now()`,
};

/** The number of rows of each table in a full sandbox. */
export const ROWS_OF_FULL: Readonly<Record<RemovedTable, number>> = {
  team_catalog_entry: 20,
  catalog_release: 5_000,
  team_block: 5_000,
  person: 2_000,
  member: 2_000,
  member_block: 5_000,
  invitation_resend: 2_000,
  assignment: 5_000,
  training: 20_000,
  evaluation: 20_000,
  training_case: 2_000,
  analytics_person: 2_000,
  analytics_person_week: 20_000,
  crm_connection: 20,
  crm_deal: 100,
  crm_objection: 240,
  sandbox_mail: 1_000,
};

/** Fills tables without foreign keys, and without the limits of a process. */
export async function fillTables(
  { databaseUrl }: Pick<TestApi, 'databaseUrl'>,
  sandboxId: string,
  {
    tables,
    areLarge = false,
  }: {
    readonly tables: readonly RemovedTable[];
    readonly areLarge?: boolean;
  },
): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    // On Citus, what is set for a transaction is set at the nodes, too.
    await client.query(`set citus.propagate_set_commands = 'local'`);
    await client.query('begin');
    await client.query('set local session_replication_role = replica');
    for (const table of tables) {
      const { rows } = await client.query<{ count: number }>(
        `select count(*)::int as count from ${table} where team_id = $1`,
        [sandboxId],
      );
      const added = ROWS_OF_FULL[table] - (rows[0]?.count ?? 0);
      await client.query(
        `${ROWS[table]} from generate_series($2::int, $3::int) n where $4::boolean is not null`,
        [sandboxId, 1, added, areLarge],
      );
    }
    await client.query('commit');
    // So many rows take hours in life, and Postgres counts them anew within a minute.
    await client.query('analyze');
  } finally {
    await client.end();
  }
}
