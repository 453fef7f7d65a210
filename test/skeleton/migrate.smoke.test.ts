import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../src/db/connections/database.ts';
import { migrate, splitStatements } from '../../src/db/operator/migrate.ts';
import { expectedMigrations, isMigrated } from '../../src/db/operator/migrations.ts';
import {
  createEmptyDatabase,
  createTestDatabase,
  openEmptyDatabase,
  type OpenDatabase,
} from '../support/database.ts';
import { makeFolder } from '../support/folder.ts';
import { until } from '../support/until.ts';
import { applyWithPrisma } from '../support/prisma-engine.ts';
import { openTestDatabase } from '../support/wire.ts';

const first = 'CREATE TABLE a (id int);';
let folder: string;
let database: OpenDatabase;

beforeEach(async () => {
  folder = await makeFolder('migrations');
  await mkdir(join(folder, 'functions'));
  await addMigration('20260101000000_create_a', first);
  database = await openEmptyDatabase();
});

afterEach(() => database.drop());

async function addMigration(name: string, sql: string): Promise<void> {
  await mkdir(join(folder, 'migrations', name), { recursive: true });
  await writeFile(join(folder, 'migrations', name, 'migration.sql'), sql);
}

const writeFunction = (name: string, sql: string): Promise<void> =>
  writeFile(join(folder, 'functions', `${name}.sql`), sql);

async function readLedger(url: string) {
  const reader = new Client({ connectionString: url });
  await reader.connect();
  const columns = await reader.query(
    `SELECT column_name, data_type, character_maximum_length, is_nullable, column_default
     FROM information_schema.columns
     WHERE table_name = '_prisma_migrations'
     ORDER BY ordinal_position`,
  );
  const rows = await reader.query(
    `SELECT checksum, migration_name, logs, rolled_back_at, applied_steps_count,
       length(id) AS id_length, finished_at >= started_at AS timed
     FROM _prisma_migrations
     ORDER BY migration_name`,
  );
  await reader.end();
  return { columns: columns.rows, rows: rows.rows };
}

/** Resolves when the migration begins to wait for the table once more. */
async function untilLock(client: Client, mode: string): Promise<void> {
  const waits = async (): Promise<boolean> => {
    const { rowCount } = await client.query(
      `SELECT FROM pg_locks
       WHERE relation = 'a'::regclass AND mode = $1 AND NOT granted`,
      [mode],
    );
    return rowCount !== 0;
  };
  await until(async () => !(await waits()));
  await until(waits);
}

