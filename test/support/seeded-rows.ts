// The tests of a file may share an API, and each begins with the rows of the seed: to put them back
// takes a tenth of the time that another API takes.
import type { Pool } from 'pg';
import type { TestApi } from './api.ts';
import { writeInAnyOrder } from './shards.ts';
import { readWrittenColumns } from './written-columns.ts';

/** The statements that put the rows back, by the pool of their database. */
const statements = new WeakMap<Pool, readonly string[]>();

/**
 * Keeps the rows that the database has at the first call, and puts them back at every later one.
 * What the tests have started must have stopped.
 */
export async function putSeedBack({ db: { pool } }: Pick<TestApi, 'db'>): Promise<void> {
  const known = statements.get(pool);
  if (known) return writeInAnyOrder(pool, known);
  statements.set(pool, await keepRows(pool));
}

async function keepRows(pool: Pool): Promise<readonly string[]> {
  const columns = await readWrittenColumns(pool);
  const tables = [...columns.keys()];
  const { rows } = await pool.query<{ table: string }>(
    tables
      .map((table) => `select '${table}' as table where exists (select from ${table})`)
      .join('\nunion all\n'),
  );
  const filled = rows.map(({ table }) => table);
  await pool.query(
    [
      'create schema kept',
      ...filled.map((table) => `create table kept.${table} as table ${table}`),
    ].join(';\n'),
  );
  return [
    ...tables.map((table) => `delete from ${table}`),
    ...['jobs', 'job_queues'].map((table) => `delete from graphile_worker._private_${table}`),
    ...filled.map((table) => {
      const names = columns.get(table);
      return `insert into ${table} (${names}) select ${names} from kept.${table}`;
    }),
  ];
}
