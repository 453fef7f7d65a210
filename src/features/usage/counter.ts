/**
 * Counts the requests of each key in memory, and adds them to the database every ten seconds and at the end: a request costs no write. A process that is killed
 * takes at most its last ten seconds with it; figures that must be exact are the rate counters, which Postgres keeps. Should the answer to a write be lost on the
 * way, what it held is added again.
 */
import type { Clock } from '../../core/clock.ts';
import type { Db } from '../../db/client.ts';
import { addUsage, type Counts } from './store.ts';

export interface UsageCounter {
  /** Costs a look into a map. */
  readonly count: (teamId: string, keyId: string, status: number) => void;
  /** Writes what is left. Never rejects. */
  stop(): Promise<void>;
}

export interface UsageCounterOptions {
  readonly db: Db;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

const FLUSH_EVERY_MS = 10_000;
const DAY_MS = 86_400_000;

export function startUsageCounter({ db, clock, onError }: UsageCounterOptions): UsageCounter {
  let counted = new Map<string, Counts>();
  let flushing: Promise<void> | null = null;

  const entryOf = (teamId: string, keyId: string, day: number): Counts => {
    const name = `${teamId}\n${keyId}\n${day}`;
    const known = counted.get(name);
    if (known) return known;
    const made = { teamId, keyId, day, count2xx: 0, count4xx: 0, count429: 0, count5xx: 0 };
    counted.set(name, made);
    return made;
  };

  const write = async (): Promise<void> => {
    const batch = counted;
    if (batch.size === 0) return;
    counted = new Map();
    try {
      await addUsage(db, [...batch.values()]);
    } catch (error) {
      onError(error);
      for (const lost of batch.values()) {
        const entry = entryOf(lost.teamId, lost.keyId, lost.day);
        entry.count2xx += lost.count2xx;
        entry.count4xx += lost.count4xx;
        entry.count429 += lost.count429;
        entry.count5xx += lost.count5xx;
      }
    }
  };

  const flush = (): Promise<void> =>
    (flushing ??= write().finally(() => {
      flushing = null;
    }));
  const timer = setInterval(() => void flush(), FLUSH_EVERY_MS);
  timer.unref();

  return {
    count: (teamId, keyId, status) => {
      const entry = entryOf(teamId, keyId, Math.floor(clock.now().getTime() / DAY_MS));
      if (status < 400) entry.count2xx += 1;
      else if (status === 429) entry.count429 += 1;
      else if (status < 500) entry.count4xx += 1;
      else entry.count5xx += 1;
    },
    stop: async () => {
      clearInterval(timer);
      await flushing;
      await flush();
    },
  };
}