describe('migrate', () => {
  it('applies the files in order, once, and graphile-worker’s schema', async () => {
    await addMigration('20260102000000_fill_a', 'INSERT INTO a VALUES (1);');
    expect(await migrate(database.url, { folder })).toEqual([
      '20260101000000_create_a',
      '20260102000000_fill_a',
    ]);
    expect(await migrate(database.url, { folder })).toEqual([]);
    expect((await database.client.query('SELECT id FROM a')).rows).toEqual([{ id: 1 }]);
    expect(
      (
        await database.client.query(
          `SELECT to_regclass('graphile_worker.jobs') IS NOT NULL AS there`,
        )
      ).rows,
    ).toEqual([{ there: true }]);
  });

  it('refuses a Postgres that is too old, before it applies anything', async () => {
    const { client, url } = database;
    await client.query(`
      SET allow_system_table_mods = on;
      ALTER FUNCTION pg_catalog.current_setting(text) RENAME TO real_setting;
      CREATE FUNCTION pg_catalog.current_setting(text) RETURNS text RETURN '14.19'`);
    await expect(migrate(url, { folder })).rejects.toThrow(
      'Postgres 14.19 is too old. Upgrade it to 15 or newer.',
    );
    const { rows } = await client.query(`SELECT to_regclass('_prisma_migrations') AS ledger`);
    expect(rows).toEqual([{ ledger: null }]);
  });

  it('refuses to distribute plain Postgres, and says what is missing', async () => {
    await expect(migrate(database.url, { folder, distribute: true })).rejects.toThrow(
      /needs the extension citus.*CREATE EXTENSION citus/,
    );
  });

  it('splits no comment, text, name or function', () => {
    const parts = [
      `insert into a values (';', 'it''s;') -- a; b\n`,
      ` create function f() language sql as $$ select 1; $$`,
      ` alter table a add column "b;" int /* ; */`,
    ];
    expect(splitStatements(`${parts.join(';')};\n-- end;\n`)).toEqual(parts);
  });

  it('keeps the ledger exactly as prisma migrate deploy does', async () => {
    const other = await createEmptyDatabase();
    try {
      await migrate(database.url, { folder });
      await applyWithPrisma(other.url, [{ name: '20260101000000_create_a', sql: first }]);
      expect(await readLedger(database.url)).toEqual(await readLedger(other.url));
    } finally {
      await other.drop();
    }
  });

  it('finds nothing to do in a database that Prisma migrated', async () => {
    await applyWithPrisma(database.url, [{ name: '20260101000000_create_a', sql: first }]);
    expect(await migrate(database.url, { folder })).toEqual([]);
  });

  it('can run in any number of processes at once', async () => {
    await addMigration('20260102000000_fill_a', 'INSERT INTO a VALUES (1); SELECT pg_sleep(0.2);');
    const runs = await Promise.all(
      Array.from({ length: 8 }, () => migrate(database.url, { folder })),
    );
    expect(runs.filter((applied) => applied.length > 0)).toHaveLength(1);
    expect((await database.client.query('SELECT id FROM a')).rows).toEqual([{ id: 1 }]);
  });

  it('keeps nobody waiting while it waits for a table', async () => {
    await migrate(database.url, { folder });
    await database.client.query('BEGIN; SELECT * FROM a');
    await addMigration('20260102000000_extend_a', 'ALTER TABLE a ADD COLUMN b int;');
    const blocked = Promise.withResolvers<string>();
    const migrating = migrate(database.url, { folder, onBlocked: blocked.resolve });
    expect(await blocked.promise).toBe('20260102000000_extend_a');
    const other = new Client({ connectionString: database.url });
    await other.connect();
    await other.query('INSERT INTO a VALUES (1)');
    await other.end();
    await database.client.query('COMMIT');
    expect(await migrating).toEqual(['20260102000000_extend_a']);
  });

  it('waits for a table with one statement, and not with those before it', async () => {
    await migrate(database.url, { folder });
    // What a sequence counts is not rolled back.
    await database.client.query(
      'CREATE SEQUENCE updates; CREATE INDEX a_idx ON a (id); INSERT INTO a VALUES (0)',
    );
    await database.client.query('BEGIN; LOCK a IN ACCESS SHARE MODE');
    await addMigration(
      '20260102000000_fill_a',
      `UPDATE a SET id = nextval('updates'); DROP INDEX a_idx;`,
    );
    const blocked = Promise.withResolvers<string>();
    const migrating = migrate(database.url, { folder, onBlocked: blocked.resolve });
    await blocked.promise;
    const other = new Client({ connectionString: database.url });
    await other.connect();
    for (const _ of [1, 2, 3]) await untilLock(other, 'AccessExclusiveLock');
    await other.end();
    await database.client.query('COMMIT');
    expect(await migrating).toEqual(['20260102000000_fill_a']);
    expect((await database.client.query('SELECT id FROM a')).rows).toEqual([{ id: 2 }]);
  });

  it('says what a migration advises that does not begin', async () => {
    await addMigration(
      '20260102000000_refuse',
      `DO $$ BEGIN RAISE 'A row is wrong' USING HINT = 'Remove the row first.'; END $$;`,
    );
    await expect(migrate(database.url, { folder })).rejects.toThrow(
      'The migration 20260102000000_refuse failed and was rolled back: ' +
        'A row is wrong (Remove the row first.)',
    );
  });

  it('refuses an applied file that was edited since, and applies nothing', async () => {
    await migrate(database.url, { folder });
    await addMigration('20260101000000_create_a', `${first} -- edited`);
    await addMigration('20260102000000_create_b', 'CREATE TABLE b (id int);');
    await expect(migrate(database.url, { folder })).rejects.toThrow(
      /20260101000000_create_a was changed after it was applied/,
    );
    expect((await database.client.query(`SELECT to_regclass('b') AS b`)).rows).toEqual([
      { b: null },
    ]);
  });

  it('keeps nothing of a file that fails, and can be run again', async () => {
    await addMigration('20260102000000_create_b', 'CREATE TABLE b (id int); SELECT 1/0;');
    await expect(migrate(database.url, { folder })).rejects.toThrow(
      /20260102000000_create_b failed.*division by zero/,
    );
    expect((await database.client.query(`SELECT to_regclass('b') AS b`)).rows).toEqual([
      { b: null },
    ]);
    await addMigration('20260102000000_create_b', 'CREATE TABLE b (id int);');
    expect(await migrate(database.url, { folder })).toEqual(['20260102000000_create_b']);
  });

  it('refuses the database of another application of Prisma, and changes nothing', async () => {
    await applyWithPrisma(database.url, [{ name: '20240101000000_init', sql: first }]);
    const before = await readLedger(database.url);
    await expect(migrate(database.url)).rejects.toThrow(
      /another application: it has 20240101000000_init, .* a database of its own/,
    );
    expect(await readLedger(database.url)).toEqual(before);
    const { rows } = await database.client.query(`SELECT to_regclass('public.team') AS team`);
    expect(rows).toEqual([{ team: null }]);
  });

  it('refuses to go on after a migration that Prisma recorded as failed', async () => {
    await migrate(database.url, { folder });
    await database.client.query('UPDATE _prisma_migrations SET finished_at = NULL');
    await expect(migrate(database.url, { folder })).rejects.toThrow(
      /create_a failed.*prisma migrate resolve/,
    );
  });
});

