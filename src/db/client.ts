import { AsyncLocalStorage } from 'node:async_hooks';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { isConnectionBroken, rethrow } from './errors.ts';
import { PrismaClient } from './generated/client.ts';
import { openSharedConnections } from './shared-connections.ts';
import type { Statement } from './statement.ts';
import { textTypes } from './types.ts';
import { openWakeUps, type WakeUp, type WakeUps } from './wake-ups.ts';
import { startWatchdog, type Watchdog } from './watchdog.ts';

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
  /** Tells the workers soon after the commit, and never if there is none. */
  wakeAfterCommit(what: WakeUp): void;
}

/** The database of a process, with the pool that it owns. */
export interface Database extends Db {
  readonly pool: pg.Pool;
  /** Closes all connections. Call it after the last statement. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly poolMax: number;
  /** Called when an idle connection breaks. The pool replaces it. */
  readonly onError: (error: Error) => void;
  /** After waiting this long for an answer, the database counts as unreachable; 5 s by default. */
  readonly answerTimeoutMs?: number;
}

/** After waiting this long for a connection, the database counts as unreachable. */
const CONNECT_TIMEOUT_MS = 2_000;
const ANSWER_TIMEOUT_MS = 5_000;

/** Opens the database. Does not connect yet, so the database need not be reachable. */
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
  const watchdog = startWatchdog(options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS);
  const current = new AsyncLocalStorage<pg.PoolClient>();
  const prisma = openPrisma({ pool, current, watchdog });
  const runShared = openSharedConnections(
    pool,
    Math.max(1, Math.floor(options.poolMax / CONNECTIONS_PER_SHARED)),
  );
  const wakeUps = openWakeUps((what, values) =>
    runShared((client) => run({ watchdog }, client, what, values)),
  );
  const context: DatabaseContext = { pool, prisma, current, watchdog, wakeUps };
  return {
    pool,
    prisma,
    query: (what, values) => runShared((client) => run(context, client, what, values)),
    transaction: (work) => runTransaction(context, work),
    close: async () => {
      await wakeUps.drain();
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
  readonly wakeUps: WakeUps;
}

/** One of four connections is shared by the statements outside transactions. */
const CONNECTIONS_PER_SHARED = 4;

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
    broken = isConnectionBroken(error);
    throw error;
  } finally {
    client.release(broken);
  }
}

async function runTransaction<T>(
  context: DatabaseContext,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const { pool, prisma, current, watchdog, wakeUps } = context;
  const client = await pool.connect().catch(rethrow);
  const sent: Promise<unknown>[] = [];
  const wanted = new Set<WakeUp>();
  const send = (promise: Promise<unknown>): void => {
    // The rejection is handled before COMMIT. This only avoids Node's unhandled rejection.
    promise.catch(() => undefined);
    sent.push(promise);
  };
  const tx: Tx = {
    prisma,
    query: (what, values) => run(context, client, what, values),
    send: (what, values) => send(run(context, client, what, values)),
    wakeAfterCommit: (what) => void wanted.add(what),
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
    wakeUps.add(wanted);
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
