const DAY_MS = 86_400_000;

/** Weights of the days, Sunday first. People train on workdays, least on Fridays. */
const DAY_WEIGHTS = [0.05, 1, 1.1, 1.1, 1, 0.7, 0.08];
/** Weights of the hours in UTC, with two peaks around lunch and almost nothing at night. */
const HOUR_WEIGHTS = [
  1, 1, 1, 1, 1, 5, 30, 100, 160, 150, 130, 80, 100, 140, 140, 100, 60, 30, 15, 15, 10, 5, 3, 2,
];
const HOURS_TOTAL = HOUR_WEIGHTS.reduce((sum, weight) => sum + weight, 0);

/**
 * Returns the time, in milliseconds since 1970, at which this fraction (0 to 1) of all activity is
 * over. The fractions of successive calls must rise, because the timeline only moves forward.
 */
export type Timeline = (fraction: number) => number;

/**
 * Spreads activity from `fromMs` (inclusive) to `toMs` (exclusive) over office hours. Rising
 * fractions give rising times.
 */
export function createTimeline(fromMs: number, toMs: number): Timeline {
  const startOf = (day: number) => Math.max(fromMs, day * DAY_MS);
  const endOf = (day: number) => Math.min(toMs, (day + 1) * DAY_MS);
  const weightOf = (day: number) => weightOfDay(day) * ((endOf(day) - startOf(day)) / DAY_MS);
  const firstDay = Math.floor(fromMs / DAY_MS);
  const lastDay = Math.floor((toMs - 1) / DAY_MS);
  let total = 0;
  for (let day = firstDay; day <= lastDay; day += 1) total += weightOf(day);

  let day = firstDay;
  let before = 0;
  let weight = weightOf(day);
  return (fraction) => {
    const target = fraction * total;
    while (day < lastDay && before + weight <= target) {
      before += weight;
      day += 1;
      weight = weightOf(day);
    }
    const inDay = Math.min((target - before) / weight, 0.999_999_999);
    const isWhole = endOf(day) - startOf(day) === DAY_MS;
    const offset = (isWhole ? officeHours(inDay) : inDay) * (endOf(day) - startOf(day));
    return Math.min(startOf(day) + Math.floor(offset), toMs - 1);
  };
}

/** 1970-01-01 was a Thursday. */
function weightOfDay(day: number): number {
  return DAY_WEIGHTS[(((day + 4) % 7) + 7) % 7] ?? 1;
}

function officeHours(fraction: number): number {
  let rest = fraction * HOURS_TOTAL;
  for (const [hour, weight] of HOUR_WEIGHTS.entries()) {
    if (rest < weight) return (hour + rest / weight) / 24;
    rest -= weight;
  }
  return 0.999_999;
}
