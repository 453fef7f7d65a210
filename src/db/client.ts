import { AsyncLocalStorage } from 'node:async_hooks';
import type { Duplex } from 'node:stream';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { isUnavailable, unavailable } from './errors.ts';
import { PrismaClient } from './generated/client.ts';
import type { Statement } from './statement.ts';
import { textTypes } from './types.ts';

export { statement, statementsByFilters, type Statement } from './statement.ts';

/** The database outside a transaction. */
export interface Db {
  /** One round trip. Throws `ProblemError('unavailable')` when the database cannot be reached. */
  query<Row>(statement: Statement<Row>, values: readonly unknown[]): Promise<Row[]>;
  /**
   * Prisma on the same pool. Inside `transaction` its statements run on the transaction's
   * connection. `findUnique` throws, because Prisma merges concurrent calls of it into one query,
   * across our transactions. Use `findFirst`.
   */
  readonly prisma: PrismaClient;
  /**
   * Runs `work` in a transaction. A nested call joins the outer one. Commits only if `work`
   * resolves. Never wait for HTTP inside.
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

/** The database inside a transaction. */
export interface Tx extends Db {
  /**
   * Sends a statement without waiting for its result. It shares a round trip with the following
   * statement, at the latest with COMMIT. If it fails, the transaction fails.
   */
  send(statement: Statement<unknown>, values: readonly unknown[]): void;
}

export interface Database extends Db {
  readonly pool: pg.Pool;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly poolMax: number;
  /** Called when an idle connection breaks. The pool replaces it. */
  readonly onError: (error: Error) => void;
}

/** After waiting this long for a connection or a result, the database counts as unreachable. */
const CONNECT_TIMEOUT_MS = 2_000;
const QUERY_TIMEOUT_MS = 5_000;

export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolMax,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 0,
    keepAlive: true,
    // Lets the statements of a transaction share a round trip.
    pipeline: true,
    types: textTypes,
  } as pg.PoolConfig);
  pool.on('error', options.onError);
  // Without a listener, the error event of a broken connection would end the process. Its
  // statements reject anyway.
  pool.on('connect', (client) => client.on('error', () => undefined));
  const watchdog = startWatchdog();
  const current = new AsyncLocalStorage<pg.PoolClient>();
  const prisma = openPrisma({ pool, current, watchdog });
  const context: DatabaseContext = { pool, prisma, current, watchdog };
  const runShared = openSharedConnections(
    pool,
    Math.max(1, Math.floor(options.poolMax / CONNECTIONS_PER_SHARED)),
  );
  return {
    pool,
    prisma,
    query: (what, values) => runShared((client) => run(context, client, what, values)),
    transaction: (work) => runTransaction(context, work),
    close: async () => {
      watchdog.stop();
      await prisma.$disconnect();
      await pool.end();
    },
  };
}

interface DatabaseContext {
  readonly pool: pg.Pool;
  readonly prisma: PrismaClient;
  readonly current: AsyncLocalStorage<pg.PoolClient>;
  readonly watchdog: Watchdog;
}

/** One of four connections is shared by the statements outside transactions. */
const CONNECTIONS_PER_SHARED = 4;

type RunShared = <T>(work: (client: pg.PoolClient) => Promise<T>) => Promise<T>;

/** A connection with statements in flight. It goes back to the pool after the last result. */
interface Session {
  readonly client: Promise<pg.PoolClient>;
  statements: number;
  broken: boolean;
}

/**
 * A few connections carry the single statements of many requests, in pipeline mode. A few warm
 * sessions serve more statements than many cold ones: a list request costs a third less CPU in the
 * process and in Postgres. Each statement takes the connection with the fewest statements in
 * flight, so a slow statement delays few others. A broken connection gets no more statements and is
 * discarded.
 */
function openSharedConnections(pool: pg.Pool, count: number): RunShared {
  const connections: (Session | null)[] = Array.from({ length: count }, () => null);
  const leastBusy = (): number => {
    let best = 0;
    for (let index = 1; index < count; index++)
      if (loadOf(connections[index]) < loadOf(connections[best])) best = index;
    return best;
  };
  const leave = (index: number, session: Session): void => {
    session.statements -= 1;
    if (connections[index] === session && (session.broken || session.statements === 0))
      connections[index] = null;
    if (session.statements > 0) return;
    // If there was no connection, the statement has rejected already.
    session.client.then((client) => client.release(session.broken)).catch(() => undefined);
  };
  return async (work) => {
    const index = leastBusy();
    const session = (connections[index] ??= {
      client: pool.connect(),
      statements: 0,
      broken: false,
    });
    session.statements += 1;
    try {
      return await work(await session.client.catch(rethrow));
    } catch (error) {
      session.broken ||= error instanceof Error && isUnavailable(error.cause);
      throw error;
    } finally {
      leave(index, session);
    }
  };
}

function loadOf(session: Session | null | undefined): number {
  return session?.statements ?? 0;
}

/** Takes a connection from the pool for `work`. Discards it if it breaks. */
async function runAlone<T>(
  { pool }: Pick<DatabaseContext, 'pool'>,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect().catch(rethrow);
  let broken = false;
  try {
    return await work(client);
  } catch (error) {
    broken = isUnavailable(error) || (error instanceof Error && isUnavailable(error.cause));
    throw error;
  } finally {
    client.release(broken);
  }
}

