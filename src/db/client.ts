import { AsyncLocalStorage } from 'node:async_hooks';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { isUnavailable, unavailable } from './errors.ts';
import { PrismaClient } from './generated/client.ts';
import { textTypes } from './types.ts';

/**
 * One statement, declared once beside the store function that runs it. The name makes it a prepared statement of the wire protocol, which pg keeps per
 * connection and PgBouncer follows in transaction mode. `Row` is what comes back; timestamps are ISO text, never `Date`.
 */
export interface Statement<Row> {
  readonly name: string;
  readonly text: string;
  /** Only for the type. */
  readonly row?: Row;
}

export function statement<Row = Record<never, never>>(name: string, text: string): Statement<Row> {
  return { name, text };
}

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
    query_timeout: QUERY_TIMEOUT_MS,
    idleTimeoutMillis: 0,
    keepAlive: true,
    // Statements of one transaction may share a round trip.
    pipeline: true,
    types: textTypes,
  } as pg.PoolConfig);
  pool.on('error', options.onError);
  const current = new AsyncLocalStorage<pg.PoolClient>();
  const prisma = openPrisma(pool, current);
  const context: Context = { pool, prisma, current };
  return {
    pool,
    prisma,
    query: (what, values) => run(pool, what, values),
    transaction: (work) => runTransaction(context, work),
    close: async () => {
      await prisma.$disconnect();
      await pool.end();
    },
  };
}

interface Context {
  readonly pool: pg.Pool;
  readonly prisma: PrismaClient;
  readonly current: AsyncLocalStorage<pg.PoolClient>;
}

async function runTransaction<T>({ pool, prisma, current }: Context, work: (tx: Tx) => Promise<T>): Promise<T> {
  const client = await pool.connect().catch(rethrow);
  // A connection that breaks between two statements tells so by an event, which would end the process; the next statement rejects anyway.
  const ignore = (): void => undefined;
  client.on('error', ignore);
  const sent: Promise<unknown>[] = [];
  const send = (promise: Promise<unknown>): void => {
    // The rejection is looked at before COMMIT; this only keeps Node from calling it unhandled meanwhile.
    promise.catch(() => undefined);
    sent.push(promise);
  };
  const tx: Tx = {
    prisma,
    query: (what, values) => run(client, what, values),
    send: (what, values) => send(run(client, what, values)),
    transaction: (inner) => inner(tx),
  };
  send(client.query('BEGIN').catch(rethrow));
  let broken: Error | undefined;
  try {
    const result = await current.run(client, () => work(tx));
    const committed = client.query('COMMIT').catch(rethrow);
    committed.catch(() => undefined);
    await Promise.all(sent);
    // A failed statement turns COMMIT into ROLLBACK without an error.
    if ((await committed).command !== 'COMMIT') throw new Error('the transaction was rolled back by the database');
    return result;
  } catch (error) {
    await Promise.allSettled(sent);
    await client.query('ROLLBACK').catch((fault: Error) => {
      broken = fault;
    });
    throw error;
  } finally {
    client.off('error', ignore);
    client.release(broken);
  }
}

async function run<Row>(target: pg.Pool | pg.PoolClient, what: Statement<Row>, values: readonly unknown[]): Promise<Row[]> {
  try {
    const result = await target.query({ name: what.name, text: what.text, values: values as unknown[] });
    return result.rows as Row[];
  } catch (error) {
    return rethrow(error);
  }
}

function rethrow(error: unknown): never {
  throw isUnavailable(error) ? unavailable(error) : error;
}

/** Prisma over our pool, on the connection of the transaction that the caller is in. */
function openPrisma(pool: pg.Pool, current: AsyncLocalStorage<pg.PoolClient>): PrismaClient {
  const query = (...values: Parameters<pg.Pool['query']>): unknown => (current.getStore() ?? pool).query(...values);
  // PrismaPg asks for a pg.Pool, so this is one: our pool, with only its `query` replaced.
  const routed = Object.create(pool, { query: { value: query } }) as pg.Pool;
  const refuse = (): never => {
    throw new Error('use findFirst: Prisma merges concurrent findUnique calls across transactions');
  };
  const client = new PrismaClient({ adapter: new PrismaPg(routed) });
  return client.$extends({ query: { $allModels: { findUnique: refuse, findUniqueOrThrow: refuse } } }) as unknown as PrismaClient;
}
