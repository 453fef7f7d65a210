/**
 * The canary of APP_SECRET: one row that was encrypted with the secret of this database. A process
 * whose secrets cannot open it would fail every delivery, and write values that no other process
 * can read. It must not start.
 */
import { encrypt, opens, reencrypt, type AppSecrets } from '../../core/encryption.ts';
import { statement, type Db } from '../client.ts';
import { openDatabase } from '../connections/database.ts';
import { requireMigrated } from './migrations.ts';
import { readSomeEncrypted } from './rotate-secret.ts';

const TEXT = 'the APP_SECRET of this database';
const CONTEXT = 'app_secret_canary.sealed';

export const READ = statement<{ sealed: Buffer }>(
  'appSecret.read',
  'select sealed from app_secret_canary',
);

const WRITE_FIRST = statement(
  'appSecret.writeFirst',
  'insert into app_secret_canary (sealed) values ($1) on conflict do nothing',
);

const REPLACE = statement(
  'appSecret.replace',
  'update app_secret_canary set sealed = $1 where sealed = $2',
);

/**
 * Returns why a process with these secrets must not run on this database, for its operator, or null
 * if it may. The first process writes the canary; of several first ones, the others must agree with
 * the one that wrote it. Needs a migrated database.
 */
export async function findAppSecretFault(db: Db, secrets: AppSecrets): Promise<string | null> {
  const found = (await db.query(READ, []))[0] ?? (await writeFirst(db, secrets));
  return found ? faultOfCanary(found.sealed, secrets) : faultOf(secrets);
}

/**
 * Throws an error for the operator if a process with these secrets must not run, or if the database
 * is not migrated. Writes nothing, for a dry run: where there is no canary yet, the values that are
 * stored decide.
 */
export async function checkAppSecret(db: Db, secrets: AppSecrets): Promise<void> {
  await requireMigrated(db);
  const [found] = await db.query(READ, []);
  const mayRun = found
    ? opens(found.sealed, secrets, CONTEXT)
    : (await findFirstSecret(db, secrets)) !== undefined;
  if (!mayRun) throw new Error(faultOf(secrets));
}

/** Like {@link findAppSecretFault}, for the canary that `READ` has found. Writes nothing. */
export function faultOfCanary(sealed: Buffer, secrets: AppSecrets): string | null {
  return opens(sealed, secrets, CONTEXT) ? null : faultOf(secrets);
}

/**
 * Throws an error for the operator if a process with these secrets must not run, or if the database
 * is not migrated.
 */
export async function requireAppSecret(db: Db, secrets: AppSecrets): Promise<void> {
  await requireMigrated(db);
  const fault = await findAppSecretFault(db, secrets);
  if (fault !== null) throw new Error(fault);
}

/** Like {@link requireAppSecret}, on a connection of its own. null: no secret will be used. */
export async function requireAppSecretAt(url: string, secrets: AppSecrets | null): Promise<void> {
  const db = openDatabase({ url, poolMax: 1, onError: () => undefined });
  try {
    await (secrets === null ? requireMigrated(db) : requireAppSecret(db, secrets));
  } finally {
    await db.close();
  }
}

/**
 * Encrypts the canary with the current secret. From then on, no process starts without it. Call it
 * at the end of a rotation (`rotateSecret`), after {@link requireAppSecret}.
 */
export async function rotateCanary(db: Db, secrets: AppSecrets): Promise<void> {
  const [found] = await db.query(READ, []);
  const sealed = found && reencrypt(found.sealed, secrets, CONTEXT);
  if (sealed) await db.query(REPLACE, [sealed, found.sealed]);
}

/**
 * Writes the canary with the secret that opens the values that are stored already. Returns the
 * canary, which may be another process's, or undefined if neither secret opens any value.
 */
async function writeFirst(db: Db, secrets: AppSecrets): Promise<{ sealed: Buffer } | undefined> {
  const secret = await findFirstSecret(db, secrets);
  if (secret === undefined) return undefined;
  await db.query(WRITE_FIRST, [encrypt(TEXT, secret, CONTEXT)]);
  return (await db.query(READ, []))[0];
}

/** Returns the secret that opens values that are stored, or undefined if neither opens one. */
async function findFirstSecret(db: Db, secrets: AppSecrets): Promise<string | undefined> {
  const stored = await readSomeEncrypted(db);
  const { current, previous } = secrets;
  return [current, ...(previous === null ? [] : [previous])].find(
    (candidate) =>
      stored.length === 0 ||
      stored.some(({ sealed, context }) =>
        opens(sealed, { current: candidate, previous: null }, context),
      ),
  );
}

function faultOf({ previous }: AppSecrets): string {
  const names =
    previous === null
      ? 'APP_SECRET is not the secret'
      : 'Neither APP_SECRET nor APP_SECRET_PREVIOUS is the secret';
  return (
    `${names} of this database: what is stored there was encrypted with another one. ` +
    'Set the secret that the other processes use. To change it, set the old one as ' +
    'APP_SECRET_PREVIOUS until "npm run rotate-secret" is done.'
  );
}
