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
   * Prisma on the same pool. Inside `transaction` its statements run on the transaction's connection. `findUnique` is refused: Prisma merges concurrent
   * ones into a single query, which would cross transactions that it does not know of; use `findFirst`.
   */
  readonly prisma: PrismaClient;
  /** Runs `work` in a transaction; inside one, in that one. Nothing is committed unless `work` succeeds. Never call HTTP in it. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
}

/** The database inside a transaction. */
export interface Tx extends Db {
  /**
   * Sends a statement whose rows nobody needs, without waiting: it travels with what follows, at the latest with COMMIT, so it costs no round trip of its
   * own. Its failure fails the transaction.
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
  /** Called for an idle connection that broke; the pool replaces it. */
  readonly onError: (error: Error) => void;
}

/** How long a caller waits for a connection, and a statement for its answer, before the database counts as unreachable. */
const CONNECT_TIMEOUT_MS = 2_000;
const QUERY_TIMEOUT_MS = 5_000;

export function openDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolMax,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 0,
    keepAlive: true,
    // Statements of one transaction may share a round trip.
    pipeline: true,
    types: textTypes,
  } as pg.PoolConfig);
  pool.on('error', options.onError);
  // A connection that breaks while it is checked out tells so by an event, which would end the process; its statements reject anyway.
  pool.on('connect', (client) => client.on('error', () => undefined));
  const watchdog = startWatchdog();
  const current = new AsyncLocalStorage<pg.PoolClient>();
  const prisma = openPrisma({ pool, current, watchdog });
  const context: Context = { pool, prisma, current, watchdog };
  const runInLane = openLanes(pool, Math.max(1, Math.floor(options.poolMax / LANE_SHARE)));
  return {
    pool,
    prisma,
    query: (what, values) => runInLane((client) => run(context, client, what, values)),
    transaction: (work) => runTransaction(context, work),
    close: async () => {
      watchdog.stop();
      await prisma.$disconnect();
      await pool.end();
    },
  };
}

interface Context {
  readonly pool: pg.Pool;
  readonly prisma: PrismaClient;
  readonly current: AsyncLocalStorage<pg.PoolClient>;
  readonly watchdog: Watchdog;
}

/** One in so many of a process's connections is shared by the statements that stand alone. */
const LANE_SHARE = 4;

type RunAlone = <T>(work: (client: pg.PoolClient) => Promise<T>) => Promise<T>;

/** A connection while statements are on their way on it; nobody else has it until the last of them has been answered. */
interface Session {
  readonly client: Promise<pg.PoolClient>;
  statements: number;
  broken: boolean;
}

/**
 * A few connections on which statements of many requests follow each other without waiting (pipeline mode): a statement that stands alone needs no connection
 * of its own, and few sessions of Postgres that stay warm serve more of them than many. A list request costs a third less on either side. Each statement
 * goes where the fewest are on their way, so one that takes long holds up few. A connection that broke gets no more of them, and is not given back.
 */
function openLanes(pool: pg.Pool, count: number): RunAlone {
  const lanes: (Session | null)[] = Array.from({ length: count }, () => null);
  const leastBusy = (): number => {
    let best = 0;
    for (let lane = 1; lane < count; lane++) if (loadOf(lanes[lane]) < loadOf(lanes[best])) best = lane;
    return best;
  };
  const leave = (lane: number, session: Session): void => {
    session.statements -= 1;
    if (lanes[lane] === session && (session.broken || session.statements === 0)) lanes[lane] = null;
    if (session.statements > 0) return;
    // Where there is no connection, whoever asked for it has been told.
    session.client.then((client) => client.release(session.broken)).catch(() => undefined);
  };
  return async (work) => {
    const lane = leastBusy();
    const session = (lanes[lane] ??= { client: pool.connect(), statements: 0, broken: false });
    session.statements += 1;
    try {
      return await work(await session.client.catch(rethrow));
    } catch (error) {
      session.broken ||= error instanceof Error && isUnavailable(error.cause);
      throw error;
    } finally {
      leave(lane, session);
    }
  };
}

function loadOf(session: Session | null | undefined): number {
  return session?.statements ?? 0;
}

/** Borrows a connection for one piece of work; one that broke in it is not given back. */
async function runAlone<T>({ pool }: Pick<Context, 'pool'>, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
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

async function runTransaction<T>(context: Context, work: (tx: Tx) => Promise<T>): Promise<T> {
  const { pool, prisma, current, watchdog } = context;
  const client = await pool.connect().catch(rethrow);
  const sent: Promise<unknown>[] = [];
  const send = (promise: Promise<unknown>): void => {
    // The rejection is looked at before COMMIT; this only keeps Node from calling it unhandled meanwhile.
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
    // A failed statement turns COMMIT into ROLLBACK without an error.
    if ((await committed).command !== 'COMMIT') throw new Error('the transaction was rolled back by the database');
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
  { watchdog }: Pick<Context, 'watchdog'>,
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

/** By callback, because the promise that pg makes itself keeps the rows alive until the next full garbage collection. */
function ask(client: pg.PoolClient, what: Statement<unknown>, values: readonly unknown[]): Promise<pg.QueryResult> {
  return new Promise((resolve, reject) => {
    const config = { name: what.name, text: what.text, values: values as unknown[] };
    client.query(config, (error: Error | null, result: pg.QueryResult) => (error ? reject(error) : resolve(result)));
  });
}

function rethrow(error: unknown): never {
  throw isUnavailable(error) ? unavailable(error) : error;
}

/** Prisma over our pool, on the connection of the transaction that the caller is in. */
function openPrisma({ pool, current, watchdog }: Pick<Context, 'pool' | 'current' | 'watchdog'>): PrismaClient {
  const query = (config: pg.QueryConfig): Promise<pg.QueryResult> => {
    const client = current.getStore();
    const send = (on: pg.PoolClient): Promise<pg.QueryResult> => watchdog.guard(on, on.query(config));
    return client ? send(client) : runAlone({ pool }, send);
  };
  // PrismaPg asks for a pg.Pool, so this is one: our pool, with only its `query` replaced.
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
  /** The promise of a statement's result, with the connection watched until it is there. */
  guard<T>(client: pg.PoolClient, result: Promise<T>): Promise<T>;
  stop(): void;
}

/**
 * Breaks connections whose statement has not been answered for `QUERY_TIMEOUT_MS`. One timer for all of them: with pg's own `query_timeout`, a timer for each
 * statement keeps its rows alive until the next full garbage collection, a third of a list request's CPU.
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

/** pg has no public way to break a connection that does not answer. */
function streamOf(client: pg.PoolClient): Duplex {
  return (client as unknown as { connection: { stream: Duplex } }).connection.stream;
}
