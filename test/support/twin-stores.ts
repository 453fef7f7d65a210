// Stores, called directly on the database of the twin tenants: for each row that a statement is for
// there are others that differ from it in one condition only.
import type { Pool } from 'pg';
import { afterAll, onTestFinished } from 'vitest';
import { openDatabase, type Database } from '../../src/db/client.ts';
import { loadTestSeed } from './api.ts';
import { changesOf, type Changes } from './changed-rows.ts';
import { cloneDatabase, createTestDatabase, type TestDatabase } from './database.ts';
import { addTwinRows, twinSeed } from './twins.ts';

export interface TwinStores {
  readonly db: Database;
  readonly pool: Pool;
  /** Resolves with all that `work` changed in the database. */
  readonly changes: (work: () => Promise<unknown>) => Promise<Changes>;
}

let original: Promise<TestDatabase> | null = null;
afterAll(async () => {
  await (await original)?.drop();
});

/** Opens the twins in a database of its own, which is dropped when the test has finished. */
export async function openTwinStores(): Promise<TwinStores> {
  const database = await cloneDatabase(await (original ??= loadTwins()));
  const db = open(database);
  onTestFinished(async () => {
    await db.close();
    await database.drop();
  });
  return { db, pool: db.pool, changes: (work) => changesOf(db.pool, work) };
}

async function loadTwins(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  await loadTestSeed(database, twinSeed());
  const db = open(database);
  await addTwinRows(db, 'http://127.0.0.1:9');
  await db.close();
  return database;
}

function open({ url }: TestDatabase): Database {
  return openDatabase({ url, poolMax: 4, onError: () => undefined });
}
