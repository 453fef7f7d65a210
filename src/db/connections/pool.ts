import pg from 'pg';
import { rethrow } from '../errors.ts';
import { statement } from '../statement.ts';
import { toUnread } from '../wire/ask.ts';
import { isPooled } from '../wire/cancel.ts';
import type { Outgoing } from '../wire/outgoing.ts';
import { poolToPrimary } from '../wire/primary-client.ts';
import { introduce } from '../wire/query-group.ts';
import {
  ARE_SET,
  isRefusedParameter,
  SESSION_OPTIONS,
  SET_LOCALLY,
} from '../wire/session-settings.ts';
import { textTypes } from '../wire/types.ts';
import type { Watchdog } from './watchdog.ts';

/** The connections of a process. */
export interface ConnectionPool {
  readonly pool: pg.Pool;
  /**
   * Takes a connection. Throws `unavailable` without one. The caller must release the client. With
   * `statementTimeoutMs` the server ends its statements earlier than others, and the client must be
   * released as broken.
   */
  readonly connect: (statementTimeoutMs?: number) => Promise<pg.PoolClient>;
  /** Allows one connection more. */
  readonly grow: () => void;
  /**
   * What must come before the statements of each transaction on this connection, a single statement
   * included. Nothing, if the session itself has the limits and our settings.
   */
  limitsFor(client: pg.PoolClient, statementTimeoutMs?: number): readonly Outgoing[];
  /** Whether the connection leads to a pooler. */
  isPooled(client: pg.PoolClient): boolean;
}

export interface PoolOptions {
  readonly url: string;
  readonly max: number;
  readonly statementTimeoutMs: number;
  /** pg limits the time of the login, not that of what is asked after it. */
  readonly watchdog: Watchdog;
  /** Called when an idle connection breaks. The pool replaces it. */
  readonly onError: (error: Error) => void;
  /** Called when the server does not know a statement that was prepared on the connection. */
  readonly onLostStatement: () => void;
}

/** After waiting this long for a connection, the database counts as unreachable. */
const CONNECT_TIMEOUT_MS = 2_000;

/**
 * How long a transaction may wait for its process. A process that was frozen or cut off would
 * otherwise hold its locks until TCP gives up, after hours.
 */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 15_000;

/**
 * Opens a pool. Does not connect yet.
 *
 * The server limits the time of statements, so that it also ends those of a process that no longer
 * exists. The limits are parameters of the session, as our settings are. PgBouncer's transaction
 * mode refuses or ignores such parameters, and a `SET` would reach other clients. Behind it each
 * transaction sets its own, and so does each single statement.
 */
export function openPool(options: PoolOptions): ConnectionPool {
  const { url, max, statementTimeoutMs, watchdog, onError, onLostStatement } = options;
  const limited = new WeakSet<pg.ClientBase>();
  const pooled = new WeakSet<pg.ClientBase>();
  const limits = {
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_TIMEOUT_MS,
    options: SESSION_OPTIONS,
  };
  const check = async (client: pg.ClientBase): Promise<void> => {
    const session = await watchdog.guard(client, readSession(client));
    const isLimited = session.limitMs > 0 && session.limitMs <= statementTimeoutMs;
    if (isLimited && session.isOurs) limited.add(client);
    const facts = { isPooled: isPooled(client, session.pid), onLostStatement };
    if (facts.isPooled) pooled.add(client);
    introduce(client, facts);
  };
  const pool = new pg.Pool({
    ...poolToPrimary(url),
    pipeline: true,
    max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 0,
    types: textTypes,
    ...limits,
    // The pool waits for the promise, which its types do not say.
    onConnect: check as (client: pg.ClientBase) => void,
  });
  pool.on('error', onError);
  const connect = async (): Promise<pg.PoolClient> => {
    try {
      return await pool.connect();
    } catch (error) {
      if (!isRefusedParameter(error)) return rethrow(error);
      for (const name of Object.keys(limits)) Object.assign(pool.options, { [name]: undefined });
      return pool.connect().catch(rethrow);
    }
  };
  return {
    pool,
    connect: async (ms) => {
      const client = await connect();
      if (ms === undefined || !limited.has(client)) return client;
      const limiting = client.query(`set statement_timeout = ${ms}`);
      await watchdog.guard(client, limiting).catch((error: unknown) => {
        client.release(true);
        return rethrow(error);
      });
      return client;
    },
    grow: () => {
      pool.options.max += 1;
    },
    limitsFor: (client, ms = statementTimeoutMs) => {
      if (limited.has(client)) return [];
      return [toUnread(LIMIT, [ms, IDLE_IN_TRANSACTION_TIMEOUT_MS])];
    },
    isPooled: (client) => pooled.has(client),
  };
}

const LIMIT = statement(
  'pool.limit',
  `select ${SET_LOCALLY}, set_config('statement_timeout', $1, true),
     set_config('idle_in_transaction_session_timeout', $2, true)`,
);

/** What the server says about a session, in one round trip. */
interface Session {
  /** Its limit on the time of a statement; 0 is none. */
  readonly limitMs: number;
  /** Whether it has what each session of ours has. */
  readonly isOurs: boolean;
  /** The process that serves it. */
  readonly pid: number;
}

async function readSession(client: pg.ClientBase): Promise<Session> {
  const { rows } = await client.query<Session>(
    `select extract(epoch from limited.time)::float8 * 1000 as "limitMs",
       ${ARE_SET} as "isOurs",
       pg_backend_pid() as pid
     from (select current_setting('statement_timeout')::interval as time) limited`,
  );
  const [session] = rows;
  if (!session) throw new Error('the database did not describe its session');
  return session;
}
