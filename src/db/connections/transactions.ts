import type { AsyncLocalStorage } from 'node:async_hooks';
import type pg from 'pg';
import type { Clock } from '../../core/clock.ts';
import type { ObserveRefusal } from '../../core/limits.ts';
import { ProblemError } from '../../core/problem.ts';
import { hungUp, type Caller } from '../caller.ts';
import { withFirst, type Db, type Tx } from '../client.ts';
import { isFollowUp, rethrow } from '../errors.ts';
import type { PrismaClient } from '../generated/client.ts';
import { OffersPrisma } from '../offers-prisma.ts';
import type { Statement, WakeUp } from '../statement.ts';
import type { TeamPrisma } from '../team-prisma.ts';
import { ask, toQuery, type Observe, type Sendable } from '../wire/ask.ts';
import { cancelOnHangUp } from './hang-up.ts';
import type { ConnectionPool } from './pool.ts';
import { prismaFor, type PrismaScope } from './prisma.ts';
import { runLimited } from './single-statements.ts';
import { createTeamPlaces, halfOf } from './team-places.ts';
import { openTransaction, type Transaction } from './transaction.ts';
import type { BeginWait } from './waits.ts';
import type { WakeUps } from './wake-ups.ts';
import type { Watchdog } from './watchdog.ts';

export interface Transactions {
  /** Runs `work` in a transaction, as `Db.transaction` says. */
  run<T>(caller: Caller, work: (tx: Tx) => Promise<T>, shares?: number): Promise<T>;
  /** How many wait for a connection. */
  waiting(): number;
}

interface Context {
  readonly connections: ConnectionPool;
  readonly watchdog: Watchdog;
  readonly scope: AsyncLocalStorage<PrismaScope>;
  readonly prisma: () => PrismaClient;
  readonly wakeUps: WakeUps;
  readonly clock: Clock;
  readonly observeFor: (caller: Caller) => Observe;
  readonly dbFor: (caller: Caller) => Db;
}

/** The work that follows the commit. */
type Later = Parameters<Tx['afterCommit']>[0][];

/** Runs up to `places` transactions at once, and for one team up to half as many. */
export function openTransactions({
  places,
  observeRefusal,
  beginWait,
  ...context
}: Context & {
  readonly places: number;
  readonly observeRefusal: ObserveRefusal | undefined;
  readonly beginWait: BeginWait;
}): Transactions {
  const { clock } = context;
  const queue = createTeamPlaces({ places, perTeam: halfOf(places), observeRefusal, clock });
  return {
    run: async (caller, work, shares) => {
      const endWait = beginWait('transaction');
      const later: Later = [];
      const leave = await queue.enter(caller, shares);
      let result;
      try {
        const client = await context.connections.connect();
        endWait();
        result = await runOnConnection(context, { client, caller, later }, (tx) =>
          work(tx).catch(toLeaving),
        );
      } finally {
        leave();
      }
      if (later.length > 0) await runAll(context, caller, later);
      if (result instanceof ProblemError) throw result;
      return result;
    },
    waiting: () => queue.waiting(),
  };
}

/** A refusal that leaves something is committed like a result. */
function toLeaving(error: unknown): ProblemError {
  if (error instanceof ProblemError && error.leaves) return error;
  throw error;
}

/** Hanging up comes too late for it. */
async function runAll({ dbFor }: Context, caller: Caller, later: Later): Promise<void> {
  const { signal: _hangUp, ...stayed } = caller;
  for (const follow of later) await follow(dbFor(stayed));
}

async function runOnConnection<T>(
  context: Context,
  {
    client,
    caller,
    later,
  }: { readonly client: pg.PoolClient; readonly caller: Caller; readonly later: Later },
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  const { connections, watchdog, wakeUps, observeFor, clock } = context;
  const settle = cancelOnHangUp(client, clock, caller.signal);
  const limits = connections.limitsFor(client);
  const transaction = openTransaction(client, { watchdog, limits });
  const { tx, wanted } = createTx(context, { caller, transaction, later });
  /** Ends when the workers have been told. null: they are not told on this connection. */
  let told: Promise<void> | null = null;
  try {
    const result = await work(tx);
    await transaction.commit({
      observe: observeFor(caller),
      before: () => {
        if (caller.signal?.aborted) throw hungUp();
        // From here on, hanging up comes too late.
        void settle();
      },
      behind: () => {
        const observe = observeFor({ share: null });
        told = wakeUps.follow(wanted, (what, values) =>
          runLimited({ connections, watchdog }, client, (sender) =>
            ask(sender, { what, values, observe }),
          ),
        );
      },
    });
    if (!told) wakeUps.add(wanted);
    return result;
  } catch (error) {
    await transaction.rollback();
    if (caller.signal?.aborted) throw hungUp();
    if (isFollowUp(error)) rethrow(transaction.fault() ?? error);
    throw error;
  } finally {
    const isUsable = await settle();
    // The next transaction must not wait behind a NOTIFY, which may wait for others.
    const release = (): void => client.release(!isUsable || !transaction.isClean());
    if (told) void (told as Promise<void>).then(release);
    else release();
  }
}

/**
 * Makes what the work gets. It refuses everything as soon as the transaction has ended. `wanted` is
 * what workers are told after the commit, and `later` takes what follows it.
 */
function createTx(
  { scope, prisma, observeFor }: Context,
  {
    caller,
    transaction,
    later,
  }: { readonly caller: Caller; readonly transaction: Transaction; readonly later: Later },
): { readonly tx: Tx; readonly wanted: ReadonlySet<WakeUp> } {
  const observe = observeFor(caller);
  const wanted = new Set<WakeUp>();
  let own: TeamPrisma | null = null;
  const askInside = <R>(make: () => Sendable<R>): Promise<R> => {
    if (caller.signal?.aborted) throw hungUp();
    const result = transaction.add(make);
    transaction.send();
    return result;
  };
  const offer = new OffersPrisma(() => {
    transaction.requireOpen();
    own ??= prismaFor(prisma(), scope, { caller, ask: askInside });
    return own;
  });
  const note = ({ wakes }: Statement<unknown>): void => {
    if (wakes) wanted.add(wakes);
  };
  const queries = withFirst(async (what, values) => {
    const asked = askInside(() => toQuery({ what, values, observe }));
    note(what);
    return (await asked).rows;
  });
  const others: Omit<Tx, keyof typeof queries | 'prisma'> = {
    trace: caller.trace ?? null,
    send: (what, values) => {
      void transaction.add(() => toQuery({ what, values, observe, isRead: false }));
      note(what);
    },
    afterCommit: (follow) => {
      transaction.requireOpen();
      later.push(follow);
    },
    transaction: async (inner) => {
      transaction.requireOpen();
      return inner(tx);
    },
  };
  const tx: Tx = Object.assign(offer, queries, others);
  return { tx, wanted };
}
