// What migrations do to the rows of the version before, and what its processes may still write
// while they run on.
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { migrate } from '../../src/db/migrate.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';

const MIGRATIONS = join(import.meta.dirname, '../../prisma/migrations');

let database: TestDatabase;
let client: Client;

beforeEach(async () => {
  database = await createEmptyDatabase();
  client = new Client({ connectionString: database.url });
  await client.connect();
});

afterEach(async () => {
  await client.end();
  await database.drop();
});

/** Applies the migrations that come before the named one. */
async function migrateUpTo(name: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'migrations-'));
  try {
    for (const each of await readdir(MIGRATIONS))
      if (each < name) await cp(join(MIGRATIONS, each), join(folder, each), { recursive: true });
    await migrate(database.url, { folder });
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('an evaluation of the version before counts as stored when it was saved', async () => {
  await migrateUpTo('20261120001300_add_time_of_storage_to_evaluations');
  await client.query(`
    insert into team (id, name, created_at) values ('t', 't', now());
    insert into person (team_id, id) values ('t', 'usr');
    insert into training (team_id, id, user_id, status, created_at)
    select 't', id, 'usr', 'scored', now()
    from unnest(array['old', 'late']) as id;
    insert into evaluation (team_id, training_id, saved_at)
    values ('t', 'old', '2026-01-02T03:04:05.678Z')`);
  await migrate(database.url);
  await client.query(
    `insert into evaluation (team_id, training_id, saved_at) values ('t', 'late', '2020-01-01')`,
  );
  const { rows } = await client.query(
    `select training_id, stored_at = saved_at as was_at_once,
       stored_at > now() - interval '1 hour' as is_new
     from evaluation
     order by training_id`,
  );
  expect(rows).toEqual([
    { training_id: 'late', was_at_once: false, is_new: true },
    { training_id: 'old', was_at_once: true, is_new: false },
  ]);
});

test('an objection of the version before has the connection of its deal', async () => {
  await migrateUpTo('20261120001100_keep_connection_of_objections');
  await client.query(`
    insert into team (id, name, created_at) values ('t', 't', now());
    insert into crm_connection (team_id, id, provider, created_at)
    values ('t', 'one', 'hubspot', now()), ('t', 'two', 'hubspot', now());
    insert into crm_deal (team_id, id, connection_id, external_id, outcome, created_at)
    select 't', 'deal_' || id, id, 'x', 'open', now()
    from crm_connection`);
  const add = (id: string, deal: string): Promise<unknown> =>
    client.query(
      `insert into crm_objection (team_id, id, deal_id, category, text, lang, created_at)
       values ('t', $1, $2, 'price', 'too dear', 'en', now())`,
      [id, deal],
    );
  await add('old', 'deal_two');
  await migrate(database.url);
  await add('late', 'deal_one');
  const { rows } = await client.query('select id, connection_id from crm_objection order by id');
  expect(rows).toEqual([
    { id: 'late', connection_id: 'one' },
    { id: 'old', connection_id: 'two' },
  ]);
});
