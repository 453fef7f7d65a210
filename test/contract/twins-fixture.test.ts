// The twins only prove something where they share ids that have different contents.
import { beforeAll, expect, it } from 'vitest';
import { KEYS } from '../../src/db/tenant-tables.ts';
import type { TestApi } from '../support/api.ts';
import { OF_SANDBOXES, SIDES } from '../support/twins.ts';
import { listTenantTables, openWorld } from './twin-worlds.ts';

let api: TestApi;
beforeAll(async () => {
  ({ api } = await openWorld(SIDES, 'http://127.0.0.1:9'));
});

it('have rows with the same key and other contents in every table of a team', async () => {
  const tables = await listTenantTables(api);
  // A prefix is of one team only.
  const filled = tables.filter((name) => name !== KEYS && !OF_SANDBOXES.includes(name));
  for (const table of filled) {
    const keys = (await primaryKeyOf(table)).filter((column) => column !== 'team_id');
    const key = keys.map((column) => `to_jsonb(t) -> '${column}'`).join(', ');
    const rows = `(
      select jsonb_build_array(${key}) as key, to_jsonb(t) - 'team_id' as contents, t.team_id
      from ${table} t
    )`;
    const { rows: found } = await api.db.pool.query<Record<string, number>>(
      `select count(*) filter (where a.key = b.key)::int as shared,
         count(*) filter (where a.key = b.key and a.contents <> b.contents)::int as different,
         count(*) filter (where b.key is null)::int as only_a,
         count(*) filter (where a.key is null)::int as only_b
       from (select * from ${rows} r where team_id = 'team_a') a
       full join (select * from ${rows} r where team_id = 'team_b') b on a.key = b.key`,
    );
    const { shared = 0, different = 0, only_a: onlyA = 0, only_b: onlyB = 0 } = found[0] ?? {};
    expect(shared, `${table}: rows with the same key`).toBeGreaterThan(0);
    // In a table without other columns, the keys themselves must differ.
    expect(different > 0 || (onlyA > 0 && onlyB > 0), `${table}: other contents`).toBe(true);
  }
});

/** Columns that have only their default there: of rows at work, and what would end a team. */
const UNFILLED: Readonly<Record<string, readonly string[]>> = {
  // Only a run that goes on has them.
  crm_connection: ['sync_state', 'sync_token', 'sync_lease_until', 'sync_requested_at'],
  // Deliveries at work, which `test/support/twin-deliveries.ts` makes.
  event: ['kept_for_deliveries', 'traceparent', 'request_id'],
  webhook_delivery: [
    'scheduled_attempts',
    'failed_attempts',
    'urgent',
    'resent',
    'first_worker',
    'waits_as',
    'due_at',
    'held_by',
    'has_failed',
    'kept_from',
  ],
  webhook_endpoint: [
    'activated_at',
    'paused_at',
    'hourly_failures',
    // Of a rotation whose time is not over.
    'earlier_secrets_encrypted',
    'earlier_secrets_until',
  ],
  webhook_resend: ['position_at', 'position_id'],
  pending_job: ['key', 'priority', 'queue', 'refused_at', 'run_at'],
  // The record of a caller without a key has none, and nobody resets a live team.
  idempotency_record: ['key_id', 'removed_by_reset'],
  // Any other value ends the team, or hides what the twins compare.
  team: ['status', 'member_detail_enabled', 'creation_hash', 'erasing_since'],
};

it('have a value in every column, so that a new one cannot be left out', async () => {
  const empty: string[] = [];
  const tables = (await listTenantTables(api)).filter((name) => !OF_SANDBOXES.includes(name));
  for (const table of [...tables, 'team']) {
    const { rows: columns } = await api.db.pool.query<{ name: string; initial: string | null }>(
      `select a.attname::text as name, pg_get_expr(d.adbin, d.adrelid) as initial
       from pg_attribute a
       left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
       where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped`,
      [table],
    );
    for (const { name, initial } of columns) {
      const { rows } = await api.db.pool.query(
        `select from ${table}
         where ${name} is not null and ${name}::text is distinct from (${initial ?? 'null'})::text
         limit 1`,
      );
      if (rows.length === 0) empty.push(`${table}.${name}`);
    }
  }
  const unfilled = Object.entries(UNFILLED).flatMap(([table, names]) =>
    names.map((name) => `${table}.${name}`),
  );
  expect(empty.toSorted()).toEqual(unfilled.toSorted());
});

async function primaryKeyOf(table: string): Promise<string[]> {
  const { rows } = await api.db.pool.query<{ name: string }>(
    `select a.attname as name from pg_index i
     join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any (i.indkey)
     where i.indrelid = $1::regclass and i.indisprimary`,
    [table],
  );
  return rows.map(({ name }) => name);
}
