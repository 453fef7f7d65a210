// Stores, called directly on the database of the twin tenants: for each row that a statement is for
// there are others that differ from it in one condition only.
import { Client, type Pool } from 'pg';
import type { Tx } from '../../src/db/client.ts';
import type { Database } from '../../src/db/connections/database.ts';
import { loadTestSeed } from './api.ts';
import { atEnd } from './at-end.ts';
import { changesOf, type Changes } from './changed-rows.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { holdLock, untilWaiting } from './locks.ts';
import { openSturdyPool } from './pool.ts';
import { writeInAnyOrder } from './shards.ts';
import { marksOf } from './table-marks.ts';
import { addTwinRows, twinSeed } from './twins.ts';
import { readWrittenColumns } from './written-columns.ts';
import { openTestDatabase } from './wire.ts';
import { wholePrisma } from './whole-prisma.ts';

export interface TwinStores {
  readonly db: Database;
  readonly pool: Pool;
  readonly url: string;
  /** Resolves with all that `work` changed in the database. */
  readonly changes: (work: () => Promise<unknown>) => Promise<Changes>;
  /** Resolves with all that `work` changed in one transaction. */
  readonly changesIn: (work: (tx: Tx) => unknown) => Promise<Changes>;
  /** Runs `work` in a transaction. */
  readonly inTransaction: <T>(work: (tx: Tx) => T | Promise<T>) => Promise<T>;
  /** Resolves with the keys of the rows of `table` that a transaction locks by `work`. */
  readonly lockedBy: (table: string, work: (tx: Tx) => unknown) => Promise<string[]>;
  /**
   * Resolves with the keys of the rows of `table` that are locked when `work` waits for rows that
   * another transaction holds, those included.
   */
  readonly lockedBefore: (
    held: string,
    table: string,
    work: () => Promise<unknown>,
  ) => Promise<string[]>;
  /** Runs `work` while another transaction holds rows: `webhook_endpoint where id = 'whe_1'`. */
  readonly whileLocked: <T>(rows: string, work: () => Promise<T>) => Promise<T>;
}

interface Opened extends TwinStores {
  /** Gives every row back as it was loaded. */
  readonly restore: () => Promise<void>;
}

interface Loaded {
  readonly database: TestDatabase;
  /** Table → its columns. */
  readonly tables: ReadonlyMap<string, string>;
}

let opened: Promise<Opened> | null = null;
let loaded: Promise<Loaded> | null = null;

/**
 * Opens the twins, with every row as it was loaded, until the test file ends. The tests of a
 * process share one database: to write back the tables that have changed takes a few milliseconds,
 * to load it several hundred.
 */
export async function openTwinStores(): Promise<TwinStores> {
  const twins = await (opened ??= open());
  await twins.restore();
  return twins;
}

async function open(): Promise<Opened> {
  const { database, tables } = await (loaded ??= load());
  const db = openTwinDatabase(database);
  atEnd(() => {
    opened = null;
    return db.close();
  });
  const databaseUrl = database.url;
  // Its plan stays known there. To restore makes a connection forget all plans.
  const watching = openSturdyPool(databaseUrl, 1);
  atEnd(() => watching.end());
  const readMarks = () => marksOf(watching, tables.keys());
  let marks: ReadonlyMap<string, string> | null = null;
  const restore = async (): Promise<void> => {
    const found = await readMarks();
    const changed = [...tables].filter(
      ([name]) => marks === null || marks.get(name) !== found.get(name),
    );
    await writeInAnyOrder(db.pool, [
      ...changed.map(([name]) => `delete from public.${name}`),
      ...changed.map(
        ([name, columns]) =>
          `insert into public.${name} (${columns}) select ${columns} from original.${name}`,
      ),
      'delete from graphile_worker._private_jobs',
    ]);
    if (changed.length > 0) marks = await readMarks();
  };
  const inTransaction: TwinStores['inTransaction'] = (work) =>
    db.transaction(async (tx) => work(tx));
  return {
    db,
    pool: db.pool,
    url: databaseUrl,
    changes: (work) => changesOf(db.pool, work),
    changesIn: (work) => changesOf(db.pool, () => inTransaction(work)),
    inTransaction,
    lockedBy: (table, work) =>
      inTransaction(async (tx) => {
        await work(tx);
        // What was sent before has run when this one has.
        await wholePrisma(tx).$executeRaw`select`;
        return readLocked(db.pool, table, 'update');
      }),
    lockedBefore: async (held, table, work) => {
      const release = await holdLock({ databaseUrl }, `select from ${held} for no key update`);
      const working = work();
      await Promise.race([working, untilWaiting({ db }, 1)]);
      const locked = await readLocked(db.pool, table, 'no key update');
      await release();
      await working;
      return locked;
    },
    whileLocked: (rows, work) =>
      whileSession(databaseUrl, `begin; select from ${rows} for update`, work),
    restore,
  };
}

/** Thousands of rows, written in one statement, take seconds on a busy machine. */
function openTwinDatabase({ url }: TestDatabase): Database {
  const limits = { statementTimeoutMs: 120_000, answerTimeoutMs: 125_000 };
  return openTestDatabase({ url, poolMax: 4, ...limits });
}

/** The database goes with the test server. */
async function load(): Promise<Loaded> {
  const database = await createTestDatabase();
  await loadTestSeed(database, twinSeed());
  const db = openTwinDatabase(database);
  await addTwinRows(db, 'http://127.0.0.1:9');
  const tables = await copyTables(db.pool);
  await db.close();
  return { database, tables };
}

/** Copies every table into the schema `original`. Resolves with the columns to write back. */
async function copyTables(pool: Pool): Promise<ReadonlyMap<string, string>> {
  const columns = await readWrittenColumns(pool);
  await pool.query(
    [
      'create schema original',
      ...Array.from(columns.keys(), (name) => `create table original.${name} as table ${name}`),
    ].join(';\n'),
  );
  return columns;
}

/** Runs `work` while another session, on any database, stays open that ran `text`. */
export async function whileSession<T>(
  url: string,
  text: string,
  work: () => Promise<T>,
): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(text);
    return await work();
  } finally {
    await client.end();
  }
}

/** Keys of the rows that somebody has locked. */
async function readLocked(
  pool: Pool,
  table: string,
  mode: 'update' | 'no key update',
): Promise<string[]> {
  const { rows } = await pool.query<{ key: string }>(
    `with free as materialized (select ctid from ${table} for ${mode} skip locked)
     select concat_ws(' ', r ->> 'team_id', r ->> 'id', r ->> 'day', r ->> 'key_id') as key
     from ${table} t, to_jsonb(t) r
     where ctid not in (select ctid from free)
     order by 1`,
  );
  return rows.map(({ key }) => key);
}
