import { randomInt } from 'node:crypto';
import pg from 'pg';

/**
 * An advisory lock that this process holds in a session of its own. It shows others that the
 * process is alive: whatever ends the process also ends the session and with it the lock. Needs a
 * direct connection to Postgres, because PgBouncer's transaction mode does not keep a session.
 */
export interface SessionLock {
  /** The number of the lock within its class. */
  readonly number: number;
  /** Whether the lock is held. If the session was lost, tries to take it again. Never rejects. */
  isHeld(): Promise<boolean>;
  /** Gives up the lock. */
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 2_000;
const QUERY_TIMEOUT_MS = 5_000;
const NUMBER_MAX = 2 ** 31 - 1;

/**
 * With these settings the server ends the session of a dead machine after seconds. TCP by itself
 * takes hours.
 */
const NOTICE_DEAD_HOSTS =
  'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3';

/**
 * Takes the lock `number` of a class; a random number by default. Resolves even if the lock could
 * not be taken (see `isHeld`).
 */
export async function holdSessionLock(
  databaseUrl: string,
  lockClass: number,
  number: number = randomInt(1, NUMBER_MAX),
): Promise<SessionLock> {
  let session: pg.Client | null = null;
  let taking: Promise<boolean> | null = null;

  const take = async (): Promise<boolean> => {
    const client = newClient(databaseUrl);
    let isLost = false;
    const lose = (): void => {
      isLost = true;
      if (session === client) session = null;
    };
    client.on('error', lose);
    client.on('end', lose);
    if ((await tryLock(client, lockClass, number)) && !isLost) {
      session = client;
      return true;
    }
    await client.end().catch(lose);
    return false;
  };

  const isHeld = (): Promise<boolean> => {
    if (session) return Promise.resolve(true);
    taking ??= take().finally(() => {
      taking = null;
    });
    return taking;
  };

  await isHeld();
  return {
    number,
    isHeld,
    close: async () => {
      await session?.end();
    },
  };
}

function newClient(databaseUrl: string): pg.Client {
  return new pg.Client({
    connectionString: databaseUrl,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
  });
}

/** Connects and takes the lock. Returns false if another session has it, or without a database. */
async function tryLock(client: pg.Client, lockClass: number, number: number): Promise<boolean> {
  try {
    await client.connect();
    await client.query(NOTICE_DEAD_HOSTS);
    const { rows } = await client.query<{ taken: boolean }>(
      'select pg_try_advisory_lock($1, $2) as taken',
      [lockClass, number],
    );
    return rows[0]?.taken === true;
  } catch {
    // The database cannot be reached. The caller tries again.
    return false;
  }
}
