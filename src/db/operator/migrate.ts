/**
 * Applies prisma/migrations without Prisma's native engine, then the functions of prisma/functions
 * whose text changed, and then the migrations of graphile-worker. `prisma migrate status` and
 * `deploy` understand the result: the table of applied migrations, the checksums and the advisory
 * lock are the same as Prisma's.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger, runMigrations } from 'graphile-worker';
import { DatabaseError, Pool, type ClientBase } from 'pg';
import { checkDistribution, distribute } from '../citus/distribution.ts';
import { connectDirectly } from '../connections/poolers.ts';
import { poolToPrimary, PrimaryClient } from '../wire/primary-client.ts';
import { buildIndex, concurrentIndexOf } from './concurrent-index.ts';
import { faultOfEncoding, OLDEST_POSTGRES } from './obstacles.ts';
import {
  faultOfLedger,
  OWN_DATABASE,
  readFunctions,
  readMigrations,
  type Migration,
  type MigrationFile,
} from './migrations.ts';
import { unlimitedText } from '../unlimited.ts';

export interface MigrateOptions {
  /** The folder with `migrations/` and `functions/`. Only tests set it. */
  folder?: string;
  /** Called once for a migration that cannot lock its tables and tries again. */
  onBlocked?: (name: string) => void;
  /** Called for a migration that builds an index beside the writers, which may take minutes. */
  onIndex?: (name: string) => void;
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

/** A limit would cancel a long `CREATE INDEX CONCURRENTLY` at each attempt. */
const UNLIMITED = unlimitedText('session');

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
 * Migrates the database to this version. Resolves with the names of the applied migrations and
 * functions. Any number of processes may call it at once: one works, the others wait. Each
 * migration and its row in the ledger are one transaction, and so are all functions, so a crash
 * leaves both or neither. `concurrent-index.ts` has the exception. Rejects if an applied migration
 * was changed, if Prisma has recorded a failed one, if Postgres is too old, and on a connection
 * that is not direct: the lock belongs to a session, and a pooler does not keep one.
 */
export async function migrate(
  databaseUrl: string,
  options: MigrateOptions = {},
): Promise<string[]> {
  const client = new PrimaryClient({
    connectionString: databaseUrl,
    connectionTimeoutMillis: 10_000,
  });
  await connectDirectly(client, 'The migration');
  try {
    await requireFitting(client);
    await client.query(UNLIMITED);
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
 * Throws if Postgres is too old, as what it does not know would be a syntax error, or if the
 * database cannot store every text.
 */
async function requireFitting(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ version: string; encoding: string }>(
    `SELECT current_setting('server_version') AS version,
       current_setting('server_encoding') AS encoding`,
  );
  const { version = '', encoding = '' } = rows[0] ?? {};
  if (Number.parseInt(version, 10) < OLDEST_POSTGRES)
    throw new Error(`Postgres ${version} is too old. Upgrade it to ${OLDEST_POSTGRES} or newer.`);
  const fault = faultOfEncoding(encoding);
  if (fault !== null) throw new Error(`Nothing was migrated: ${fault.says}. ${fault.remedy}`);
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
  const functions = await readFunctions(options.folder);
  await client.query(CREATE_LEDGER);
  const recorded = await readLedger(client, migrations);
  const applied: string[] = [];
  for (const migration of migrations) {
    const checksum = recorded.get(migration.name);
    if (checksum === undefined) {
      await apply(client, migration, options);
      applied.push(migration.name);
    } else if (checksum !== migration.checksum) {
      throw new Error(
        `The migration ${migration.name} was changed after it was applied to this database. ` +
          'Restore the file and make the change in a new migration. ' +
          '(In development you can remove the database instead.)',
      );
    }
  }
  const changed = functions.filter(({ name, checksum }) => recorded.get(name) !== checksum);
  if (changed.length > 0) await applyTogether(client, changed, options);
  return [...applied, ...changed.map(({ name }) => name)];
}

async function apply(
  client: ClientBase,
  migration: MigrationFile,
  options: MigrateOptions,
): Promise<void> {
  const index = concurrentIndexOf(splitStatements(migration.sql));
  if (index === null) return applyTogether(client, [migration], options);
  options.onIndex?.(migration.name);
  const startedAt = new Date();
  await buildIndex(client, index).catch((error: unknown) => {
    throw failure(`migration ${migration.name} failed and can be run again`, error);
  });
  return recordFile(client, migration, startedAt);
}

/**
 * Applies the files in one transaction. While one of their statements does not get its lock, only
 * that statement is tried again: those before it may write all rows of a table each time.
 */
async function applyTogether(
  client: ClientBase,
  files: readonly MigrationFile[],
  { onBlocked }: MigrateOptions,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    const blocked = await tryToApply(client, files);
    if (blocked === null) return;
    if (attempt === 1) onBlocked?.(blocked.file);
    do await delay(RETRY_MS);
    while (await isBlocked(client, blocked.statement));
  }
}

