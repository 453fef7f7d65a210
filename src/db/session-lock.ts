import { randomInt } from 'node:crypto';
import pg from 'pg';

/**
 * A number that this process holds an advisory lock on, by a session of its own, so that others can tell whether it lives: however a process ends, its session
 * ends, and the lock with it. Needs a direct connection to Postgres.
 */
export interface SessionLock {
  readonly number: number;
  /** Whether it is held; takes it again first when the session was lost. Never rejects. */
  isHeld(): Promise<boolean>;
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 2_000;
const QUERY_TIMEOUT_MS = 5_000;
const NUMBER_MAX = 2 ** 31 - 1;

/** The server ends a session whose host has lost its power after seconds, not after the hours that TCP takes by itself. */
const NOTICE_DEAD_HOSTS =
  'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3';

/** `number` is one of its own unless it is given. */
export async function holdSessionLock(
  databaseUrl: string,
  lockClass: number,
  number: number = randomInt(1, NUMBER_MAX),
): Promise<SessionLock> {
  let session: pg.Client | null = null;
  let taking: Promise<boolean> | null = null;

  const take = async (): Promise<boolean> => {
    const client = new pg.Client({
      connectionString: databaseUrl,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      keepAlive: true,
    });
    const lose = (): void => {
      if (session === client) session = null;
    };
    client.on('error', lose);
    client.on('end', lose);
    try {
      await client.connect();
      await client.query(NOTICE_DEAD_HOSTS);
      const { rows } = await client.query<{ taken: boolean }>(
        'select pg_try_advisory_lock($1, $2) as taken',
        [lockClass, number],
      );
      if (rows[0]?.taken === true) {
        session = client;
        return true;
      }
    } catch {
      // The database is away; the caller asks again.
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
