/**
 * What the rest of `src/db` sends statements by. There are two: `fast-wire.ts`, which reaches into
 * pg, and `plain-wire.ts`, which uses only what pg documents. The room's README says why.
 */
import type pg from 'pg';
import type { Clock } from '../../core/clock.ts';

/** Which of the two. */
export type WireMode = 'fast' | 'plain';

/** A statement that can be sent once. Its wire calls `onEnd` once, whatever happens. */
export interface Outgoing {
  /** When it was sent, as `performance.now()` says. */
  readonly sentAt: number;
  /** The size of the rows that have come, as far as it is known. */
  readonly bytes: number;
  /** Ends it with this error instead of sending it. */
  fail(error: Error): void;
}

/** Called when a statement has ended. The result is undefined after an error. */
export type OnEnd = (error: Error | null, result: pg.QueryResult) => void;

/** A statement. One without a name is planned at each call. */
export interface Named {
  readonly name: string | undefined;
  readonly text: string;
}

/** What a new connection has learned about its session. */
interface SessionFacts {
  /** The process of the server that serves it. */
  readonly pid: number;
  /** Whether the session has the limits that it was opened with. */
  readonly hasLimits: boolean;
}

interface PoolOptions {
  /** DATABASE_URL. */
  readonly url: string;
  readonly config: pg.PoolConfig;
  /** Called when the server does not know a statement that was prepared on the connection. */
  readonly onLostStatement: () => void;
}

export interface Wire {
  /** Opens a pool of connections to the primary. Does not connect yet. */
  openPool(options: PoolOptions): pg.Pool;
  /** Call it once for each new connection. Returns whether it leads to a pooler. */
  welcome(client: pg.ClientBase, facts: SessionFacts): boolean;
  /**
   * Makes a statement whose rows are read by name, and that is prepared once on a connection.
   * Throws if one of its values cannot be sent. `isRead` false: nobody reads its rows, so none of
   * them can be unreadable.
   */
  prepare(what: Named, values: readonly unknown[], onEnd: OnEnd, isRead?: boolean): Outgoing;
  /** Makes a statement of a library, which is planned at each call and says how rows are read. */
  fromConfig(config: pg.QueryConfig, onEnd: OnEnd): Outgoing;
  /**
   * Sends statements that follow each other. After an error the others are not executed, and fail
   * with 25P02. What is sent later on this connection comes behind them.
   */
  send(client: pg.ClientBase, queries: readonly Outgoing[]): void;
  /** Sends one statement outside of transactions, with settings that hold for it alone. */
  sendAlone(client: pg.ClientBase, settings: readonly Outgoing[], query: Outgoing): void;
  /**
   * Asks the server to end the statement that runs on the connection. Resolves with whether it has
   * acted, or was not asked at all. If it does not answer, false: a limit on the statement's time
   * ends it then, but the request may still hit a later statement of the connection.
   */
  cancel(client: pg.ClientBase, clock: Pick<Clock, 'after'>): Promise<boolean>;
}

/** What sends single statements: on a connection, perhaps behind limits that it lacks. */
export interface Sender {
  readonly wire: Wire;
  /** With settings that hold for it alone. */
  send(query: Outgoing, settings?: readonly Outgoing[]): void;
}

/** Returns what sends single statements on the connection, each behind the limits made for it. */
export function senderOn(
  wire: Wire,
  client: pg.ClientBase,
  limits: readonly Outgoing[] = [],
): Sender {
  return {
    wire,
    send: (query, settings = []) => wire.sendAlone(client, [...limits, ...settings], query),
  };
}

/** Ends statements that were not executed because of this error of an earlier one. */
export function skip(queries: readonly Outgoing[], cause: Error): void {
  for (const query of queries) {
    const error = new Error('an earlier statement of the transaction has failed', { cause });
    query.fail(Object.assign(error, { code: '25P02' }));
  }
}

/** Whether the connection is outside of every transaction, by the server's last answer. */
export function isIdle(client: pg.Client): boolean {
  return client.getTransactionStatus() === 'I';
}

/**
 * SQLSTATEs of a prepared statement that the server does not have, or has already. Neither can
 * happen on a connection of our own, for pg prepares each statement once.
 */
const LOST_STATEMENT = new Set(['26000', '42P05']);

/** Whether the server does not know what was prepared on a connection. */
export function isLostStatement(error: object): boolean {
  return 'code' in error && LOST_STATEMENT.has(error.code as string);
}
