/** What keeps the service from working on a database, in words that anybody may read. */
import type { Db } from '../client.ts';
import type { Database } from '../connections/database.ts';
import type { FollowingClock } from '../database-clock.ts';
import { isStandby, isUnavailable } from '../errors.ts';
import { statement } from '../statement.ts';
import { isMigrated, type Migration } from './migrations.ts';

/** The oldest version of Postgres that knows what migrations and stores say. */
export const OLDEST_POSTGRES = 15;

/** The names are part of `/readyz` and of the log. None tells more about the database. */
export const OBSTACLES = [
  'database_unreachable',
  'database_login_refused',
  'database_certificate',
  'too_many_connections',
  'database_read_only',
  'database_standby',
  'pooler_without_prepared_statements',
  'disk_full',
  'migrations_pending',
  'database_error',
] as const;
export type Obstacle = (typeof OBSTACLES)[number];

const READ_ONLY = statement<{ read_only: boolean; at: string }>(
  'obstacles.readOnly',
  `select current_setting('transaction_read_only')::boolean as read_only,
     date_trunc('milliseconds', clock_timestamp()) as at`,
);

export const ENCODING = statement<{ encoding: string }>(
  'obstacles.encoding',
  `select current_setting('server_encoding') as encoding`,
);

/** What is wrong with the encoding of a database, and what to do. null: it stores every text. */
export function faultOfEncoding(
  encoding: string,
): { readonly says: string; readonly remedy: string } | null {
  if (encoding === 'UTF8') return null;
  return {
    says: `the database has the encoding ${encoding}, which cannot store every text`,
    remedy: `Create one with ENCODING 'UTF8' TEMPLATE template0, and restore a dump there.`,
  };
}

/** Returns why no process can work on this database because of its encoding. null: it can. */
export async function findEncodingFault(db: Db): Promise<string | null> {
  const [row] = await db.query(ENCODING, []);
  const fault = faultOfEncoding(row?.encoding ?? '');
  return fault && `${fault.says}. ${fault.remedy}`;
}

/** `SPILL` needs more than this memory, so Postgres must write a file. */
export const LITTLE_MEMORY = statement(
  'obstacles.useLittleMemory',
  `select set_config('work_mem', '64kB', true)`,
);
export const SPILL = statement('obstacles.spill', 'select count(*) from generate_series(1, 5000)');

/**
 * Looks for an obstacle that the database itself tells: it cannot be written, it has not the
 * migrations of this version, or a pooler before it loses statements. null: none. Rejects if the
 * database does not answer or refuses; see {@link obstacleOf}. `clock` hears the database's time.
 */
export async function findObstacle(
  db: Database,
  migrations: readonly Migration[],
  clock?: FollowingClock,
): Promise<Obstacle | null> {
  if (await db.losesStatements()) return 'pooler_without_prepared_statements';
  const askedMs = clock?.monotonicMs() ?? 0;
  const [state] = await db.query(READ_ONLY, []);
  if (state) clock?.hear(state.at, askedMs);
  if (state?.read_only) return 'database_read_only';
  return (await isMigrated(db, migrations)) ? null : 'migrations_pending';
}

/**
 * Resolves if Postgres can get new space on its disk, and rejects with its error if not. Writes a
 * small file for a moment. Changing rows would not tell: pages that exist already have room.
 */
export async function tryDiskSpace(db: Db): Promise<void> {
  await db.transaction(async (tx) => {
    tx.send(LITTLE_MEMORY, []);
    tx.send(SPILL, []);
  });
}

/** Returns the obstacle that an error of the database means. */
export function obstacleOf(error: unknown): Obstacle {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    // One error for each host: a host that answers tells more than one that is gone.
    if (cause instanceof AggregateError) {
      const obstacles = cause.errors.map(obstacleOf);
      return obstacles.find((found) => found !== 'database_unreachable') ?? 'database_unreachable';
    }
    if (isCertificateRefused(cause)) return 'database_certificate';
    if (isStandby(cause)) return 'database_standby';
    const state = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    const known = BY_STATE.find(([states]) => states.test(state));
    if (known) return known[1];
  }
  return isUnavailable(error) ? 'database_unreachable' : 'database_error';
}

/**
 * Whether we have refused the database's certificate: of an authority that we do not trust, of
 * another host, or outside of its time. Node has OpenSSL's names as codes.
 */
function isCertificateRefused(error: Error): boolean {
  return (
    'code' in error &&
    typeof error.code === 'string' &&
    /^(?:CERT_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_SELF_SIGNED_|ERR_TLS_CERT_)/.test(error.code)
  );
}

/**
 * Obstacles by SQLSTATE: a wrong password or database, a full disk, no connection left, a database
 * that cannot be written, a pooler that loses statements.
 */
const BY_STATE: readonly (readonly [RegExp, Obstacle])[] = [
  [/^25006$/, 'database_read_only'],
  [/^(?:26000|42P05)$/, 'pooler_without_prepared_statements'],
  [/^(?:28|3D)[0-9A-Z]{3}$/, 'database_login_refused'],
  [/^53100$/, 'disk_full'],
  [/^53300$/, 'too_many_connections'],
];
