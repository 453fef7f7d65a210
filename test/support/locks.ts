// Makes races certain: a test holds a lock and waits until other sessions wait for it.
import { Client } from 'pg';
import { onTestFinished } from 'vitest';
import type { TestApi } from './api.ts';
import { until } from './until.ts';

/** On Citus a row is locked in its shard, which the team tells. `catalog_entry` is everywhere. */
const TELLS_SHARD = /\bteam_id = |\bfrom (team|catalog_entry) /;

/** Holds the locks of `statement` until the returned function is called or the test ends. */
export async function holdLock(
  { databaseUrl }: Pick<TestApi, 'databaseUrl'>,
  statement: string,
): Promise<() => Promise<void>> {
  if (/\bfor .*(update|share)\b/.test(statement) && !TELLS_SHARD.test(statement))
    throw new Error(`Citus needs the team of a lock: ${statement}`);
  const holder = new Client({ connectionString: databaseUrl });
  await holder.connect();
  let ended: Promise<void> | null = null;
  const release = () => (ended ??= holder.end());
  onTestFinished(release);
  await holder.query('begin');
  await holder.query(statement);
  return release;
}

/**
 * Makes a call that waits for the locks of `lock`. Meanwhile the transaction that holds them makes
 * the change. Resolves with what the call does then.
 */
export async function changeWhileWaiting<T>(
  api: Pick<TestApi, 'databaseUrl' | 'db'>,
  { lock, change }: { readonly lock: string; readonly change: string },
  call: () => Promise<T>,
): Promise<T> {
  const holder = new Client({ connectionString: api.databaseUrl });
  onTestFinished(() => holder.end());
  await holder.connect();
  await holder.query('begin');
  await holder.query(lock);
  const outcome = call();
  await untilWaiting(api, 1);
  await holder.query(change);
  await holder.query('commit');
  await holder.end();
  return outcome;
}

/**
 * A statement that locks the whole table against everything, until its transaction ends. It changes
 * nothing, if `column` may not be null. Unlike LOCK TABLE it goes to the shards, too, where the
 * database is Citus.
 */
export function lockWhole(table: string, column = 'team_id'): string {
  return `alter table ${table} alter column ${column} set not null`;
}

/** Where the waiting are looked for. */
type Watched = Pick<TestApi['db'], 'pool'>;

const WAITING = `from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock'`;

/**
 * Resolves when at least `count` statements of this database wait for a lock; with `like`, only
 * statements whose text matches that pattern count.
 */
export async function untilWaiting(
  { db }: { readonly db: Watched },
  count: number,
  like = '%',
): Promise<void> {
  await until(async () => (await countWaiting(db, like)) >= count);
}

/**
 * Begins it again until a statement like this has been seen to wait for a lock. What has a short
 * limit of its own may have given up before anybody looks.
 */
export async function beginToWait<T>(
  at: { readonly db: Watched },
  begin: () => Promise<T>,
  like = '%',
): Promise<{ readonly outcome: Promise<T> }> {
  for (;;) {
    let isOver = false;
    const outcome = begin();
    const end = (): void => {
      isOver = true;
    };
    void outcome.then(end, end);
    const isWaiting = async (): Promise<boolean> => (await countWaiting(at.db, like)) > 0;
    if ((await until(async () => ((await isWaiting()) ? 'waits' : isOver && 'over'))) === 'waits')
      return { outcome };
    await outcome;
  }
}

/** Resolves when no statement like this waits for a lock. */
export async function untilNoneWaits({ db }: Pick<TestApi, 'db'>, like: string): Promise<void> {
  await until(async () => (await countWaiting(db, like)) === 0);
}

/** Asks on a connection of its own: on a shared one it would wait behind the waiting statement. */
async function isCluster(db: Watched): Promise<boolean> {
  const { rows } = await db.pool.query<{ is_cluster: boolean }>(
    `select to_regclass('citus_stat_activity') is not null as is_cluster`,
  );
  return rows[0]?.is_cluster === true;
}

/** Returns how many statements of this database wait for a lock. */
export async function countWaiting(db: Watched, like = '%'): Promise<number> {
  // On Citus statements wait at the nodes, and this view shows those of all.
  const view = (await isCluster(db)) ? 'citus_stat_activity' : 'pg_stat_activity';
  const waiting = WAITING.replace('pg_stat_activity', view);
  return (await db.pool.query(`select ${waiting} and query ilike $1`, [like])).rowCount ?? 0;
}

/**
 * Ends the sessions that wait for a lock, and resolves when they have ended. This is what happens
 * when Postgres notices that their client's machine is gone.
 */
export async function endWaiting({ db }: Pick<TestApi, 'db'>): Promise<void> {
  await runAtNodes(db, `select count(pg_terminate_backend(pid, 5000)) ${WAITING}`);
}

/** Cancels the statements that sleep, as a limit on their time does. */
export async function cancelSleeping({ db }: Pick<TestApi, 'db'>): Promise<void> {
  await runAtNodes(
    db,
    `select count(pg_cancel_backend(pid))
     from pg_stat_activity
     where datname = current_database() and wait_event = 'PgSleep'`,
  );
}

async function runAtNodes(db: Watched, sql: string): Promise<void> {
  await db.pool.query((await isCluster(db)) ? `select run_command_on_all_nodes($$${sql}$$)` : sql);
}
