/**
 * Counts the requests of each key in memory. Adds the counts to the database every ten seconds and
 * when the process stops, so that a request costs no write. A killed process loses at most its last
 * ten seconds. If the answer to a write is lost, its counts are added twice. Counts that must be
 * exact are the rate counters, which Postgres keeps.
 */
import type { Clock } from '../../core/clock.ts';
import { teamKey, type TeamKey } from '../../core/team-key.ts';
import type { Db } from '../../db/client.ts';
import { isCancelled } from '../../db/errors.ts';
import { addUsage, type Counts } from './store.ts';

/** A running counter. */
export interface UsageCounter {
  /**
   * Counts one request, at the cost of a look into a map. `used`: the share of the minute's limit
   * that was used then, from 0 to 1.
   */
  readonly count: (teamId: string, keyId: string, status: number, used: number) => void;
  /** Writes what is left. Never rejects. */
  stop(): Promise<void>;
}

/** What the counter needs. `onError` gets the error of a failed write, whose counts are kept. */
export interface UsageCounterOptions {
  readonly db: Db;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

const FLUSH_EVERY_MS = 10_000;
/** How many counts a statement writes. After one that took too long it is half as many. */
const MOST_AT_ONCE = 5_000;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** Starts counting. The caller must call `stop` before it closes the database. */
export function startUsageCounter({ db, clock, onError }: UsageCounterOptions): UsageCounter {
  let counted: Counted = new Map();
  let flushing: Promise<void> | null = null;

  let mostAtOnce = MOST_AT_ONCE;

  const write = async (): Promise<void> => {
    const left = [...counted.values()];
    counted = new Map();
    while (left.length > 0) {
      const batch = left.splice(0, mostAtOnce);
      try {
        for (const later of await addUsage(db, batch)) addBack(counted, later);
      } catch (error) {
        onError(error);
        if (isCancelled(error)) mostAtOnce = Math.ceil(batch.length / 2);
        // What has failed goes behind the rest, so that it does not keep that from being written.
        for (const unwritten of [...left, ...batch]) addBack(counted, unwritten);
        return;
      }
    }
    mostAtOnce = Math.min(2 * mostAtOnce, MOST_AT_ONCE);
  };

  const flush = (): Promise<void> =>
    (flushing ??= write().finally(() => {
      flushing = null;
    }));
  const endFlushes = clock.every(FLUSH_EVERY_MS, () => void flush());

  return {
    count: (teamId, keyId, status, used) => {
      const now = clock.now().getTime();
      const entry = entryOf(counted, teamId, keyId, Math.floor(now / DAY_MS));
      entry.lastMinute = Math.floor(now / MINUTE_MS);
      entry.peakPercent = Math.max(entry.peakPercent, Math.round(100 * used));
      if (status < 400) entry.count2xx += 1;
      else if (status === 429) entry.count429 += 1;
      else if (status < 500) entry.count4xx += 1;
      else entry.count5xx += 1;
    },
    stop: async () => {
      endFlushes();
      await flushing;
      await flush();
    },
  };
}

/** The counts that are not written yet, by team, key and day. */
type Counted = Map<TeamKey, Counts>;

function entryOf(counted: Counted, teamId: string, keyId: string, day: number): Counts {
  const name = teamKey(teamId, keyId, String(day));
  const known = counted.get(name);
  if (known) return known;
  const counts = { count2xx: 0, count4xx: 0, count429: 0, count5xx: 0 };
  const made = { teamId, keyId, day, lastMinute: 0, peakPercent: 0, ...counts };
  counted.set(name, made);
  return made;
}

function addBack(counted: Counted, unwritten: Counts): void {
  const entry = entryOf(counted, unwritten.teamId, unwritten.keyId, unwritten.day);
  entry.count2xx += unwritten.count2xx;
  entry.count4xx += unwritten.count4xx;
  entry.count429 += unwritten.count429;
  entry.count5xx += unwritten.count5xx;
  entry.lastMinute = Math.max(entry.lastMinute, unwritten.lastMinute);
  entry.peakPercent = Math.max(entry.peakPercent, unwritten.peakPercent);
}
