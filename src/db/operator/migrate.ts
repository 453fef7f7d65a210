/**
 * Applies prisma/migrations without Prisma's native engine, and then the migrations of
 * graphile-worker. `prisma migrate status` and `deploy` understand the result: the table of applied
 * migrations, the checksums and the advisory lock are the same as Prisma's.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger, runMigrations } from 'graphile-worker';
import { Pool, type ClientBase } from 'pg';
import { checkDistribution, distribute } from '../citus/distribution.ts';
import { requireDirect } from '../connections/poolers.ts';
import { poolToPrimary, PrimaryClient } from '../wire/primary-client.ts';
import { readMigrations, type Migration } from './migrations.ts';

export interface MigrateOptions {
  /** The folder of the migrations. Only tests set it. */
  folder?: string;
  /** Called once for a migration that cannot lock its tables and tries again. */
  onBlocked?: (name: string) => void;
  /** Whether to distribute the tables, where the database is Citus and they are not yet. */
  distribute?: boolean;
  /** Called for each table that was distributed. */
  onDistributed?: (table: string) => void;
}

/** Prisma's own key, so that `prisma migrate deploy` and we never work at the same time. */
const LOCK_KEY = 72_707_369;

/**
 * How long a migration waits for the lock of a table. Everybody else who needs the table waits
 * behind it meanwhile, and a transaction that uses the table, such as a backup, may take long.
 * It is less than `deadlock_timeout`, too, so that a deadlock ends the migration and no request.
 */
const LOCK_TIMEOUT_MS = 200;
/** Between two attempts, for those who waited. */
const RETRY_MS = 500;

/** Prisma's table of applied migrations. */
const CREATE_LEDGER = `
CREATE TABLE IF NOT EXISTS _prisma_migrations (
    id                      VARCHAR(36) PRIMARY KEY NOT NULL,
    checksum                VARCHAR(64) NOT NULL,
    finished_at             TIMESTAMPTZ,
    migration_name          VARCHAR(255) NOT NULL,
    logs                    TEXT,
    rolled_back_at          TIMESTAMPTZ,
    started_at              TIMESTAMPTZ NOT NULL DEFAULT now(),
    applied_steps_count     INTEGER NOT NULL DEFAULT 0
)`;

/**
 * Migrates the database to this version. Resolves with the names of the applied migrations. Any
 * number of processes may call it at once: one works, the others wait. Each file and its row in the
 * ledger are one transaction, so a crash leaves both or neither. Rejects if an applied file was
 * changed, or if Prisma has recorded a failed migration, and on a connection that is not direct:
 * the lock belongs to a session, and a pooler does not keep one.
 */
export async function migrate(
  databaseUrl: string,
  options: MigrateOptions = {},
): Promise<string[]> {
  const client = new PrimaryClient({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 10_000,
  });
  await client.connect();
  try {
    await requireDirect(client, 'The migration');
    await waitForLock(client);
    await checkDistribution(client, options.distribute === true);
    const applied = await applyFiles(client, options);
    await migrateJobs(databaseUrl);
    await distribute(client, options.onDistributed);
    return applied;
  } finally {
    // The end of the session releases the lock.
    await client.end();
  }
}

/**
 * Applies the migrations of graphile-worker, with a pool of ours. graphile-worker's own pool stops
 * listening for errors before it has closed its connection, and an error at that moment would end
 * the process.
 */
async function migrateJobs(databaseUrl: string): Promise<void> {
  const pool = new Pool({
    ...poolToPrimary(databaseUrl),
    max: 1,
    connectionTimeoutMillis: 10_000,
  });
  const ignore = (): void => undefined;
  pool.on('error', ignore);
  pool.on('connect', (client) => client.on('error', ignore));
  const logger = new Logger(() => ignore);
  try {
    await runMigrations({ pgPool: pool, logger });
  } finally {
    await pool.end();
  }
}