async function runTransaction<T>(
  context: DatabaseContext,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const { pool, prisma, current, watchdog } = context;
  const client = await pool.connect().catch(rethrow);
  const sent: Promise<unknown>[] = [];
  const send = (promise: Promise<unknown>): void => {
    // The rejection is handled before COMMIT. This only avoids Node's unhandled rejection.
    promise.catch(() => undefined);
    sent.push(promise);
  };
  const tx: Tx = {
    prisma,
    query: (what, values) => run(context, client, what, values),
    send: (what, values) => send(run(context, client, what, values)),
    transaction: (inner) => inner(tx),
  };
  send(watchdog.guard(client, client.query('BEGIN')).catch(rethrow));
  let broken: Error | undefined;
  try {
    const result = await current.run(client, () => work(tx));
    const committed = watchdog.guard(client, client.query('COMMIT')).catch(rethrow);
    committed.catch(() => undefined);
    await Promise.all(sent);
    // After a failed statement, Postgres answers COMMIT with ROLLBACK and no error.
    if ((await committed).command !== 'COMMIT')
      throw new Error('the transaction was rolled back by the database');
    return result;
  } catch (error) {
    await Promise.allSettled(sent);
    await watchdog.guard(client, client.query('ROLLBACK')).catch((fault: Error) => {
      broken = fault;
    });
    throw error;
  } finally {
    client.release(broken);
  }
}

async function run<Row>(
  { watchdog }: Pick<DatabaseContext, 'watchdog'>,
  client: pg.PoolClient,
  what: Statement<Row>,
  values: readonly unknown[],
): Promise<Row[]> {
  try {
    return (await watchdog.guard(client, ask(client, what, values))).rows as Row[];
  } catch (error) {
    return rethrow(error);
  }
}

/**
 * Uses a callback: pg's own promise keeps the rows alive until the next full garbage collection.
 */
function ask(
  client: pg.PoolClient,
  what: Statement<unknown>,
  values: readonly unknown[],
): Promise<pg.QueryResult> {
  return new Promise((resolve, reject) => {
    const config = { name: what.name, text: what.text, values: values as unknown[] };
    client.query(config, (error: Error | null, result: pg.QueryResult) =>
      error ? reject(error) : resolve(result),
    );
  });
}

function rethrow(error: unknown): never {
  throw isUnavailable(error) ? unavailable(error) : error;
}

/** Opens Prisma on our pool. In a transaction it uses the transaction's connection. */
function openPrisma({
  pool,
  current,
  watchdog,
}: Pick<DatabaseContext, 'pool' | 'current' | 'watchdog'>): PrismaClient {
  const query = (config: pg.QueryConfig): Promise<pg.QueryResult> => {
    const client = current.getStore();
    const send = (on: pg.PoolClient): Promise<pg.QueryResult> =>
      watchdog.guard(on, on.query(config));
    return client ? send(client) : runAlone({ pool }, send);
  };
  // PrismaPg needs a pg.Pool. This is our pool with `query` replaced.
  const routed = Object.create(pool, { query: { value: query } }) as pg.Pool;
  const refuse = (): never => {
    throw new Error('use findFirst: Prisma merges concurrent findUnique calls across transactions');
  };
  const client = new PrismaClient({ adapter: new PrismaPg(routed) });
  return client.$extends({
    query: { $allModels: { findUnique: refuse, findUniqueOrThrow: refuse } },
  }) as unknown as PrismaClient;
}

interface Watchdog {
  /** Watches the connection until the statement's result arrives. */
  guard<T>(client: pg.PoolClient, result: Promise<T>): Promise<T>;
  stop(): void;
}

/**
 * Breaks connections that have not answered a statement for `QUERY_TIMEOUT_MS`. One timer watches
 * all connections. pg's own `query_timeout` uses a timer per statement, which keeps the rows alive
 * until the next full garbage collection and costs a third of a list request's CPU.
 */
function startWatchdog(): Watchdog {
  const unanswered = new Map<pg.PoolClient, { statements: number; sinceMs: number }>();
  const timer = setInterval(() => {
    const lateMs = performance.now() - QUERY_TIMEOUT_MS;
    for (const [client, { sinceMs }] of unanswered) {
      if (sinceMs < lateMs) streamOf(client).destroy(new Error('Query read timeout'));
    }
  }, QUERY_TIMEOUT_MS / 10);
  timer.unref();
  return {
    guard: async (client, result) => {
      const entry = unanswered.get(client) ?? { statements: 0, sinceMs: 0 };
      if (entry.statements === 0) unanswered.set(client, entry);
      entry.statements += 1;
      entry.sinceMs = performance.now();
      try {
        return await result;
      } finally {
        entry.statements -= 1;
        entry.sinceMs = performance.now();
        if (entry.statements === 0) unanswered.delete(client);
      }
    },
    stop: () => clearInterval(timer),
  };
}

/** pg has no public way to break a connection. */
function streamOf(client: pg.PoolClient): Duplex {
  return (client as unknown as { connection: { stream: Duplex } }).connection.stream;
}
