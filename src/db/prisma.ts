import type { AsyncLocalStorage } from 'node:async_hooks';
import { PrismaPg } from '@prisma/adapter-pg';
import type pg from 'pg';
import type { Caller } from './fair-queue.ts';
import { PrismaClient } from './generated/client.ts';
import { traced } from './traced-statements.ts';
import type { Watchdog } from './watchdog.ts';

/** What Prisma's statements belong to: a caller, and perhaps a transaction. */
export interface PrismaScope {
  readonly caller: Caller;
  /** Returns the connection of the transaction, after all that was to be sent before. */
  readonly takeClient?: () => pg.PoolClient;
}

/** Opens Prisma on our connections. In a transaction it uses the transaction's. */
export function openPrisma({
  pool,
  watchdog,
  scope,
  runAlone,
}: {
  readonly pool: pg.Pool;
  readonly watchdog: Watchdog;
  readonly scope: AsyncLocalStorage<PrismaScope>;
  /** Runs a statement outside a transaction. Without a caller it is the process's own. */
  readonly runAlone: <T>(
    caller: Caller | undefined,
    send: (client: pg.PoolClient) => Promise<T>,
  ) => Promise<T>;
}): PrismaClient {
  const query = (config: pg.QueryConfig): Promise<pg.QueryResult> => {
    const current = scope.getStore();
    const send = (client: pg.PoolClient): Promise<pg.QueryResult> =>
      traced(current?.caller, config.text, watchdog.guard(client, client.query(config)));
    if (current?.takeClient) return send(current.takeClient());
    return runAlone(current?.caller, send);
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

/** Returns Prisma for the statements of a caller outside a transaction. */
export function prismaFor(
  prisma: PrismaClient,
  scope: AsyncLocalStorage<PrismaScope>,
  caller: Caller,
): PrismaClient {
  return prisma.$extends({
    query: {
      // Prisma begins to work when somebody waits, which must happen inside the scope.
      $allOperations: ({ args, query }) => scope.run({ caller }, async () => await query(args)),
    },
  }) as unknown as PrismaClient;
}
