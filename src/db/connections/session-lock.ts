import { randomInt } from 'node:crypto';
import { systemClock, type Clock } from '../../core/clock.ts';
import { PrimaryClient } from '../wire/primary-client.ts';
import { connectDirectly } from './poolers.ts';

/**
 * An advisory lock that this process holds in a session of its own. It shows others that the
 * process is alive: whatever ends the process also ends the session and with it the lock. A lock
 * counts only on the primary, because no other node knows of it, and only on a direct connection,
 * because a pooler gives the session to others.
 */
export interface SessionLock {
  /** The number of the lock within its class. */
  readonly number: number;
  /** Whether the lock is held. If the session was lost, tries to take it again. Never rejects. */
  isHeld(): Promise<boolean>;
  /**
   * Returns why the lock could not be taken the last time, for the log. null: it could, or another
   * session has it.
   */
  fault(): Error | null;
  /**
   * Gives up the session, so that the next `isHeld` makes another. Call it when the database does
   * not know the lock: after a failover the session may still be at the former primary.
   */
  renew(): void;
  /** Gives up the lock at once, whatever the server does; others see it soon after. */
  close(): Promise<void>;
}

const CONNECT_TIMEOUT_MS = 2_000;
const QUERY_TIMEOUT_MS = 5_000;
const NUMBER_MAX = 2 ** 31 - 1;

/**
 * With these settings the server ends the session of a dead machine after seconds, for which TCP by
 * itself takes hours.
 */
const SETTINGS =
  'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3';
/** A balancer on the way ends connections that say nothing for long; TCP's probes do not count. */
const SAY_SOMETHING_EVERY_MS = 10 * 60_000;

/** Returns a number for a lock that no other process has, as far as chance goes. */
export function newLockNumber(): number {
  return randomInt(1, NUMBER_MAX);
}

/**
 * Takes the lock `number` of a class; a random number by default. Resolves even if the lock could
 * not be taken (see `isHeld`).
 */
export async function holdSessionLock(
  databaseUrl: string,
  lockClass: number,
  number: number = newLockNumber(),
  clock: Pick<Clock, 'monotonicMs'> = systemClock,
): Promise<SessionLock> {
  let session: PrimaryClient | null = null;
  let taking: Promise<boolean> | null = null;
  let fault: Error | null = null;
  let isClosed = false;
  let saidAt = clock.monotonicMs();

  const take = async (): Promise<boolean> => {
    const client = newClient(databaseUrl);
    let isLost = false;
    const lose = (): void => {
      isLost = true;
      if (session === client) session = null;
    };
    client.on('error', lose);
    client.on('end', lose);
    const outcome = await tryLock(client, lockClass, number);
    fault = outcome instanceof Error ? outcome : null;
    if (outcome === 'taken' && !isLost && !isClosed) {
      session = client;
      saidAt = clock.monotonicMs();
      return true;
    }
    client.break();
    return false;
  };

  const saySomething = (client: PrimaryClient): void => {
    if (clock.monotonicMs() - saidAt < SAY_SOMETHING_EVERY_MS) return;
    saidAt = clock.monotonicMs();
    // Whether the session is lost is told by its end, not by a statement that takes long.
    client.query('select 1').catch(() => undefined);
  };

  const isHeld = (): Promise<boolean> => {
    if (session) {
      saySomething(session);
      return Promise.resolve(true);
    }
    if (isClosed) return Promise.resolve(false);
    taking ??= take().finally(() => {
      taking = null;
    });
    return taking;
  };

  await isHeld();
  return {
    number,
    isHeld,
    fault: () => fault,
    renew: () => {
      session?.break(new Error('the database does not know the lock of this session'));
      session = null;
    },
    close: async () => {
      isClosed = true;
      // Not `end`, which waits until the server has closed its side, too.
      session?.break();
    },
  };
}

function newClient(databaseUrl: string): PrimaryClient {
  return new PrimaryClient({
    connectionString: databaseUrl,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
  });
}

/** Connects and takes the lock. Resolves with the error if that is not possible. */
async function tryLock(
  client: PrimaryClient,
  lockClass: number,
  number: number,
): Promise<'taken' | 'held by another' | Error> {
  try {
    await connectDirectly(client, 'A session lock');
    await client.query(SETTINGS);
    const { rows } = await client.query<{ taken: boolean }>(
      'select pg_try_advisory_lock($1, $2) as taken',
      [lockClass, number],
    );
    return rows[0]?.taken ? 'taken' : 'held by another';
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
