// The floor's tables, with the least that keeps their rows right.
import { createHash } from 'node:crypto';
import type pg from 'pg';
import { assignment } from '../../src/features/assignments/schema.ts';

type Field = keyof typeof assignment.shape;

// What the API shows, which the floor must answer alike. A field is the column of that name.
const FIELD_NAMES = Object.keys(assignment.shape) as readonly Field[];
/** SQL: the columns of an assignment. */
export const FIELDS = FIELD_NAMES.join(', ');

/** An assignment as the floor writes it. */
export type FloorRow = Readonly<Record<Field, unknown>>;

/** SQL: inserts an assignment. $1: the team, the others: `insertedValues`. */
export const INSERT = `
  insert into floor.page_row (tenant_id, ${FIELDS})
  values ($1, ${FIELD_NAMES.map((_name, place) => `$${place + 2}`).join(', ')})`;

export function insertedValues(row: FloorRow): unknown[] {
  return FIELD_NAMES.map((name) => row[name]);
}

const TABLES = `
  drop schema if exists floor cascade;
  create schema floor;
  create table floor.tenant as select id, status, rate_limit_per_min from team;
  alter table floor.tenant add primary key (id);
  create table floor.key (
    hash bytea primary key,
    id text not null,
    tenant_id text not null,
    key_limit int not null,
    expires_at timestamptz,
    revoked_at timestamptz
  );
  create table floor.page_row as
    select team_id as tenant_id, ${FIELDS}
    from (
      select a.*, m.user_id as member_user_id, m.email as member_email
      from assignment a
      join member m on m.team_id = a.team_id and m.id = a.member_id
    ) shown;
  alter table floor.page_row add primary key (tenant_id, id);
  create index on floor.page_row (tenant_id, created_at desc, id desc);
  create table floor.person as select team_id as tenant_id, id, user_id, email, status from member;
  alter table floor.person add primary key (tenant_id, id);
  create table floor.entry as select id from catalog_entry;
  alter table floor.entry add primary key (id);
  create table floor.blocked (
    tenant_id text not null,
    person_id text not null,
    entry_id text not null,
    primary key (tenant_id, person_id, entry_id)
  );
  create table floor.audit (
    id text primary key,
    tenant_id text not null references floor.tenant,
    actor_id text not null,
    action text not null,
    target_id text not null,
    request_id text not null,
    created_at timestamptz not null
  );
  create index on floor.audit (tenant_id, created_at desc, id desc);
  create table floor.event (
    id text primary key,
    tenant_id text not null references floor.tenant,
    type text not null,
    data json not null,
    created_at timestamptz not null,
    fanned_out_at timestamptz
  );
  create index on floor.event (created_at) where fanned_out_at is null;
  create unlogged table floor.bucket (id text primary key, minute int not null, used int not null)
    with (fillfactor = 50);`;

/** Copies the teams and assignments into the floor's tables, and accepts the same keys. */
export async function createFloor(pool: pg.Pool, keys: ReadonlyMap<string, string>): Promise<void> {
  await pool.query(TABLES);
  for (const [tenantId, key] of keys) {
    await pool.query('insert into floor.key values ($1, $2, $3, 1000000000)', [
      digest(key),
      `key of ${tenantId}`,
      tenantId,
    ]);
  }
  await pool.query('vacuum analyze floor.page_row');
}

/** What the floor knows of a key. */
export function digest(key: string): Buffer {
  return createHash('sha256').update(key).digest();
}
