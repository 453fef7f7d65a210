import { AsyncLocalStorage } from 'node:async_hooks';
import type pg from 'pg';
import { systemClock, type Clock } from '../../core/clock.ts';
import type { ObserveRefusal } from '../../core/limits.ts';
import { once } from '../../core/once.ts';
import { waitsWithoutLimit, type Caller } from '../caller.ts';
import { createCluster } from '../citus/parts.ts';
import { createTeamNodes } from '../citus/team-nodes.ts';
import { withFirst, type Db, type Queries, type Tx } from '../client.ts';
import { OffersPrisma } from '../offers-prisma.ts';
import type { Statement } from '../statement.ts';
import { ask, type Observe } from '../wire/ask.ts';
import type { Sender } from '../wire/query-group.ts';
import { divideConnections } from './division.ts';
import { openPool } from './pool.ts';
import { FIND_OWN_NAME } from './poolers.ts';
import { loadPrisma, openPrisma, prismaFor, type PrismaScope } from './prisma.ts';
import { openNodeConnections } from './shared-connections.ts';
import { openSingleStatements, runLimited, type Send } from './single-statements.ts';
import { createSlowReport, type SlowStatement } from './slow-statements.ts';
import { alsoTrace } from './traced-statements.ts';
import { openTransactions, type Transactions } from './transactions.ts';
import { createBeginWait, type ObserveWait } from './waits.ts';
import { openWakeUps } from './wake-ups.ts';
import { startWatchdog } from './watchdog.ts';

/**
 * The database of a process, with the pool that it owns.
 *
 * Its own `query` is for the short statements that every request needs, whoever calls. They have
 * connections of their own, so they wait for nobody's work. Other work belongs to a caller.
 */
export interface Database extends Db {
  readonly pool: pg.Pool;
  /**
   * Returns the database for the work of one caller. A team has a share of the connections and
   * waits in its own queue for more (`fair-queue.ts`). When the caller hangs up, what waits is
   * dropped, what runs is cancelled, and a transaction is rolled back unless its COMMIT is on its
   * way.
   */
  forCaller(caller: Caller): Db;
  /** For the short statements of a request that names a team, as far as that is known. */
  forTeam(teamId: string | null): Queries;
  /**
   * Whether a single statement of this team would begin at once. If not, the team's work waits in
   * its line, and to begin early would gain nothing.
   */
  hasRoom(teamId: string): boolean;
  /** Whether it is known to be plain Postgres, where one statement may be for several teams. */
  isPlain(): boolean;
  /** How much waits for its team's turn. */
  waiting(): Waiting;
  /**
   * Whether a pooler loses prepared statements, as far as this process has seen. Costs nothing
   * until one was lost, and then asks whether the pooler follows them by now.
   */
  losesStatements(): Promise<boolean>;
  /**
   * Loads Prisma's compiler, for which its first statements would stop the process for 0.4 s. The
   * database need not be reachable.
   */
  loadPrisma(): Promise<void>;
  /** Closes all connections. Call it after the last statement. */
  close(): Promise<void>;
}

/** What waits, by kind: single statements, those that take long, and transactions. */
export interface Waiting {
  readonly statements: number;
  readonly slowStatements: number;
  readonly transactions: number;
}

export interface DatabaseOptions {
  readonly url: string;
  /** Fewer than four count as four: one for each kind of work. */
  readonly poolMax: number;
  /** Called when an idle connection breaks. The pool replaces it. */
  readonly onError: (error: Error) => void;
  /** After waiting this long for an answer, the database counts as unreachable; 5 s by default. */
  readonly answerTimeoutMs?: number;
  /** The server ends a statement after this time; 4.5 s by default. */
  readonly statementTimeoutMs?: number;
  /** What a team's single statement may take on a shared connection; 150 ms by default. */
  readonly quickStatementMs?: number;
  /** Called with a statement of `slowStatementMs` or more (0.5 s by default). */
  readonly onSlow?: (slow: SlowStatement) => void;
  readonly slowStatementMs?: number;
  /** Called for what is refused because its team has too much work here. */
  readonly observeRefusal?: ObserveRefusal;
  readonly observeWait?: ObserveWait;
  /** Its timers and monotonic time; pg's own time limits are the system's. */
  readonly clock?: Clock;
}

const ANSWER_TIMEOUT_MS = 5_000;
/** Less than the time after which the connection would be broken. */
const STATEMENT_TIMEOUT_MS = 4_500;
const QUICK_STATEMENT_MS = 150;
const SLOW_STATEMENT_MS = 500;

/** The process's own work. It has no share and no limit on its line. */
const THE_PROCESS: Caller = { share: null };