describe('a migration that builds an index concurrently', () => {
  const name = '20260102000000_find_a';
  const sql = '-- Of all.\nCREATE UNIQUE INDEX CONCURRENTLY "a_id_key" ON a (id);\n';
  beforeEach(() => migrate(database.url, { folder }));

  const isValid = async (): Promise<unknown> => {
    const found = `SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('a_id_key')`;
    return (await database.client.query(found)).rows[0]?.indisvalid;
  };

  it('lets everybody write meanwhile', async () => {
    await addMigration(name, sql);
    await database.client.query('BEGIN; INSERT INTO a VALUES (1)');
    const begun = Promise.withResolvers<string>();
    const migrating = migrate(database.url, { folder, onIndex: begun.resolve });
    expect(await begun.promise).toBe(name);
    const other = new Client({ connectionString: database.url });
    await other.connect();
    const waits = `SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%a_id_key%'`;
    await until(async () => (await other.query(waits)).rowCount !== 0);
    await other.query('INSERT INTO a VALUES (2)');
    await other.end();
    await database.client.query('COMMIT');
    expect(await migrating).toEqual([name]);
    expect(await isValid()).toBe(true);
    expect(await migrate(database.url, { folder })).toEqual([]);
  });

  it('is not cancelled by the limits of a role, nor is any other migration', async () => {
    await database.client.query(`
      DO $$ BEGIN
        EXECUTE format('ALTER DATABASE %I SET statement_timeout = 1000', current_database());
      END $$;
      INSERT INTO a VALUES (1);
      CREATE FUNCTION slow(id int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_sleep(1.5); RETURN id; END $$`);
    await addMigration('20260101000001_wait', 'SELECT pg_sleep(1.5);');
    await addMigration(name, 'CREATE INDEX CONCURRENTLY "a_id_key" ON a (slow(id));');
    expect(await migrate(database.url, { folder })).toEqual(['20260101000001_wait', name]);
    expect(await isValid()).toBe(true);
  });

  it('makes a new one of what an interrupted run has left', async () => {
    await addMigration(name, sql);
    await database.client.query('INSERT INTO a VALUES (1), (1)');
    await expect(migrate(database.url, { folder })).rejects.toThrow(
      /20260102000000_find_a failed and can be run again: could not create unique index/,
    );
    expect(await isValid()).toBe(false);
    await database.client.query('TRUNCATE a');
    expect(await migrate(database.url, { folder })).toEqual([name]);
    expect(await isValid()).toBe(true);
  });

  it('takes the one of a run that died before it recorded it', async () => {
    await database.client.query(sql);
    await addMigration(name, sql);
    expect(await migrate(database.url, { folder })).toEqual([name]);
    expect(await migrate(database.url, { folder })).toEqual([]);
  });

  it('is one that Prisma can apply, too', async () => {
    await addMigration(name, sql);
    const created = { name: '20260101000000_create_a', sql: first };
    await applyWithPrisma(database.url, [created, { name, sql }]);
    expect(await isValid()).toBe(true);
    expect(await migrate(database.url, { folder })).toEqual([]);
  });
});

