import type { AsyncLocalStorage } from 'node:async_hooks';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import type { Caller } from '../caller.ts';
import { rethrow } from '../errors.ts';
import { PrismaClient } from '../generated/client.ts';
import type { Sendable } from '../wire/ask.ts';
import { Outgoing, type Result } from '../wire/outgoing.ts';
import type { Sender } from '../wire/query-group.ts';
import { arraysBy } from '../wire/rows.ts';
import { requireTeam, type TeamPrisma } from '../team-prisma.ts';
import type { Send } from './single-statements.ts';
import { traced } from './traced-statements.ts';

/** What Prisma's statements belong to: a caller, and perhaps a transaction. */
export interface PrismaScope {
  readonly caller: Caller;
  /** Asks in the transaction. */
  readonly ask?: (make: () => Sendable<Result>) => Promise<Result>;
  /** In a call's own copy: the error of its statement, of which Prisma makes another one. */
  fault?: unknown;
}

/** Opens Prisma on our connections. In a transaction it uses the transaction's. */
export function openPrisma({
  scope,
  runAlone,
}: {
  readonly scope: AsyncLocalStorage<PrismaScope>;
  /** Runs a statement outside a transaction. */
  readonly runAlone: <T>(caller: Caller, send: Send<T>) => Promise<T>;
}): PrismaClient {
  const query = async (config: pg.QueryConfig): Promise<Result> => {
    const current = scope.getStore();
    if (!current) throw new Error('a statement of Prisma belongs to nobody');
    const make = (): Sendable<Result> => toSendable(config);
    try {
      const asked = current.ask
        ? current.ask(make)
        : runAlone(current.caller, (send) => sendOne(send, make()));
      return await traced(current.caller, config.text, asked);
    } catch (error) {
      current.fault = error;
      throw error;
    }
  };
  // PrismaPg needs a pg.Pool. This one has no connections and passes on what it is asked.
  const routed = Object.assign(new pg.Pool(), { query, connect: refuseTransaction });
  const client = new PrismaClient({ adapter: new PrismaPg(routed) });
  return client.$extends({
    query: {
      $allModels: {
        $allOperations: ({ model, operation, args, query }) => {
          requireTeam(model, operation, args);
          return query(args);
        },
      },
    },
  }) as unknown as PrismaClient;
}

const NO_ROWS: Result = { rows: [], fields: [], rowCount: 0, command: '' };

/** Has Prisma compile a read and a change, which reach no database: their scope answers them. */
export async function loadPrisma(
  prisma: PrismaClient,
  scopes: AsyncLocalStorage<PrismaScope>,
): Promise<void> {
  await prisma.$connect();
  const scope: PrismaScope = { caller: { share: null }, ask: async () => NO_ROWS };
  await scopes.run(scope, async () => {
    await prisma.team.findMany({ where: { id: '' } });
    await prisma.team.updateMany({ where: { id: '' }, data: { name: '' } });
  });
}

/**
 * Returns Prisma for the statements of one scope, whoever calls it. A statement that fails rejects
 * as `Db.query` does, with no error of Prisma's.
 */
export function prismaFor(
  prisma: PrismaClient,
  scopes: AsyncLocalStorage<PrismaScope>,
  scope: PrismaScope,
): TeamPrisma {
  return prisma.$extends({
    query: {
      $allOperations: async ({ args, query }) => {
        const own: PrismaScope = { ...scope };
        try {
          // Prisma begins to work when somebody waits, which must happen inside the scope.
          return await scopes.run(own, async () => await query(args));
        } catch (error) {
          throw own.fault ?? error;
        }
      },
    },
  }) as unknown as TeamPrisma;
}

/** A call that needs several statements would begin a transaction of its own, beside ours. */
function refuseTransaction(): Promise<never> {
  return Promise.reject(new Error('a call of Prisma is one statement; use db.transaction'));
}

function sendOne<T>(send: Sender, { query, result }: Sendable<T>): Promise<T> {
  send(query);
  return result;
}

/** A statement of Prisma's, which is planned at each call and says how its values are read. */
function toSendable({ text, values = [], types }: pg.QueryConfig): Sendable<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const onEnd = (outcome: Result | Error): void =>
    outcome instanceof Error ? reject(outcome) : resolve(outcome);
  const query = new Outgoing({ text }, values, onEnd, { shapeOf: arraysBy(types ?? pg.types) });
  return { query, result: promise.catch(rethrow) };
}
