/** The figures of the team's results: see `results.tsx`. */
import type { RouterOutputs } from '../lib/api.ts';

export type Results = RouterOutputs['admin']['analytics']['results'];

/** The scores that each step stands for. The best possible score belongs to the last step. */
export function stepLabels(count: number): readonly string[] {
  const width = 100 / count;
  return Array.from({ length: count }, (_, step) => {
    const from = step * width;
    return `${from}–${step === count - 1 ? 100 : from + width - 1}`;
  });
}

/** The weeks of a trend. The last one is that of `readAt`, in milliseconds since 1970. */
export function weeksOf(
  trend: Results['trend'],
  readAt: number,
): readonly {
  readonly weeksAgo: number;
  readonly monday: string;
  readonly score: number | null;
}[] {
  return trend.map(({ score }, place) => {
    const weeksAgo = trend.length - 1 - place;
    return { weeksAgo, monday: mondayOf(readAt, weeksAgo), score };
  });
}

/** The Monday of a week, `YYYY-MM-DD`. Weeks are those of UTC, as in the API. */
function mondayOf(ms: number, weeksAgo: number): string {
  const at = new Date(ms);
  const daysAgo = ((at.getUTCDay() + 6) % 7) + 7 * weeksAgo;
  at.setUTCDate(at.getUTCDate() - daysAgo);
  return at.toISOString().slice(0, 10);
}

/** A figure, or a dash where there is none. */
export function figureText(value: number | null, write: (value: number) => string): string {
  return value === null ? '–' : write(value);
}

/** The same for a change: one to the better has its sign, too. */
export function changeText(value: number | null, write: (value: number) => string): string {
  return `${value !== null && value > 0 ? '+' : ''}${figureText(value, write)}`;
}
