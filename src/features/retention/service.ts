import type { Clock } from '../../core/clock.ts';
import type { Db } from '../../db/client.ts';
import { isDistributed, partsOf } from '../../db/parts.ts';
import { removalTime } from '../../db/database-clock.ts';
import { removeOldRequests } from '../requests/service.ts';
import { BATCH_MAX, RETENTIONS } from './rules.ts';
import * as store from './store.ts';
import type { Batch } from './store.ts';

/** `batch` is at most `BATCH_MAX`. `requestLogDays`: by default as many as are shown. */
export interface RemovalOptions {
  readonly batch?: number | undefined;
  readonly requestLogDays?: number;
}

/**
 * Deletes old rows and returns how many, by kind. Deletes in small statements, each with a
 * transaction of its own, so that no lock is held for long. If a kind fails, the others are deleted
 * all the same, and then an error is thrown that names each kind that failed.
 */
export async function removeOld(
  db: Db,
  clock: Clock,
  { batch = BATCH_MAX, requestLogDays }: RemovalOptions = {},
): Promise<Record<string, number>> {
  const now = await removalTime(db, clock);
  const removed: Record<string, number> = {};
  const failures: Error[] = [];
  for (const { name, remove } of kindsOf(db, now, batch)) {
    try {
      removed[name] = await remove();
    } catch (error) {
      failures.push(new Error(`${name}: ${reasonOf(error)}`, { cause: error }));
    }
  }
  try {
    await removeOldRequests(db, now, requestLogDays);
  } catch (error) {
    failures.push(new Error(`requests: ${reasonOf(error)}`, { cause: error }));
  }
  if (failures.length === 0) return removed;
  const reasons = failures.map(({ message }) => message).join('; ');
  throw new AggregateError(failures, `Old rows could not be removed: ${reasons}`);
}

interface Kind {
  readonly name: string;
  /** Returns how many rows it has deleted. */
  readonly remove: () => Promise<number>;
}

function kindsOf(db: Db, now: Date, limit: number): Kind[] {
  return [
    ...RETENTIONS.map((retention): Kind => {
      const before = new Date(now.getTime() - retention.keepMs);
      return {
        name: retention.name,
        remove: () =>
          removeOfTeams(db, limit, {
            findTeams: () => store.findTeams(db, retention, before),
            next: (part, position) => store.deleteOld(part, retention, before, { position, limit }),
          }),
      };
    }),
    {
      name: 'jobs',
      remove: () => removeAll(limit, () => store.deleteGivenUpJobs(db, now, limit)),
    },
    {
      name: 'counters',
      remove: async () => {
        const isInShards = await isDistributed(db);
        return removeAll(limit, (position) =>
          isInShards
            ? store.deleteCountersInShards(db, now, limit)
            : store.deleteOldCounters(db, 'counters', now, { position, limit }),
        );
      },
    },
    {
      name: 'teamCounters',
      remove: () =>
        removeOfTeams(db, limit, {
          findTeams: () => store.findCountedTeams(db, now),
          next: (part, position) =>
            store.deleteOldCounters(part, 'teamCounters', now, { position, limit }),
        }),
    },
  ];
}

/** Rows of teams. `findTeams` tells who has some, and is not always asked. */
interface RowsOfTeams {
  readonly findTeams: () => Promise<readonly string[]>;
  /** Deletes the next batch, from a position on; null is the beginning. */
  readonly next: (db: Db, position: string | null) => Promise<Batch>;
}

async function removeOfTeams(
  db: Db,
  limit: number,
  { findTeams, next }: RowsOfTeams,
): Promise<number> {
  let sum = 0;
  for (const part of await partsOf(db, findTeams))
    sum += await removeAll(limit, (position) => next(part, position));
  return sum;
}

async function removeAll(
  limit: number,
  next: (position: string | null) => Promise<Batch>,
): Promise<number> {
  let sum = 0;
  let seen = limit;
  for (let position: string | null = null; seen === limit;) {
    const batch = await next(position);
    sum += batch.removed;
    ({ seen, position } = batch);
  }
  return sum;
}

/** A problem hides its cause from callers of the API, but this error is for the log. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message} (${cause.message})` : message;
}
