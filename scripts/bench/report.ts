// Prints tables, judges figures by their targets, and sets them beside the last ones kept.
import { readFile, writeFile } from 'node:fs/promises';

const KEPT = new URL('./results.json', import.meta.url);
/** Two runs of the same code differ by less, on a machine that does nothing else. */
const NOISE = 0.1;
const WIDTHS = [54, 14, 14, 9] as const;

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

/** Figures with a target, by the title of their table and their row. */
const figures = new Map<string, Judged>();
let title = '';

/** Prints a table's title and the names of its columns. */
export function printHeading(heading: string, columns: readonly string[]): void {
  title = heading;
  console.log(`\n${[heading, ...columns].map(pad).join('')}`);
}

/** Prints one row of a table; `judged` adds a verdict on the figure that has a target. */
export function printFigures(what: string, cells: readonly string[], judged?: Judged): void {
  if (judged) figures.set(`${title}: ${what.trim()}`, judged);
  console.log([what, ...cells].map(pad).join('') + (judged ? `   ${verdictOn(judged)}` : ''));
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
  printHeading(`Growth, ${of}: ${name}`, ['', '', 'ratio']);
  const [, first = NaN] = points[0] ?? [];
  points.forEach(([size, value], place) => {
    const cells = ['', value.toFixed(value < 20 ? 2 : 0), (value / first).toFixed(2)];
    const judged = place === points.length - 1 ? { value: value / first, target } : undefined;
    printFigures(`  ${size.toLocaleString('en')}`, cells, judged);
  });
}

/** Prints all figures with a target. With `save`, keeps them for the next run. */
export async function reportResults({ save }: { readonly save: boolean }): Promise<void> {
  const kept = JSON.parse(await readFile(KEPT, 'utf8')) as Record<string, number>;
  const width = Math.max(...[...figures.keys()].map((name) => name.length));
  const cell = (value: number | undefined): string => (value?.toFixed(2) ?? '').padStart(10);
  console.log(`\n${'All figures'.padEnd(width)}${'last'.padStart(10)}${'now'.padStart(10)}`);
  for (const [name, judged] of figures) {
    const { value, target } = judged;
    const last = kept[name] ?? NaN;
    const worse = (target.better === 'more' ? last / value : value / last) - 1;
    const change = worse > NOISE ? `   WORSE by ${(worse * 100).toFixed(0)} %` : '';
    const cells = cell(kept[name]) + cell(value);
    console.log(`${name.padEnd(width)}${cells}   ${verdictOn(judged)}${change}`);
    kept[name] = value;
  }
  if (save) await writeFile(KEPT, `${JSON.stringify(kept, null, 2)}\n`);
}

function verdictOn({ value, target: { limit, unit, better } }: Judged): string {
  const isMet = better === 'more' ? value >= limit : value <= limit;
  return `${better === 'more' ? '≥' : '≤'} ${limit}${unit}  ${isMet ? 'ok' : 'SHORT'}`;
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
