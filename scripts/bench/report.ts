// Prints tables, and judges figures by their targets.

const WIDTHS = [52, 11] as const;

/** The limit that one figure must meet. */
export interface Target {
  readonly limit: number;
  readonly unit: string;
  readonly better: 'more' | 'less';
}

export function atLeast(limit: number): Target {
  return { limit, unit: '', better: 'more' };
}

export function atMost(limit: number, unit = ''): Target {
  return { limit, unit, better: 'less' };
}

interface Judged {
  readonly value: number;
  readonly target: Target;
}

/** Prints a table's title and the names of its columns. */
export function printHeading(heading: string, columns: readonly string[]): void {
  console.log(`\n${[heading, ...columns].map(pad).join('')}`);
}

/** Prints one row of a table; `judged` adds a verdict on the figure that has a target. */
export function printFigures(what: string, cells: readonly string[], judged?: Judged): void {
  console.log([what, ...cells].map(pad).join('') + (judged ? `   ${verdictOn(judged)}` : ''));
}

/** Prints the title of a table of `printRatios`. The first of the sides is the floor. */
export function printSides(heading: string, sides: readonly string[]): void {
  const ratios = sides.length > 2 ? ['this/floor', 'REV/floor', 'this/REV'] : ['ratio'];
  printHeading(heading, [...sides, ...ratios]);
}

/** Prints a figure of the floor, of this revision and perhaps of another one, and their ratios. */
export function printRatios(what: string, values: readonly number[], target?: Target): void {
  const [floor = NaN, ours = NaN, other] = values;
  if (Number.isNaN(ours)) return;
  const cells = values.map((value) => value.toFixed(floor < 20 ? 2 : 0));
  const ratios = [ours / floor, ...(other === undefined ? [] : [other / floor, ours / other])];
  printFigures(
    what,
    [...cells, ...ratios.map((ratio) => ratio.toFixed(2))],
    target && { value: ours / floor, target },
  );
}

/** How much there was of what grows, and the figure. */
export type Point = readonly [size: number, value: number];

/** Prints a figure at several sizes of `of`. The target is for the last beside the first one. */
export function printCurve(
  name: string,
  of: string,
  points: readonly Point[],
  target: Target,
): void {
  printHeading(`Growth, ${of}: ${name}`, ['', 'ratio']);
  const [, first = NaN] = points[0] ?? [];
  points.forEach(([size, value], place) => {
    const cells = [value.toFixed(value < 20 ? 2 : 0), (value / first).toFixed(2)];
    const judged = place === points.length - 1 ? { value: value / first, target } : undefined;
    printFigures(`  ${size.toLocaleString('en')}`, cells, judged);
  });
}

function verdictOn({ value, target: { limit, unit, better } }: Judged): string {
  const isMet = better === 'more' ? value >= limit : value <= limit;
  return `${better === 'more' ? '≥' : '≤'} ${limit}${unit}  ${isMet ? 'ok' : 'SHORT'}`;
}

function pad(text: string, column: number): string {
  return column === 0 ? text.padEnd(WIDTHS[0]) : text.padStart(WIDTHS[1]);
}

/** The value below which this share of the values is; NaN if there are none. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) * share)] ?? NaN;
}

/** The median; the lower of the two middle values if their number is even. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}
