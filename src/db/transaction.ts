/**
 * One transaction on one connection. All that goes on the wire in between goes through it.
 *
 *  * `new`: nothing was sent. BEGIN goes with the first statements and shares their Sync, so they
 *    are not executed without it, whatever happens to it.
 *  * `beginning`: the answer to BEGIN is on its way. Until then nothing is sent.
 *  * `open`: it has begun. A statement that comes now may fail, but never outside of it.
 *  * `ended`: COMMIT or ROLLBACK is on its way, or the work is done. Every statement is refused.
 *  * `broken`: BEGIN has failed.
 */
import type pg from 'pg';
import { isConnectionBroken, isFollowUp, rethrow } from './errors.ts';
import { PreparedQuery, type WireQuery } from './prepared-query.ts';
import { sendGroup, skip } from './query-group.ts';
import { statement, toQuery, type Observe, type Sendable } from './statement.ts';
import type { Watchdog } from './watchdog.ts';

export interface Transaction {
  /** Adds a statement, which waits for `send`. Throws if the transaction has ended. */
  add<T>(what: Sendable<T>): Promise<T>;
  /** Sends what was added since the last time. */
  send(): void;
  /** Throws if the transaction has ended. */
  requireOpen(): void;
  /**
   * Sends COMMIT with what was added: `before` runs right before, and may refuse it; `behind` right
   * after. Without a statement nothing is sent. Throws unless the answer is that it has committed.
   */
  commit(steps: Steps): Promise<void>;
  /** Refuses what waits, and takes back the rest. Never rejects. */
  rollback(): Promise<void>;
  /** The first error of its statements, which made Postgres refuse those after it. */
  fault(): unknown;
  /** Whether the connection is outside of every transaction, and can be used again. */
  isClean(): boolean;
}

interface Steps {
  readonly observe: Observe;
  readonly before: () => void;
  readonly behind: () => void;
}

const BEGIN = statement('transactions.begin', 'BEGIN');
const COMMIT = statement('transactions.commit', 'COMMIT');

/** `limits` come right after BEGIN. */
export function openTransaction(
  client: pg.PoolClient,
  { watchdog, limits }: { readonly watchdog: Watchdog; readonly limits: readonly WireQuery[] },
): Transaction {
  let state: 'new' | 'beginning' | 'open' | 'ended' | 'broken' = 'new';
  let waiting: WireQuery[] = [];
  /** The last result of what waits. */
  let last: Promise<unknown> = Promise.resolve();
  let isSendDue = false;
  let mustClose = false;
  let fault: unknown = null;
  const begun = Promise.withResolvers<void>();
  const begin = new PreparedQuery(BEGIN, [], (error) => {
    begun.resolve();
    if (error) {
      state = 'broken';
      fault ??= error;
      refuse(error);
    } else if (state === 'beginning') {
      state = 'open';
      if (isSendDue) send();
    }
  });
  const isBroken = (): boolean => state === 'broken';
  const refuse = (error: Error): void => skip(waiting.splice(0), error);
  const requireOpen = (): void => {
    if (state === 'broken') rethrow(fault);
    if (state === 'ended') throw new Error('the transaction has ended');
  };
  const send = (): void => {
    isSendDue = state === 'beginning';
    if (isSendDue || waiting.length === 0) return;
    const queries = state === 'new' ? [begin, ...limits, ...waiting] : waiting;
    waiting = [];
    if (state === 'new') state = 'beginning';
    watchdog.guard(client, last).catch(() => undefined);
    sendGroup(client, queries);
  };
  const add: Transaction['add'] = ({ query, result }) => {
    requireOpen();
    waiting.push(query);
    last = result;
    // Whoever asked gets the error, too.
    result.catch((error: unknown) => {
      mustClose ||= isConnectionBroken(error);
      fault ??= isFollowUp(error) ? (error as Error).cause : error;
    });
    return result;
  };
  return {
    add,
    send,
    requireOpen,
    commit: async ({ observe, before, behind }) => {
      if (state === 'beginning') await begun.promise;
      before();
      requireOpen();
      const isEmpty = state === 'new' && waiting.length === 0;
      const committed = isEmpty ? null : add(toQuery({ what: COMMIT, values: [], observe }));
      send();
      state = 'ended';
      behind();
      // After a failed statement, Postgres answers COMMIT with ROLLBACK and no error.
      if (committed && (await committed).command !== 'COMMIT')
        throw new Error('the transaction was rolled back by the database');
    },
    rollback: async () => {
      const isSent = state !== 'new';
      if (state !== 'broken') state = 'ended';
      refuse(new Error('the transaction has ended'));
      if (!isSent) return;
      await begun.promise;
      if (isBroken()) return;
      await watchdog.guard(client, client.query('ROLLBACK')).catch(() => {
        mustClose = true;
      });
    },
    fault: () => fault,
    isClean: () => !isBroken() && !mustClose && statusOf(client) === IDLE,
  };
}

/** The server's own word, with its last answer: whether the connection is in a transaction. */
function statusOf(client: pg.PoolClient): string | null {
  return (client as unknown as { getTransactionStatus(): string | null }).getTransactionStatus();
}

/** Outside of every transaction. */
const IDLE = 'I';