describe('a function', () => {
  const say = (text: string): Promise<void> =>
    writeFunction(
      'say',
      `create or replace function say() returns text language sql as $$ select '${text}' $$;`,
    );
  const heard = async (): Promise<unknown> =>
    (await database.client.query('select say()')).rows[0]?.say;

  it('is applied when its text differs from the one that was applied last', async () => {
    await say('a');
    expect(await migrate(database.url, { folder })).toEqual([
      '20260101000000_create_a',
      'functions/say',
    ]);
    expect(await migrate(database.url, { folder })).toEqual([]);
    // The last time to the text of the beginning, as a reverted commit does.
    for (const text of ['b', 'a']) {
      await say(text);
      expect(await migrate(database.url, { folder })).toEqual(['functions/say']);
      expect(await heard()).toBe(text);
    }
  });

  it('finds the tables of the migrations, and may come before one that it calls', async () => {
    await writeFunction(
      'first',
      `create or replace function first() returns bigint language plpgsql as
         $$ begin return second(); end $$;`,
    );
    await writeFunction(
      'second',
      `create or replace function second() returns bigint language sql as
         $$ select count(*) from a $$;`,
    );
    await migrate(database.url, { folder });
    expect((await database.client.query('select first()')).rows).toEqual([{ first: '0' }]);
  });

  it('takes the place of one with another signature at once, or none is changed', async () => {
    await say('a');
    await migrate(database.url, { folder });
    await say('b');
    await writeFunction('wrong', 'create or replace function wrong() returns nothing;');
    await expect(migrate(database.url, { folder })).rejects.toThrow(
      /The file functions\/wrong failed and was rolled back/,
    );
    expect(await heard()).toBe('a');
    await rm(join(folder, 'functions', 'wrong.sql'));
    await writeFunction(
      'say',
      `drop function if exists say();
       create or replace function say(text default 'c') returns text language sql as
         $$ select $1 $$;`,
    );
    expect(await migrate(database.url, { folder })).toEqual(['functions/say']);
    expect(await heard()).toBe('c');
  });
});

describe('isMigrated', () => {
  const open = (url: string): Database => openTestDatabase({ url, poolMax: 1 });
  let db: Database;
  beforeEach(() => {
    db = open(database.url);
    return () => db.close();
  });

  // During a rolling deployment the old processes must stay ready.
  it('is true for this version and for a newer one', async () => {
    const one = (text: string): Promise<void> =>
      writeFunction(
        'one',
        `create or replace function one() returns text language sql as $$ select '${text}' $$;`,
      );
    await one('a');
    await migrate(database.url, { folder });
    const expected = await expectedMigrations(folder);
    await one('b');
    expect(await isMigrated(db, await expectedMigrations(folder))).toBe(false);
    await addMigration('20260102000000_create_b', 'CREATE TABLE b (id int);');
    await migrate(database.url, { folder });
    expect(await isMigrated(db, expected)).toBe(true);
    expect(await isMigrated(db, await expectedMigrations(folder))).toBe(true);
  });

  it('is false for an empty database, an older one and an edited file', async () => {
    expect(await isMigrated(db, await expectedMigrations(folder))).toBe(false);
    await migrate(database.url, { folder });
    const [created] = await expectedMigrations(folder);
    expect(await isMigrated(db, [{ name: created?.name ?? '', checksum: 'other' }])).toBe(false);
    await addMigration('20260102000000_create_b', 'CREATE TABLE b (id int);');
    expect(await isMigrated(db, await expectedMigrations(folder))).toBe(false);
  });

  it('is true for the database that the tests clone', async () => {
    const clone = await createTestDatabase();
    const reader = open(clone.url);
    expect(await isMigrated(reader, await expectedMigrations())).toBe(true);
    await reader.close();
    await clone.drop();
  });
});
