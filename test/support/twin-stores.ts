// Stores, called directly on the database of the twin tenants: for each row that a statement is for
// there are others that differ from it in one condition only.
import type { Pool } from 'pg';
import { afterAll } from 'vitest';
import { openDatabase, type Database } from '../../src/db/client.ts';
import { loadTestSeed } from './api.ts';
import { changesOf, type Changes } from './changed-rows.ts';
import { createTestDatabase } from './database.ts';
import { addTwinRows, twinSeed } from './twins.ts';

export interface TwinStores {
  readonly db: Database;
  readonly pool: Pool;
  /** Resolves with all that `work` changed in the database. */
  readonly changes: (work: () => Promise<unknown>) => Promise<Changes>;
}

interface Opened extends TwinStores {
  /** Gives every row back as it was loaded. */
  readonly restore: () => Promise<void>;
  readonly close: () => Promise<void>;
}

let opened: Promise<Opened> | null = null;
afterAll(async () => {
  await (await opened)?.close();
});

/**
 * Opens the twins, with every row as it was loaded. The tests of a file share one database: to
 * write its rows back takes a few milliseconds, to clone it several hundred.
 */
export async function openTwinStores(): Promise<TwinStores> {
  const twins = await (opened ??= open());
  await twins.restore();
  return twins;
}

async function open(): Promise<Opened> {
  const database = await createTestDatabase();
  await loadTestSeed(database, twinSeed());
  const db = openDatabase({ url: database.url, poolMax: 4, onError: () => undefined });
  await addTwinRows(db, 'http://127.0.0.1:9');
  const tables = await copyTables(db.pool);
  // Without foreign keys and triggers, so the order of the tables does not matter.
  const restoring = [
    'begin',
    'set local session_replication_role = replica',
    ...tables.map((table) => `delete from public.${table}`),
    ...tables.map((table) => `insert into public.${table} select * from original.${table}`),
    'commit',
  ].join(';\n');
  return {
    db,
    pool: db.pool,
    changes: (work) => changesOf(db.pool, work),
    restore: async () => void (await db.pool.query(restoring)),
    close: async () => {
      await db.close();
      await database.drop();
    },
  };
}

/** Copies every table into the schema `original`, and resolves with their names. */
async function copyTables(pool: Pool): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select quote_ident(tablename) as name
     from pg_tables
     where schemaname = 'public'`,
  );
  const names = rows.map(({ name }) => name);
  await pool.query(
    [
      'create schema original',
      ...names.map((name) => `create table original.${name} as table ${name}`),
    ].join(';\n'),
  );
  return names;
}
