// The rows of a database are copied once and put back after each test: that takes a tenth of the
// time that another API with a database of its own takes.
import type { Pool } from 'pg';
import type { TestApi } from './api.ts';
import { atEnd } from './at-end.ts';
import { openSturdyPool } from './pool.ts';
import { writeInAnyOrder } from './shards.ts';
import { marksOf } from './table-marks.ts';
import { readWrittenColumns } from './written-columns.ts';

/** What graphile-worker keeps of jobs. No test begins with any. */
const JOB_TABLES = ['jobs', 'job_queues'].map((name) => `graphile_worker._private_${name}`);

const putters = new WeakMap<TestApi['db'], () => Promise<void>>();

/**
 * Keeps the rows that the database has at the first call, and puts them back at every later one.
 * What the tests have started must have stopped.
 */
export async function putSeedBack(api: Pick<TestApi, 'db' | 'databaseUrl'>): Promise<void> {
  const putBack = putters.get(api.db);
  if (putBack) await putBack();
  else putters.set(api.db, await keepRows(api.databaseUrl));
}

async function keepRows(databaseUrl: string): Promise<() => Promise<void>> {
  const pool = openSturdyPool(databaseUrl, 1);
  atEnd(() => pool.end());
  const columns = await readWrittenColumns(pool);
  await copyRows(pool, columns.keys());
  const tables = [...columns.keys(), ...JOB_TABLES];
  let known = await marksOf(pool, tables);
  return async () => {
    const marks = await marksOf(pool, tables);
    const changed = tables.filter((table) => marks.get(table) !== known.get(table));
    if (changed.length === 0) return;
    await restoreRows(pool, columns, changed);
    known = await marksOf(pool, tables);
  };
}

/** Copies the tables into a schema of their own. */
export async function copyRows(pool: Pool, tables: Iterable<string>): Promise<void> {
  const copies = Array.from(tables, (name) => `create table backup.${name} as table ${name};`);
  await pool.query(`create schema backup; ${copies.join(' ')}`);
}

/** Puts the copied rows back. A table without columns has no copy, and is emptied. */
export async function restoreRows(
  pool: Pool,
  columns: ReadonlyMap<string, string>,
  changed: readonly string[],
): Promise<void> {
  const puts = changed.map((table) => {
    const names = columns.get(table);
    const inserted = `insert into ${table} (${names}) select ${names} from backup.${table}`;
    return `delete from ${table}${names === undefined ? '' : `; ${inserted}`}`;
  });
  await writeInAnyOrder(pool, puts);
}
