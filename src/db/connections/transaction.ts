/**
 * One transaction on one connection. Every statement between BEGIN and COMMIT is sent by it.
 *
 *  * `new`: nothing was sent. BEGIN is sent together with the first statements, and Postgres skips
 *    them if it fails. They are all that are asked for side by side, so BEGIN waits for the end of
 *    the present microtask: a statement that came a moment later would cost a round trip.
 *  * `beginning`: BEGIN was sent and not yet answered. Nothing else is sent until it has succeeded.
 *  * `open`: BEGIN has succeeded. A statement that fails now fails inside the transaction.
 *
 * After a failed BEGIN, and as soon as COMMIT or ROLLBACK was sent, every statement is refused.
 */
import type pg from 'pg';
import { isConnectionBroken, isFollowUp, rethrow } from '../errors.ts';
import { statement } from '../statement.ts';
import { toQuery, type Observe, type Sendable } from '../wire/ask.ts';
import { Outgoing } from '../wire/outgoing.ts';
import { isIdle, sendGroup, skip } from '../wire/query-group.ts';
import type { Watchdog } from './watchdog.ts';

export interface Transaction {
  /** Adds a statement, which waits for `send`. Throws if `make` does, or the transaction ended. */
  add<T>(make: () => Sendable<T>): Promise<T>;
  /** Sends what was added since the last time, with BEGIN in the next microtask. */
  send(): void;
  /** Throws if the transaction has ended. */
  requireOpen(): void;
  /**
   * Sends COMMIT together with what was added. `before` runs right before it is sent and may throw
   * to prevent it; `behind` runs right after. Sends nothing if there was no statement. Throws if a
   * statement has failed, or if Postgres answers anything but COMMIT.
   */
  commit(steps: Steps): Promise<void>;
  /** Refuses what was not sent, and rolls back the rest. Never rejects. */
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

interface Settings {
  readonly watchdog: Watchdog;
  /** What comes right after BEGIN. */
  readonly limits: readonly Outgoing[];
}

export function openTransaction(
  client: pg.PoolClient,
  { watchdog, limits }: Settings,
): Transaction {
  let state: 'new' | 'beginning' | 'open' = 'new';
  let waiting: Outgoing[] = [];
  /** The last result of what waits. */
  let last: Promise<unknown> = Promise.resolve();
  let fault: unknown = null;
  let mustClose = false;
  /**
   * Makes the error by which every statement is refused. A function, since the stack of an error
   * costs 2 % of a request.
   */
  let refusal: (() => Error) | null = null;
  const begun = Promise.withResolvers<void>();

  const end = (reason: () => Error): void => {
    refusal ??= reason;
    if (waiting.length > 0) skip(waiting.splice(0), reason());
  };
  const requireOpen = (): void => {
    if (refusal) rethrow(refusal());
  };
  const keep = (error: unknown): void => {
    mustClose ||= isConnectionBroken(error);
    fault ??= (isFollowUp(error) && (error as Error).cause) || error;
  };
  const begin = new Outgoing(BEGIN, [], (outcome) => {
    begun.resolve();
    if (outcome instanceof Error) {
      keep(outcome);
      end(() => outcome);
    } else {
      state = 'open';
      send();
    }
  });
  const send = (): void => {
    if (state === 'beginning' || waiting.length === 0) return;
    const queries = state === 'new' ? [begin, ...limits, ...waiting] : waiting;
    if (state === 'new') state = 'beginning';
    waiting = [];
    watchdog.guard(client, last).catch(() => undefined);
    sendGroup(client, queries);
  };
  const add: Transaction['add'] = (make) => {
    requireOpen();
    try {
      const { query, result } = make();
      waiting.push(query);
      last = result;
      // Whoever asked gets the error, too.
      result.catch(keep);
      return result;
    } catch (error) {
      keep(error);
      throw error;
    }
  };
  return {
    add,
    send: () => {
      if (state === 'new') queueMicrotask(send);
      else send();
    },
    requireOpen,
    commit: async ({ observe, before, behind }) => {
      if (state === 'beginning') await begun.promise;
      before();
      if (fault !== null) rethrow(fault);
      const isEmpty = state === 'new' && waiting.length === 0;
      const committed = isEmpty ? null : add(() => toQuery({ what: COMMIT, values: [], observe }));
      send();
      end(hasEnded);
      behind();
      // After a failed statement, Postgres answers COMMIT with ROLLBACK and no error.
      if (committed && (await committed).command !== 'COMMIT')
        rethrow(fault ?? new Error('the transaction was rolled back by the database'));
    },
    rollback: async () => {
      end(hasEnded);
      if (state === 'beginning') await begun.promise;
      if (state !== 'open') return;
      const ended = Promise.withResolvers<void>();
      const query = new Outgoing({ text: 'ROLLBACK' }, [], (outcome) =>
        outcome instanceof Error ? ended.reject(outcome) : ended.resolve(),
      );
      sendGroup(client, [query]);
      await watchdog.guard(client, ended.promise).catch(() => {
        mustClose = true;
      });
    },
    fault: () => fault,
    isClean: () => !mustClose && isIdle(client),
  };
}

const hasEnded = (): Error => new Error('the transaction has ended');