/**
 * Polls for the lock. A blocking wait would hold a snapshot, and `CREATE INDEX CONCURRENTLY` of the
 * process that has the lock waits for every snapshot.
 */
async function waitForLock(client: ClientBase): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ got: boolean }>(
      'SELECT pg_try_advisory_lock($1) AS got',
      [LOCK_KEY],
    );
    if (rows[0]?.got) return;
    await delay(50);
  }
}

async function applyFiles(client: ClientBase, options: MigrateOptions): Promise<string[]> {
  const migrations = await readMigrations(options.folder);
  await client.query(CREATE_LEDGER);
  const recorded = await readLedger(client);
  const applied: string[] = [];
  for (const migration of migrations) {
    const checksum = recorded.get(migration.name);
    if (checksum === undefined) {
      await applyFile(client, migration, options);
      applied.push(migration.name);
    } else if (checksum !== migration.checksum) {
      throw new Error(
        `The migration ${migration.name} was changed after it was applied to this database. ` +
          'Restore the file and make the change in a new migration. ' +
          '(In development you can remove the database instead.)',
      );
    }
  }
  return applied;
}

async function applyFile(
  client: ClientBase,
  migration: Migration & { sql: string },
  { onBlocked }: MigrateOptions,
): Promise<void> {
  for (let attempt = 1; !(await tryToApply(client, migration)); attempt += 1) {
    if (attempt === 1) onBlocked?.(migration.name);
    await delay(RETRY_MS);
  }
}

/** Resolves with false, and has changed nothing, if a lock that it needs is taken. */
async function tryToApply(
  client: ClientBase,
  migration: Migration & { sql: string },
): Promise<boolean> {
  const startedAt = new Date();
  await client.query('BEGIN');
  try {
    await client.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
    // Citus hands a statement on with the whole text that it came in.
    for (const sql of splitStatements(migration.sql)) await client.query(sql);
    // A file may set a search path for itself. It must not apply to the ledger.
    await client.query('RESET ALL');
    await client.query(
      `INSERT INTO _prisma_migrations
         (id, checksum, finished_at, migration_name, started_at, applied_steps_count)
       VALUES ($1, $2, clock_timestamp(), $3, $4, 1)`,
      [randomUUID(), migration.checksum, migration.name, startedAt],
    );
    await client.query('COMMIT');
    return true;
  } catch (error) {
    await client.query('ROLLBACK');
    if (isLockTaken(error)) return false;
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`The migration ${migration.name} failed and was rolled back: ${reason}`, {
      cause: error,
    });
  }
}

async function readLedger(client: ClientBase): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; checksum: string; finished: boolean }>(
    `SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS finished
       FROM _prisma_migrations
      WHERE rolled_back_at IS NULL`,
  );
  const unfinished = rows.find((row) => !row.finished);
  if (unfinished) {
    throw new Error(
      `Prisma recorded that the migration ${unfinished.name} failed. ` +
        'Check the database, then record the outcome with "prisma migrate resolve".',
    );
  }
  return new Map(rows.map(({ name, checksum }) => [name, checksum]));
}

/** What can hold a semicolon that ends no statement: comments, texts, names, function bodies. */
const OPAQUE = /--[^\n]*|\/\*[^]*?\*\/|'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\w*)\$[^]*?\$\1\$|;/g;

/** Returns the statements of a file, without those that are empty. */
export function splitStatements(sql: string): string[] {
  const ends = [...sql.matchAll(OPAQUE)].filter(([text]) => text === ';').map(({ index }) => index);
  const starts = [0, ...ends.map((end) => end + 1)];
  const statements = starts.map((start, number) => sql.slice(start, ends[number]));
  return statements.filter(
    (text) =>
      text
        .replaceAll(OPAQUE, (part) => (part.startsWith('--') || part.startsWith('/*') ? '' : part))
        .trim() !== '',
  );
}

function isLockTaken(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return code === '55P03' || code === '40P01';
}
