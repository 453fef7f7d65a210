/**
 * What one training adds to the rollups of its person. The terms are those of `rollups-store.ts`:
 *  * A session is a training that has ended: it has a finish time, or the status `scored`.
 *  * A training is scored if it has an evaluation.
 *  * A score belongs to the UTC day on which the training was created.
 */
import { DIMENSIONS } from '../../core/dimensions.ts';

/** What one training contributes to the rollups. */
export interface Contribution {
  readonly isEnded: boolean;
  /** null: no evaluation. */
  readonly score: {
    /** null: the evaluation has no total. */
    readonly total: number | null;
    readonly dimensions: Readonly<Record<string, number>>;
  } | null;
}

/** What to add to a sum of scores and to their count; may be negative. */
export interface Pair {
  readonly sum: number;
  readonly count: number;
}

/** What to add to the sums of a person. */
export interface RollupChange {
  readonly sessions: number;
  readonly scored: number;
  readonly total: Pair;
  /** In the order of DIMENSIONS. */
  readonly dimensions: readonly Pair[];
}

/**
 * Returns what to add to the sums when a training's contribution changes: the new contribution
 * minus the old one. Null if nothing changes.
 */
export function changeOf(before: Contribution, after: Contribution): RollupChange | null {
  const pairs = [before, after].map(({ score }) => [
    score?.total,
    ...DIMENSIONS.map((name) => score?.dimensions[name]),
  ]);
  const [old = [], now = []] = pairs;
  const changes = now.map((value, index) => subtract(value, old[index]));
  const [total = { sum: 0, count: 0 }, ...dimensions] = changes;
  const sessions = Number(after.isEnded) - Number(before.isEnded);
  const scored = Number(after.score !== null) - Number(before.score !== null);
  if (sessions === 0 && scored === 0 && changes.every(isNothing)) return null;
  return { sessions, scored, total, dimensions };
}

/** Whether adding the pair changes neither the sum nor the count. */
export function isNothing({ sum, count }: Pair): boolean {
  return sum === 0 && count === 0;
}

function subtract(now: number | null | undefined, old: number | null | undefined): Pair {
  return { sum: (now ?? 0) - (old ?? 0), count: Number(isScored(now)) - Number(isScored(old)) };
}

function isScored(value: number | null | undefined): boolean {
  return value !== null && value !== undefined;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Returns the Monday (`YYYY-MM-DD`) of the week of that instant, and its day of the
 * week, 1 (Monday) to 7. Both are in UTC.
 */
export function weekOf(at: string): { readonly monday: string; readonly day: number } {
  const time = Date.parse(at);
  const day = ((new Date(time).getUTCDay() + 6) % 7) + 1;
  return { monday: new Date(time - (day - 1) * DAY_MS).toISOString().slice(0, 10), day };
}
