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
 *  * While `member_detail_enabled` is off, whoever reads the analytics before and after a training
 *    would compute its score, and an event or a shift plan tells whose it was. So a mean moves only
 *    by groups of trainings, in the order in which their scores were stored. A group is complete
 *    when six people are in it, so that each is among five others (the threshold of official
 *    statistics is three to ten), and nobody made more than half of it (their rule of dominance).
 *    What comes later is left out until then. Each mean has its own groups, because not every
 *    evaluation has every dimension. Means are whole numbers, which hides a score that is saved
 *    anew. A week of the trend is shown with six people in it.
 *  * Groups begin anew at every hundredth score, so that a read looks at 199 evaluations and not at
 *    all. An incomplete group is then part of the next one. A mean is null if the last hundred
 *    scores hold no group.
 *  * The figures are over everybody then, whether or not they have left: a removal would tell the
 *    leaver's mean. Counts move at once: `evaluation.completed` tells of each training, too.
 *    Rejected: noise, which many reads average away; a table of what was shown last, which each
 *    read would write; figures by day or week, which late scores move one by one.
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
/** How many people a mean is over while details are off: one, and five others. */
const CROWD = 6;
/** After so many scores, groups begin anew. */
const SEGMENT = 100;
/** How many of the newest evaluations tell what is left out. */
export const NEWEST = 2 * SEGMENT - 1;
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

/** An evaluation, as far as means depend on it. */
export interface Evaluated {
  readonly userId: string;
  /** The Monday of its week; null: a later day than today. */
  readonly week: string | null;
  /** How many totals the person has in that week. */
  readonly inWeek: number;
  readonly total: number | null;
  readonly dimensions: Readonly<Record<string, number | null>>;
}

/** The rollups of all who ever trained. `newest` are the last evaluations, the newest first. */
export interface WholeFigures {
  readonly activeMembers: number;
  readonly sessions: number;
  readonly scored: number;
  readonly all: Scores;
  readonly dimensions: ReadonlyMap<string, Scores>;
  /** `people`: how many have a total in that week. */
  readonly weeks: ReadonlyMap<string, Scores & { readonly people: number }>;
  readonly newest: readonly Evaluated[];
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

/** Returns the rollups as far as they may be shown while details are off. They have no board. */
export function withoutNewest(whole: WholeFigures): TeamFigures {
  const { activeMembers, sessions, scored, newest } = whole;
  const all = complete(whole.all, newest, ({ total }) => total);
  const dimensions = [...whole.dimensions].map(
    ([name, scores]) => [name, complete(scores, newest, (each) => each.dimensions[name])] as const,
  );
  const weeks = [...whole.weeks].map(([week, { people, ...scores }]) => {
    const later = all.later.filter((each) => each.week === week);
    const isShown = people - countGone(later) >= CROWD;
    return [week, isShown ? minus(scores, later, ({ total }) => total) : NO_SCORES] as const;
  });
  return {
    activeMembers,
    people: [{ sessions, scored, all: all.scores, recent: NO_SCORES, previous: NO_SCORES }],
    dimensions: new Map(
      dimensions
        .map(([name, { scores }]) => [name, scores] as const)
        .filter(([, { count }]) => count),
    ),
    weeks: all.scores.count === 0 ? new Map() : new Map(weeks),
  };
}

const NO_SCORES: Scores = { sum: 0, count: 0 };

/** How many people have no total in the week but these. */
function countGone(later: readonly Evaluated[]): number {
  const left = new Map<string, number>();
  for (const { userId, inWeek } of later) left.set(userId, (left.get(userId) ?? inWeek) - 1);
  return [...left.values()].filter((count) => count <= 0).length;
}

type ValueOf = (evaluated: Evaluated) => number | null | undefined;

/** The scores up to the last complete group, and the evaluations that came later. */
function complete(
  scores: Scores,
  newest: readonly Evaluated[],
  valueOf: ValueOf,
): { readonly scores: Scores; readonly later: readonly Evaluated[] } {
  const own = newest.filter((each) => isNumber(valueOf(each)));
  const count = countLater(
    own.map(({ userId }) => userId),
    scores.count,
  );
  if (count === null) return { scores: NO_SCORES, later: own };
  const later = own.slice(0, count);
  return { scores: minus(scores, later, valueOf), later };
}

/**
 * Returns how many of the newest scores came after the last complete group. null: it is not among
 * them. `userIds`: whose they are, the newest first; `count`: how many scores there are in all.
 */
export function countLater(userIds: readonly string[], count: number): number | null {
  const open = count % SEGMENT;
  if (userIds.length < open) return null;
  const later = afterLastGroup(userIds.slice(0, open));
  if (later !== null) return later;
  const before = userIds.slice(open, open + SEGMENT);
  const earlier = before.length === SEGMENT ? afterLastGroup(before) : null;
  return earlier === null ? null : open + earlier;
}

function afterLastGroup(newestFirst: readonly string[]): number | null {
  let later: number | null = null;
  let group = new Map<string, number>();
  let size = 0;
  for (const [index, userId] of newestFirst.toReversed().entries()) {
    group.set(userId, (group.get(userId) ?? 0) + 1);
    size += 1;
    if (group.size < CROWD || 2 * Math.max(...group.values()) > size) continue;
    later = newestFirst.length - index - 1;
    group = new Map();
    size = 0;
  }
  return later;
}

function minus({ sum, count }: Scores, later: readonly Evaluated[], valueOf: ValueOf): Scores {
  const values = later.map(valueOf).filter(isNumber);
  return {
    sum: sum - values.reduce((total, value) => total + value, 0),
    count: count - values.length,
  };
}

function isNumber(value: number | null | undefined): value is number {
  return typeof value === 'number';
}

/**
 * Computes the analytics from the rollups. `weeks`: the Mondays of the trend, oldest first.
 * `decimals`: of the means.
 */
export function summarize(
  figures: TeamFigures,
  weeks: readonly string[],
  decimals = 1,
): TeamSummary {
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
      avg_score: meanOf(all, decimals),
    },
    dimensions: [...dimensions]
      .toSorted(byName)
      .map(([dimension, scores]) => ({ dimension, value: meanOf(scores, decimals) })),
    skill_gaps: findSkillGaps(dimensions),
    trend: weeks.map((week) => ({
      score: meanOf(figures.weeks.get(week) ?? NO_SCORES, 0),
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
