/** The migrations of this version, and whether a database has them. `migrate.ts` applies them. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UNFINISHED } from '../citus/distribution.ts';
import type { Db } from '../client.ts';
import { statement } from '../statement.ts';

/** A migration in prisma/migrations. The checksum is Prisma's: SHA-256 of the file, in hex. */
export interface Migration {
  name: string;
  checksum: string;
}

const MIGRATIONS_FOLDER = fileURLToPath(new URL('../../../prisma/migrations', import.meta.url));

/** Returns the migrations of this version, in order. Reads the files: call it once per process. */
export async function expectedMigrations(folder?: string): Promise<Migration[]> {
  return (await readMigrations(folder)).map(({ name, checksum }) => ({ name, checksum }));
}

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
 * Whether all migrations of this version are applied, in one short query. Additional migrations are
 * accepted: in a rolling deployment the new version migrates first, and the old processes must
 * stay ready meanwhile. False until the tables are distributed, if that has begun.
 * Throws `unavailable` when the database cannot be reached.
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

/** As `expectedMigrations`, with their texts. */
export async function readMigrations(
  folder = MIGRATIONS_FOLDER,
): Promise<Array<Migration & { sql: string }>> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name);
  return Promise.all(
    names.toSorted().map(async (name) => {
      const sql = await readFile(join(folder, name, 'migration.sql'), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

function isUndefinedTable(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === '42P01';
}
