// Makes races certain: a test holds a lock and waits until other sessions wait for it.
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { onTestFinished } from 'vitest';
import type { TestApi } from './api.ts';

/** Holds the locks of `statement` until the returned function is called or the test ends. */
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

const WAITING = `from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock'`;

/**
 * Resolves when at least `count` statements of this database wait for a lock; with `like`, only
 * statements whose text matches that pattern count.
 */
export async function untilWaiting(
  { db }: Pick<TestApi, 'db'>,
  count: number,
  like = '%',
): Promise<void> {
  while ((await countWaiting(db, like)) < count) await delay(5);
}

/** Resolves when no statement like this waits for a lock. */
export async function untilNoneWaits({ db }: Pick<TestApi, 'db'>, like: string): Promise<void> {
  while ((await countWaiting(db, like)) > 0) await delay(5);
}

async function countWaiting(db: TestApi['db'], like: string): Promise<number> {
  return (await db.pool.query(`select ${WAITING} and query ilike $1`, [like])).rowCount ?? 0;
}

/**
 * Ends the sessions that wait for a lock, and resolves when they have ended. This is what happens
 * when Postgres notices that their client's machine is gone.
 */
export async function endWaiting({ db }: Pick<TestApi, 'db'>): Promise<void> {
  await db.pool.query(`select pg_terminate_backend(pid, 5000) ${WAITING}`);
}
