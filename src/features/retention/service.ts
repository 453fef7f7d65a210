import type { Clock } from '../../core/clock.ts';
import { groupByShard, knowsShards } from '../../db/citus/shards.ts';
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
  const isDistributed = await knowsShards(db);
  for (const kind of kindsOf(db, now, batch)) {
    const { name, next } = kind;
    try {
      removed[name] = isDistributed
        ? await removeByShard(db, kind, batch)
        : await removeAll(next, batch);
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
type NextBatch = (position: string | null, teams?: readonly string[]) => Promise<Batch>;

interface Kind {
  readonly name: string;
  readonly next: NextBatch;
  readonly onShards: TeamRows | RowsOfNoTeam;
}

/** Rows that a distributed database deletes for the teams that have some, shard by shard. */
interface TeamRows {
  readonly findTeams: () => Promise<readonly string[]>;
}

/** Rows that a distributed database deletes everywhere at once. Returns how many. */
interface RowsOfNoTeam {
  readonly remove: () => Promise<number>;
}

function kindsOf(db: Db, now: Date, limit: number): Kind[] {
  return [
    ...RETENTIONS.map((retention): Kind => {
      const before = new Date(now.getTime() - retention.keepMs);
      return {
        name: retention.name,
        next: (position, teams) =>
          store.deleteOld(db, retention, before, { position, limit, teams: teams ?? null }),
        onShards: { findTeams: () => store.findTeams(db, retention, before) },
      };
    }),
    {
      name: 'counters',
      next: (position) => store.deleteOldCounters(db, 'counters', now, { position, limit }),
      onShards: { remove: () => store.deleteCountersInShards(db, now) },
    },
    {
      name: 'teamCounters',
      next: (position, teams) =>
        store.deleteOldCounters(db, 'teamCounters', now, { position, limit, teams: teams ?? null }),
      onShards: { findTeams: () => store.findCountedTeams(db, now) },
    },
  ];
}

/** The same for one shard after the other. */
async function removeByShard(db: Db, { next, onShards }: Kind, limit: number): Promise<number> {
  if ('remove' in onShards) return onShards.remove();
  let sum = 0;
  for (const teams of await groupByShard(db, await onShards.findTeams()))
    sum += await removeAll((position) => next(position, teams), limit);
  return sum;
}

async function removeAll(
  next: (position: string | null) => Promise<Batch>,
  limit: number,
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
