/**
 * Decisions about the analytics that the specification leaves open:
 *  * Everything is over the trainings of persons who are active members now, the owner included. `sessions` are ended trainings, `scored` those with an
 *    evaluation; means are over evaluations that have a total. What counts as ended, and the day of a score, is in `rollups.ts`.
 *  * Means are rounded to one decimal, those of the trend to whole numbers, half away from zero, and each from exact integers: sums and counts come from
 *    the database, so no sum of floats and no rounding of something rounded. `trend_delta` is the rounded difference of the exact means.
 *  * A skill gap is a dimension whose exact mean is below 60 (59.96 is one, though it is shown as 60), the lowest first, equals by name.
 *  * The trend's last week is the current one. The windows of `trend_delta` are calendar days in UTC: today and the 29 before, and the 30 before those.
 *    Scores of days to come (a seed can bring them) are in neither.
 *  * The board is ordered by what it shows: mean (none: last), then sessions, then delta. Members who are equal in all three cannot be told apart.
 *  * "Involved" are the active members with at least one ended session; whether the board is shown is `core/privacy.ts`'s.
 */

/** In days. */
export const WINDOW_DAYS = 30;
const TREND_WEEKS = 12;
const SKILL_GAP_BELOW = 60;
const DAY_MS = 24 * 60 * 60 * 1000;

/** What a mean is made of; exact integers. */
export interface Scores {
  readonly sum: number;
  readonly count: number;
}

export interface PersonFigures {
  readonly sessions: number;
  readonly scored: number;
  readonly all: Scores;
  readonly recent: Scores;
  readonly previous: Scores;
}

/** The rollups of a team's active members. */
export interface TeamFigures {
  readonly activeMembers: number;
  readonly people: readonly PersonFigures[];
  readonly dimensions: ReadonlyMap<string, Scores>;
  /** Monday (`YYYY-MM-DD`) → scores of that week. */
  readonly weeks: ReadonlyMap<string, Scores>;
}

export interface BoardEntry {
  readonly sessions: number;
  readonly averageScore: number | null;
  readonly trendDelta: number | null;
}

export interface TeamSummary {
  readonly activeMembers: number;
  readonly scored: number;
  readonly sessions: number;
  readonly averageScore: number | null;
  readonly dimensions: readonly { readonly name: string; readonly mean: number | null }[];
  readonly skillGaps: readonly string[];
  readonly trend: readonly (number | null)[];
  /** The members involved, best first. */
  readonly board: readonly BoardEntry[];
}

/** The Mondays (`YYYY-MM-DD`) of the trend's weeks, oldest first. */
export function trendWeeks(now: Date): string[] {
  const sinceMonday = (now.getUTCDay() + 6) % 7;
  const monday = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate() - sinceMonday);
  return Array.from({ length: TREND_WEEKS }, (_, index) => toDate(monday - (TREND_WEEKS - 1 - index) * 7 * DAY_MS));
}

export function toDate(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

export function summarize(figures: TeamFigures, weeks: readonly string[]): TeamSummary {
  const { people, dimensions } = figures;
  const total = (pick: (person: PersonFigures) => number): number => people.reduce((sum, person) => sum + pick(person), 0);
  return {
    activeMembers: figures.activeMembers,
    scored: total((person) => person.scored),
    sessions: total((person) => person.sessions),
    averageScore: meanOf({ sum: total((person) => person.all.sum), count: total((person) => person.all.count) }, 1),
    dimensions: [...dimensions].toSorted(byName).map(([name, scores]) => ({ name, mean: meanOf(scores, 1) })),
    skillGaps: findSkillGaps(dimensions),
    trend: weeks.map((week) => meanOf(figures.weeks.get(week) ?? { sum: 0, count: 0 }, 0)),
    board: people.filter((person) => person.sessions > 0).map(toBoardEntry).toSorted(bestFirst),
  };
}

/** The mean to that many decimals, half away from zero; null without scores. */
export function meanOf({ sum, count }: Scores, decimals: number): number | null {
  return count === 0 ? null : roundRatio(BigInt(sum), BigInt(count), decimals);
}

function toBoardEntry({ sessions, all, recent, previous }: PersonFigures): BoardEntry {
  return { sessions, averageScore: meanOf(all, 1), trendDelta: differenceOfMeans(recent, previous) };
}

function differenceOfMeans(recent: Scores, previous: Scores): number | null {
  if (recent.count === 0 || previous.count === 0) return null;
  const [a, b] = [BigInt(recent.count), BigInt(previous.count)];
  return roundRatio(BigInt(recent.sum) * b - BigInt(previous.sum) * a, a * b, 1);
}

function findSkillGaps(dimensions: ReadonlyMap<string, Scores>): string[] {
  const gaps = [...dimensions].filter(([, { sum, count }]) => sum < SKILL_GAP_BELOW * count).toSorted(byName);
  return gaps.toSorted(([, a], [, b]) => a.sum / a.count - b.sum / b.count).map(([name]) => name);
}

function roundRatio(numerator: bigint, denominator: bigint, decimals: number): number {
  const scale = 10 ** decimals;
  const size = (numerator < 0n ? -numerator : numerator) * BigInt(scale);
  const rounded = (2n * size + denominator) / (2n * denominator);
  return Number(numerator < 0n ? -rounded : rounded) / scale;
}

function bestFirst(a: BoardEntry, b: BoardEntry): number {
  return (
    (b.averageScore ?? -Infinity) - (a.averageScore ?? -Infinity) ||
    b.sessions - a.sessions ||
    (b.trendDelta ?? -Infinity) - (a.trendDelta ?? -Infinity) ||
    0
  );
}

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : 1;
}
