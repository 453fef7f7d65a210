/**
 * The migrations and database functions of this version, and whether a database has them.
 * `migrate.ts` applies them.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UNFINISHED } from '../citus/distribution.ts';
import type { Db } from '../client.ts';
import { statement } from '../statement.ts';

/**
 * A migration of prisma/migrations, or the text of a function of prisma/functions. The checksum is
 * Prisma's: SHA-256 of the file, in hex. A checkout with the line ends of Windows has the same one.
 */
export interface Migration {
  name: string;
  checksum: string;
}

/** As `Migration`, with its text. */
export interface MigrationFile extends Migration {
  sql: string;
}

const FOLDER = fileURLToPath(new URL('../../../prisma', import.meta.url));

/**
 * Returns the migrations of this version, in order, and its functions. Reads the files: call it
 * at the start of a process.
 */
export async function expectedMigrations(folder?: string): Promise<Migration[]> {
  const files = await Promise.all([readMigrations(folder), readFunctions(folder)]);
  return files.flat().map(({ name, checksum }) => ({ name, checksum }));
}

/**
 * Says that a ledger is of another application, which has none of our first migration. null: it is
 * ours, or empty. `applied`: the names in it.
 */
export function faultOfLedger(
  applied: readonly string[],
  [first]: readonly Migration[],
): string | null {
  const [other] = applied;
  if (other === undefined || first === undefined || applied.includes(first.name)) return null;
  const its = `it has ${other}, not ${first.name}`;
  return `the table _prisma_migrations is of another application: ${its}`;
}

/** What to do then. */
export const OWN_DATABASE = 'Give this service a database of its own.';

const COUNT_APPLIED = statement<{ applied: number }>(
  'migrations.countApplied',
  `select count(distinct migration_name)::int as applied
   from _prisma_migrations
   join unnest($1::text[], $2::text[]) as e (name, sum)
     on migration_name = e.name
     and checksum = e.sum
   where finished_at is not null
     and rolled_back_at is null
     and to_regclass('public.${UNFINISHED}') is null`,
);

/**
 * Whether all migrations of this version were applied, and its functions, in one short query.
 * Additional migrations and later texts of functions are accepted: in a rolling deployment the new
 * version migrates first, and the old processes must stay ready meanwhile. False until the tables
 * are distributed, if that has begun. Throws `unavailable` when the database cannot be reached.
 */
export async function isMigrated(db: Db, expected: readonly Migration[]): Promise<boolean> {
  try {
    const [row] = await db.query(COUNT_APPLIED, [
      expected.map(({ name }) => name),
      expected.map(({ checksum }) => checksum),
    ]);
    return row?.applied === expected.length;
  } catch (error) {
    if (isUndefinedTable(error)) return false;
    throw error;
  }
}

/** Throws an error for the operator if migrations of this version have not been applied. */
export async function requireMigrated(db: Db): Promise<void> {
  if (await isMigrated(db, await expectedMigrations())) return;
  throw new Error('The database is not of this version. Run "npm run migrate" first.');
}

/** Returns the migrations of prisma/migrations, in order. Only tests name another folder. */
export async function readMigrations(folder = FOLDER): Promise<MigrationFile[]> {
  const entries = await readdir(join(folder, 'migrations'), { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names
      .toSorted()
      .map((name) => readSql(name, join(folder, 'migrations', name, 'migration.sql'))),
  );
}

/** Returns the functions of prisma/functions. The ledger has them as `functions/NAME`. */
export async function readFunctions(folder = FOLDER): Promise<MigrationFile[]> {
  const files = await readdir(join(folder, 'functions'));
  return Promise.all(
    files
      .toSorted()
      .map((file) =>
        readSql(`functions/${basename(file, '.sql')}`, join(folder, 'functions', file)),
      ),
  );
}

async function readSql(name: string, path: string): Promise<MigrationFile> {
  const sql = (await readFile(path, 'utf8')).replaceAll('\r\n', '\n');
  return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
}

function isUndefinedTable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '42P01';
}