/** Opens the database. Does not connect yet, so the database need not be reachable. */
export function openDatabase(options: DatabaseOptions): Database {
  const counts = divideConnections(options.poolMax);
  let hasLostStatement = false;
  const { clock = systemClock } = options;
  const watchdog = startWatchdog(options.answerTimeoutMs ?? ANSWER_TIMEOUT_MS, clock);
  const connections = openPool({
    url: options.url,
    max: counts.common + counts.quick + counts.slow + counts.transactions,
    statementTimeoutMs: options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS,
    watchdog,
    onError: options.onError,
    onLostStatement: () => {
      hasLostStatement = true;
    },
  });
  const beginWait = createBeginWait(clock, options.observeWait);
  const common = openNodeConnections(connections, counts.common);
  const statements = openSingleStatements({
    connections,
    watchdog,
    quickMs: options.quickStatementMs ?? QUICK_STATEMENT_MS,
    observeRefusal: options.observeRefusal,
    beginWait,
    clock,
    ...counts,
  });
  const scope = new AsyncLocalStorage<PrismaScope>();
  const prisma = once(() =>
    openPrisma({ scope, runAlone: (caller, send) => statements.run(caller, send) }),
  );
  const ownPrisma = once(() => prismaFor(prisma(), scope, { caller: THE_PROCESS }));
  const limits = { connections, watchdog };
  const observeFor = alsoTrace(
    createSlowReport(
      options.slowStatementMs ?? SLOW_STATEMENT_MS,
      options.onSlow ?? (() => undefined),
      clock,
    ),
  );
  const askBy =
    (observe: Observe) =>
    <Row>(sender: Sender, what: Statement<Row>, values: readonly unknown[]) =>
      ask(sender, { what, values, observe });
  const queryFor = (caller: Caller): Db['query'] => {
    const askOn = askBy(observeFor(caller));
    return (what, values) => statements.run(caller, (sender) => askOn(sender, what, values));
  };
  const askCommon = askBy(observeFor(THE_PROCESS));
  const sendCommon =
    (node: string | null) =>
    <T>(send: Send<T>): Promise<T> => {
      const endWait = beginWait('common');
      return common.run(node, (client) => {
        endWait();
        return runLimited(limits, client, send);
      });
    };
  const queryBy =
    (run: ReturnType<typeof sendCommon>): Db['query'] =>
    (what, values) =>
      run((sender) => askCommon(sender, what, values));
  const own = withFirst(queryBy(sendCommon(null)));
  const nodes = createTeamNodes(own);
  const cluster = createCluster(own);
  /** Work in the background has no node: it is for many teams. */
  const placed = (caller: Caller): Caller => {
    const node = caller.share && !waitsWithoutLimit(caller) ? nodes.of(caller.share) : null;
    return node === null ? caller : { ...caller, node };
  };
  const wakeUps = openWakeUps(queryFor(THE_PROCESS), clock);
  const dbFor = (caller: Caller): Db => {
    const offer = new OffersPrisma(() => prismaFor(prisma(), scope, { caller }));
    return Object.assign(offer, withFirst(queryFor(caller)), {
      cluster,
      transaction: <T>(work: (tx: Tx) => Promise<T>, shares?: number) =>
        transactions.run(caller, work, shares),
    });
  };
  const transactions: Transactions = openTransactions({
    connections,
    watchdog,
    scope,
    prisma,
    wakeUps,
    observeFor,
    dbFor,
    places: counts.transactions,
    observeRefusal: options.observeRefusal,
    beginWait,
    clock,
  });
  return {
    pool: connections.pool,
    get prisma() {
      return ownPrisma();
    },
    ...own,
    cluster,
    hasRoom: (teamId) => statements.hasRoom(placed({ share: teamId })),
    isPlain: () => nodes.isPlain(),
    waiting: () => ({ ...statements.waiting(), transactions: transactions.waiting() }),
    transaction: (work, shares) => transactions.run(THE_PROCESS, work, shares),
    forCaller: (caller) => dbFor(placed(caller)),
    forTeam: (teamId) => {
      const node = teamId === null ? null : nodes.of(teamId);
      return node === null ? own : withFirst(queryBy(sendCommon(node)));
    },
    losesStatements: async () => {
      if (!hasLostStatement) return false;
      hasLostStatement = await common.run(
        null,
        async (client) =>
          connections.isPooled(client) &&
          (await runLimited(limits, client, (sender) => askCommon(sender, FIND_OWN_NAME, [])))
            .length > 0,
      );
      return hasLostStatement;
    },
    loadPrisma: () => loadPrisma(prisma(), scope),
    close: async () => {
      await wakeUps.drain();
      watchdog.stop();
      await Promise.all([common.close(), statements.close()]);
      await connections.pool.end();
    },
  };
}
