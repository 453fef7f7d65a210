import type { Clock } from '../../core/clock.ts';
import type { Db } from '../../db/client.ts';
import { removeOldRequests } from '../requests/service.ts';
import { BATCH_MAX, RETENTIONS } from './rules.ts';
import * as store from './store.ts';
import type { Batch } from './store.ts';

/**
 * Deletes old rows and returns how many, by kind. Deletes in small statements, each with a
 * transaction of its own, so that no lock is held for long. `batch` is at most `BATCH_MAX`. If a
 * kind fails, the others are deleted all the same, and then an error is thrown that names each kind
 * that failed.
 */
export async function removeOld(
  db: Db,
  clock: Clock,
  batch = BATCH_MAX,
): Promise<Record<string, number>> {
  const now = clock.now();
  const removed: Record<string, number> = {};
  const failures: Error[] = [];
  for (const [name, next] of kindsOf(db, now, batch)) {
    try {
      removed[name] = await removeAll(next, batch);
    } catch (error) {
      failures.push(new Error(`${name}: ${reasonOf(error)}`, { cause: error }));
    }
  }
  try {
    await removeOldRequests(db, now);
  } catch (error) {
    failures.push(new Error(`requests: ${reasonOf(error)}`, { cause: error }));
  }
  if (failures.length === 0) return removed;
  const reasons = failures.map(({ message }) => message).join('; ');
  throw new AggregateError(failures, `Old rows could not be removed: ${reasons}`);
}

/** Deletes the next batch, from a position on; null is the beginning. */
type NextBatch = (position: string | null) => Promise<Batch>;

function kindsOf(db: Db, now: Date, limit: number): (readonly [name: string, NextBatch])[] {
  return [
    ...RETENTIONS.map((retention) => {
      const before = new Date(now.getTime() - retention.keepMs);
      const next: NextBatch = (position) =>
        store.deleteOld(db, retention, before, { position, limit });
      return [retention.name, next] as const;
    }),
    ['counters', (position) => store.deleteOldCounters(db, now, { position, limit })],
  ];
}

async function removeAll(next: NextBatch, limit: number): Promise<number> {
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
