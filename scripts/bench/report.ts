/** The limit that one figure must meet. */
export interface Target {
  readonly limit: number;
  readonly unit: string;
  /** Whether more is better, or less. */
  readonly better: 'more' | 'less';
  readonly isMet: (value: number) => boolean;
}

/** A target that is met by `limit` or more. */
export const atLeast = (limit: number): Target => ({
  limit,
  unit: '',
  better: 'more',
  isMet: (value) => value >= limit,
});
/** A target that is met by `limit` or less. */
export const atMost = (limit: number, unit = ''): Target => ({
  limit,
  unit,
  better: 'less',
  isMet: (value) => value <= limit,
});

/** A figure that has a target. */
export interface Figure {
  /** The title of its table, and what it says. */
  readonly name: string;
  readonly value: number;
  readonly target: Target;
}

const WIDTHS = [54, 14, 14, 9] as const;
const figuresSoFar: Figure[] = [];
const curvesSoFar: Curve[] = [];
let title = '';

/** All figures with a target that were printed so far. */
export const printedFigures = (): readonly Figure[] => figuresSoFar;

/** All curves that were printed so far. */
export const printedCurves = (): readonly Curve[] => curvesSoFar;

/** Prints a table's title and the names of its columns. */
export function printHeading(heading: string, columns: readonly string[]): void {
  title = heading;
  console.log(`\n${[heading, ...columns].map(pad).join('')}`);
}

/** Prints one row of a table; `judged` adds a verdict on the figure that has a target. */
export function printFigures(
  what: string,
  figures: readonly string[],
  judged?: { value: number; target: Target },
): void {
  if (judged) figuresSoFar.push({ name: `${title}: ${what.trim()}`, ...judged });
  const verdict = judged ? `   ${verdictOn(judged)}` : '';
  console.log([what, ...figures].map(pad).join('') + verdict);
}

/** How much there was of what grows, and the figure. */
export type Point = readonly [size: number, value: number];

/** A figure at several sizes. */
export interface Curve {
  readonly name: string;
  /** What grows. */
  readonly of: string;
  readonly points: readonly Point[];
}

/** Prints a figure at several sizes. The target is for the last one beside the first one. */
export function printCurve(
  name: string,
  of: string,
  points: readonly Point[],
  target: Target,
): void {
  curvesSoFar.push({ name, of, points });
  printHeading(`Growth, ${of}: ${name}`, ['', '', 'ratio']);
  const [, first = NaN] = points[0] ?? [];
  points.forEach(([size, value], place) => {
    const figures = ['', value.toFixed(value < 20 ? 2 : 0), (value / first).toFixed(2)];
    const judged = place === points.length - 1 ? { value: value / first, target } : undefined;
    printFigures(`  ${size.toLocaleString('en')}`, figures, judged);
  });
}

/** The target, and whether it is met. */
export function verdictOn({ value, target }: Pick<Figure, 'value' | 'target'>): string {
  const { limit, unit, better, isMet } = target;
  return `${better === 'more' ? '≥' : '≤'} ${limit}${unit}  ${isMet(value) ? 'ok' : 'SHORT'}`;
}

function pad(text: string, column: number): string {
  return column === 0 ? text.padEnd(WIDTHS[0]) : text.padStart(WIDTHS[column] ?? 9);
}

/** The value below which this share of the values is; NaN if there are none. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)] ?? NaN;
}

/** The median; the lower of the two middle values if their number is even. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}
