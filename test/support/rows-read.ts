// How many rows some work reads, counted by Postgres, whoever has written its statements.
import { expect } from 'vitest';
import type { Tx } from '../../src/db/client.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { statement } from '../../src/db/statement.ts';
import type { TestApi } from './api.ts';
import { atEnd } from './at-end.ts';
import type { Mode } from './plans.ts';
import { openPatiently } from './wire.ts';

const READ_MODE = statement<{ readonly mode: string }>(
  'test.readMode',
  `select current_setting('plan_cache_mode') as mode`,
);
const COUNT_READ = statement<{ readonly rows: string }>(
  'test.countRead',
  `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) as rows from pg_stat_xact_user_tables`,
);

class RolledBack extends Error {}

/** Opens the database of the API twice more: for each kind of plan, with no other one. */
export async function openByMode(api: Pick<TestApi, 'databaseUrl'>) {
  const databases = new Map<Mode, Database>();
  for (const mode of ['generic', 'custom'] as const) {
    // Part of the URL, so that each connection has it, whenever it is opened.
    const url = new URL(api.databaseUrl);
    url.searchParams.set('options', `-c plan_cache_mode=force_${mode}_plan`);
    const db = openPatiently(url.href);
    atEnd(() => db.close());
    await db.transaction(async (tx) =>
      expect(await tx.queryFirst(READ_MODE, [])).toEqual({ mode: `force_${mode}_plan` }),
    );
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
    const before = await count(tx);
    await work(tx);
    read = (await count(tx)) - before;
    throw new RolledBack();
  });
  await expect(rolledBack).rejects.toThrow(RolledBack);
  return read;
}
