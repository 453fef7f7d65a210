// How a race is made certain: a lock that the test holds, and what has come to wait for it.
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { onTestFinished } from 'vitest';
import type { TestApi } from './api.ts';

/** Holds what `statement` locks until the returned function is called, or the test ends. */
export async function holdLock(
  { databaseUrl }: Pick<TestApi, 'databaseUrl'>,
  statement: string,
): Promise<() => Promise<void>> {
  const holder = new Client({ connectionString: databaseUrl });
  await holder.connect();
  let ended: Promise<void> | null = null;
  const release = () => (ended ??= holder.end());
  onTestFinished(release);
  await holder.query(`begin; ${statement}`);
  return release;
}

/** Until so many statements of this database wait for a lock. */
export async function untilWaiting({ db }: Pick<TestApi, 'db'>, count: number): Promise<void> {
  const waiting = `select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  while (((await db.pool.query(waiting)).rowCount ?? 0) < count) await delay(5);
}
