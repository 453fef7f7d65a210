import type { AsyncLocalStorage } from 'node:async_hooks';
import type pg from 'pg';
import { cancelOnHangUp, type HangUp } from './cancel.ts';
import type { Tx } from './client.ts';
import { isFollowUp, rethrow } from './errors.ts';
import { createFairQueue, halfOf, hungUp, type Caller } from './fair-queue.ts';
import type { PrismaClient } from './generated/client.ts';
import { openPackets } from './packet.ts';
import type { ConnectionPool } from './pool.ts';
import type { PrismaScope } from './prisma.ts';
import { runLimited } from './single-statements.ts';
import {
  ask,
  statement,
  withFirst,
  type Observe,
  type Result,
  type Statement,
} from './statement.ts';
import type { WakeUp, WakeUps } from './wake-ups.ts';
import type { Watchdog } from './watchdog.ts';

export interface Transactions {
  /** Runs `work` in a transaction, as `Db.transaction` says. */
  run<T>(caller: Caller, work: (tx: Tx) => Promise<T>): Promise<T>;
  /** How many wait for their team's turn. */
  waiting(): number;
}

interface Context {
  readonly connections: ConnectionPool;
  readonly watchdog: Watchdog;
  readonly scope: AsyncLocalStorage<PrismaScope>;
  readonly prisma: PrismaClient;
  readonly wakeUps: WakeUps;
  readonly observeFor: (caller: Caller) => Observe;
}

/** Runs up to `places` transactions at once, and for one team up to half as many. */
export function openTransactions({
  places,
  ...context
}: Context & { readonly places: number }): Transactions {
  const queue = createFairQueue({ places, perTeam: halfOf(places) });
  return {
    run: async (caller, work) => {
      await queue.enter(caller);
      try {
        return await runOnConnection(context, caller, work);
      } finally {
        queue.leave(caller);
      }
    },
    waiting: () => queue.waiting(),
  };
}

async function runOnConnection<T>(
  context: Context,
  caller: Caller,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const client = await context.connections.connect();
  const hangUp = cancelOnHangUp(client, caller.signal);
  const connection: Connection = { client, hangUp, caller, told: null };
  let broken: Error | undefined;
  try {
    return await commit(context, connection, work);
  } catch (error) {
    await context.watchdog.guard(client, client.query('ROLLBACK')).catch((fault: Error) => {
      broken = fault;
    });
    throw caller.signal?.aborted ? hungUp() : error;
  } finally {
    await hangUp?.settle();
    // The next transaction must not wait behind a NOTIFY, which may wait for others.
    if (connection.told) void connection.told.then(() => client.release(broken));
    else client.release(broken);
  }
}

interface Connection {
  readonly client: pg.PoolClient;
  readonly hangUp: HangUp | null;
  readonly caller: Caller;
  /** Ends when the workers have been told. null: they are not told on this connection. */
  told: Promise<void> | null;
}

const BEGIN = statement('transactions.begin', 'BEGIN');
const COMMIT = statement('transactions.commit', 'COMMIT');

/** Begins a transaction, runs `work` in it, and commits. After an error a ROLLBACK must follow. */
async function commit<T>(
  { connections, watchdog, scope, prisma, wakeUps, observeFor }: Context,
  connection: Connection,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const { client, hangUp, caller } = connection;
  const { signal } = caller;
  const observe = observeFor(caller);
  const packets = openPackets(client, watchdog);
  const unawaited: Promise<unknown>[] = [];
  const wanted = new Set<WakeUp>();
  const keep = (result: Promise<unknown>): void => {
    // The rejection is handled before COMMIT. This only avoids Node's unhandled rejection.
    result.catch(() => undefined);
    unawaited.push(result);
  };
  const add = <Row>(what: Statement<Row>, values: readonly unknown[]): Promise<Result<Row>> =>
    signal?.aborted ? Promise.reject(hungUp()) : packets.add({ what, values, observe });
  const query: Tx['query'] = async (what, values) => {
    const result = add(what, values);
    packets.send();
    return (await result).rows;
  };
  const tx: Tx = {
    prisma,
    ...withFirst(query),
    trace: caller.trace ?? null,
    send: (what, values) => keep(add(what, values)),
    wakeAfterCommit: (what) => void wanted.add(what),
    transaction: (inner) => inner(tx),
  };
  if (connections.isLimited(client))
    keep(packets.add({ what: BEGIN, values: [], observe: () => undefined }));
  else keep(watchdog.guard(client, client.query(connections.beginLimited())).catch(rethrow));
  const takeClient = (): pg.PoolClient => {
    packets.send();
    return client;
  };
  try {
    const result = await scope.run({ caller, takeClient }, () => work(tx));
    if (signal?.aborted) throw hungUp();
    // From here on, hanging up comes too late.
    void hangUp?.settle();
    const committed = packets.add({ what: COMMIT, values: [], observe });
    committed.catch(() => undefined);
    packets.send();
    connection.told = wakeUps.follow(wanted, (what, values) =>
      runLimited({ connections, watchdog }, client, () =>
        watchdog.guard(client, ask(client, { what, values, observe: observeFor({ share: null }) })),
      ),
    );
    await Promise.all(unawaited);
    // After a failed statement, Postgres answers COMMIT with ROLLBACK and no error.
    if ((await committed).command !== 'COMMIT')
      throw new Error('the transaction was rolled back by the database');
    if (!connection.told) wakeUps.add(wanted);
    return result;
  } catch (error) {
    packets.send();
    const outcomes = await Promise.allSettled(unawaited);
    if (!isFollowUp(error)) throw error;
    const cause = outcomes.find((outcome) => outcome.status === 'rejected');
    throw cause?.reason ?? error;
  }
}
