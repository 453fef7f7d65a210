// How many rows some work reads, counted by Postgres, whoever has written its statements.
import { expect } from 'vitest';
import type { Tx } from '../../src/db/client.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { statement } from '../../src/db/statement.ts';
import type { TestApi } from './api.ts';
import { atEnd } from './at-end.ts';
import type { Mode } from './plans.ts';
import { openPatiently } from './wire.ts';

const SET_MODE = statement<{ readonly mode: string }>(
  'test.setMode',
  `select set_config('plan_cache_mode', $1, true) as mode`,
);
const COUNT_READ = statement<{ readonly rows: string }>(
  'test.countRead',
  `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) as rows from pg_stat_xact_user_tables`,
);

class RolledBack extends Error {}

/** The kind of plan of a database that `openByMode` has opened. */
const modes = new WeakMap<Database, Mode>();

/** Opens the database of the API twice more: `rowsReadBy` uses one kind of plan with each. */
export function openByMode(api: Pick<TestApi, 'databaseUrl'>): ReadonlyMap<Mode, Database> {
  const databases = new Map<Mode, Database>();
  for (const mode of ['generic', 'custom'] as const) {
    const db = openPatiently(api.databaseUrl);
    atEnd(() => db.close());
    modes.set(db, mode);
    databases.set(mode, db);
  }
  return databases;
}

/** How many rows of tables the work reads, in a transaction that is rolled back. */
export async function rowsReadBy(
  db: Database | undefined,
  work: (tx: Tx) => unknown,
): Promise<number> {
  if (!db) throw new Error('no database');
  let read = Number.NaN;
  // The session counts on until it tells the server, which no transaction does while it runs.
  const count = async (tx: Tx) => Number((await tx.queryFirst(COUNT_READ, []))?.rows);
  const rolledBack = db.transaction(async (tx) => {
    const mode = modes.get(db);
    if (mode) await tx.queryFirst(SET_MODE, [`force_${mode}_plan`]);
    const before = await count(tx);
    await work(tx);
    read = (await count(tx)) - before;
    throw new RolledBack();
  });
  await expect(rolledBack).rejects.toThrow(RolledBack);
  return read;
}
