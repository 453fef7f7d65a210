/**
 * Decisions about the analytics that the specification leaves open:
 *  * All figures are over the trainings of people who are active members now, the owner included.
 *  * `sessions` are ended trainings, `scored` are trainings with an evaluation. Means are over
 *    evaluations that have a total. `rollups-store.ts` defines when a training has ended, and to
 *    which day a score belongs.
 *  * Means are rounded to one decimal, those of the trend to whole numbers, half away from zero.
 *    Each is computed from exact integer sums and counts of the database: floats are never added,
 *    and nothing is rounded twice. `trend_delta` is the rounded difference of the exact means.
 *  * A skill gap is a dimension whose exact mean is below 60, the lowest first, equal ones by name.
 *    A mean of 59.96 is a gap, although it is shown as 60.
 *  * The trend's last week is the current one. The windows of `trend_delta` are calendar days in
 *    UTC: today and the 29 days before, and the 30 days before those. Scores of future days, which
 *    a seed file can contain, are in neither window and not in the trend.
 *  * The board is sorted by what it shows: the mean (none comes last), then sessions, then delta.
 *    Members with the same three values cannot be told apart.
 *  * The admin page lists all members involved if they fit, or else the best and the last of those
 *    who have a score. Its chart has a mean below 0 in the first step and one of 100 or more in the
 *    last: the host application may send such scores, and every member is in the chart.
 *  * A member is involved if they have at least one ended session. `core/privacy.ts` decides
 *    whether the board is shown.
 */

/** The length of each of the two windows of `trend_delta`. */
export const WINDOW_DAYS = 30;
const TREND_WEEKS = 12;
const SKILL_GAP_BELOW = 60;
/** How many of the best and of the last members the admin page lists. */
const LISTED = 10;
const SPREAD_STEPS = 10;
const DAY_MS = 24 * 60 * 60 * 1000;

/** A mean, as exact integers. */
export interface Scores {
  readonly sum: number;
  readonly count: number;
}

/** The rollups of one person. */
export interface PersonFigures {
  readonly sessions: number;
  readonly scored: number;
  readonly all: Scores;
  /** Of the window that ends today. */
  readonly recent: Scores;
  /** Of the window before that. */
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

/** The response of the API. `board` becomes `members` if privacy allows it. */
export interface TeamSummary {
  readonly totals: {
    active_members: number;
    scored: number;
    sessions: number;
    avg_score: number | null;
  };
  readonly dimensions: { dimension: string; value: number | null }[];
  readonly skill_gaps: string[];
  readonly trend: { score: number | null }[];
  /** The members involved, best first. */
  readonly board: BoardEntry[];
}

export interface BoardEntry {
  readonly sessions: number;
  readonly avg_score: number | null;
  readonly trend_delta: number | null;
}

/** The time that the analytics of a moment cover. */
export interface Period {
  /** UTC dates, `YYYY-MM-DD`. */
  readonly today: string;
  /** The Mondays of the trend's weeks, oldest first. They reach further back than the windows. */
  readonly weeks: readonly string[];
}

/** The period as of `now`, which may be any time of the day. */
export function periodOf(now: Date): Period {
  const today = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate());
  const monday = today - ((now.getUTCDay() + 6) % 7) * DAY_MS;
  const weeks = Array.from({ length: TREND_WEEKS }, (_, index) =>
    toDate(monday - (TREND_WEEKS - 1 - index) * 7 * DAY_MS),
  );
  return { today: toDate(today), weeks };
}

function toDate(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Computes the analytics from the rollups. `weeks`: the Mondays of the trend, oldest first. */
export function summarize(figures: TeamFigures, weeks: readonly string[]): TeamSummary {
  const { people, dimensions } = figures;
  const total = (pick: (person: PersonFigures) => number): number =>
    people.reduce((sum, person) => sum + pick(person), 0);
  const all = {
    sum: total((person) => person.all.sum),
    count: total((person) => person.all.count),
  };
  return {
    totals: {
      active_members: figures.activeMembers,
      scored: total((person) => person.scored),
      sessions: total((person) => person.sessions),
      avg_score: meanOf(all, 1),
    },
    dimensions: [...dimensions]
      .toSorted(byName)
      .map(([dimension, scores]) => ({ dimension, value: meanOf(scores, 1) })),
    skill_gaps: findSkillGaps(dimensions),
    trend: weeks.map((week) => ({
      score: meanOf(figures.weeks.get(week) ?? { sum: 0, count: 0 }, 0),
    })),
    board: people
      .filter((person) => person.sessions > 0)
      .map(toBoardEntry)
      .toSorted(bestFirst),
  };
}

/** What the admin page draws of a board, however long it is. `place` counts from 1. */
export function drawBoard(board: readonly BoardEntry[]): {
  readonly spread: number[];
  readonly best: (BoardEntry & { readonly place: number })[];
  readonly last: (BoardEntry & { readonly place: number })[];
} {
  const ranked = board.map((entry, index) => ({ ...entry, place: index + 1 }));
  const scored = ranked.filter(({ avg_score: score }) => score !== null);
  const spread = Array.from({ length: SPREAD_STEPS }, () => 0);
  for (const { avg_score: score } of scored) {
    const step = Math.floor((score ?? 0) / (100 / SPREAD_STEPS));
    const shown = Math.min(Math.max(step, 0), SPREAD_STEPS - 1);
    spread[shown] = (spread[shown] ?? 0) + 1;
  }
  if (ranked.length <= 2 * LISTED) return { spread, best: ranked, last: [] };
  return { spread, best: scored.slice(0, LISTED), last: scored.slice(LISTED).slice(-LISTED) };
}

function meanOf({ sum, count }: Scores, decimals: number): number | null {
  return count === 0 ? null : roundRatio(BigInt(sum), BigInt(count), decimals);
}

function toBoardEntry({ sessions, all, recent, previous }: PersonFigures): BoardEntry {
  return { sessions, avg_score: meanOf(all, 1), trend_delta: differenceOfMeans(recent, previous) };
}

function differenceOfMeans(recent: Scores, previous: Scores): number | null {
  if (recent.count === 0 || previous.count === 0) return null;
  const [a, b] = [BigInt(recent.count), BigInt(previous.count)];
  return roundRatio(BigInt(recent.sum) * b - BigInt(previous.sum) * a, a * b, 1);
}

function findSkillGaps(dimensions: ReadonlyMap<string, Scores>): string[] {
  const gaps = [...dimensions]
    .filter(([, { sum, count }]) => sum < SKILL_GAP_BELOW * count)
    .toSorted(byName);
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
    descending(a.avg_score, b.avg_score) ||
    descending(a.sessions, b.sessions) ||
    descending(a.trend_delta, b.trend_delta)
  );
}

/** null comes last. */
function descending(a: number | null, b: number | null): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  return b - a;
}

function byName([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : 1;
}