/** Where a lock was not to be had. */
interface Blocked {
  readonly file: string;
  readonly statement: string;
}

/** Resolves with the statement that needs a lock that is taken, and then has changed nothing. */
async function tryToApply(
  client: ClientBase,
  files: readonly MigrationFile[],
): Promise<Blocked | null> {
  const current = { file: '', statement: '' };
  await client.query('BEGIN');
  try {
    for (const file of files) {
      current.file = file.name;
      await applyFile(client, file, (statement) => {
        current.statement = statement;
      });
    }
    await client.query('COMMIT');
    return null;
  } catch (error) {
    await client.query('ROLLBACK');
    if (isLockTaken(error)) return current;
    const kind = current.file.startsWith('functions/') ? 'file' : 'migration';
    throw failure(`${kind} ${current.file} failed and was rolled back`, error);
  }
}

/**
 * Whether a statement alone does not get its lock. With the lock it may work for as long as it
 * would have waited, and is rolled back. Any other end, such as that it needs those before it, says
 * nothing of the lock: then it counts as free.
 */
async function isBlocked(client: ClientBase, statement: string): Promise<boolean> {
  await client.query('BEGIN');
  try {
    await client.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
    await client.query(`SET LOCAL statement_timeout = ${2 * LOCK_TIMEOUT_MS}`);
    await client.query(statement);
    return false;
  } catch (error) {
    return isLockTaken(error);
  } finally {
    await client.query('ROLLBACK');
  }
}

function failure(what: string, error: unknown): Error {
  const reason = error instanceof Error ? error.message : String(error);
  const hint = error instanceof DatabaseError && error.hint ? ` (${error.hint})` : '';
  return new Error(`The ${what}: ${reason}${hint}`, { cause: error });
}

async function applyFile(
  client: ClientBase,
  file: MigrationFile,
  onStatement: (statement: string) => void,
): Promise<void> {
  const startedAt = new Date();
  await client.query(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
  // Citus hands a statement on with the whole text that it came in.
  for (const statement of splitStatements(file.sql)) {
    onStatement(statement);
    await client.query(statement);
  }
  // A file may set a search path for itself. It must not apply to the ledger.
  await client.query('RESET ALL');
  await client.query(UNLIMITED);
  await recordFile(client, file, startedAt);
}

async function recordFile(
  client: ClientBase,
  { name, checksum }: MigrationFile,
  startedAt: Date,
): Promise<void> {
  await client.query(
    `INSERT INTO _prisma_migrations
       (id, checksum, finished_at, migration_name, started_at, applied_steps_count)
     VALUES ($1, $2, clock_timestamp(), $3, $4, 1)`,
    [randomUUID(), checksum, name, startedAt],
  );
}

/** The checksum of each name. Of a function, that of the text that was applied last. */
async function readLedger(
  client: ClientBase,
  migrations: readonly Migration[],
): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; checksum: string; finished: boolean }>(
    `SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS finished
       FROM _prisma_migrations
      WHERE rolled_back_at IS NULL
      ORDER BY finished_at`,
  );
  const foreign = faultOfLedger(
    rows.map(({ name }) => name),
    migrations,
  );
  if (foreign !== null) throw new Error(`Nothing was migrated: ${foreign}. ${OWN_DATABASE}`);
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
