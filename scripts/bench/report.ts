/** The limit that one figure must meet. */
export interface Target {
  readonly text: string;
  readonly isMet: (value: number) => boolean;
}

/** A target that is met by `limit` or more. */
export const atLeast = (limit: number): Target => ({
  text: `≥ ${limit}`,
  isMet: (value) => value >= limit,
});
/** A target that is met by `limit` or less. */
export const atMost = (limit: number, unit = ''): Target => ({
  text: `≤ ${limit}${unit}`,
  isMet: (value) => value <= limit,
});

const WIDTHS = [54, 14, 14, 9] as const;

/** Prints a table's title and the names of its columns. */
export function printHeading(title: string, columns: readonly string[]): void {
  console.log(`\n${[title, ...columns].map(pad).join('')}`);
}

/** Prints one row of a table; `judged` adds a verdict on the figure that has a target. */
export function printFigures(
  what: string,
  figures: readonly string[],
  judged?: { value: number; target: Target },
): void {
  const verdict = judged
    ? `   ${judged.target.text}  ${judged.target.isMet(judged.value) ? 'ok' : 'SHORT'}`
    : '';
  console.log([what, ...figures].map(pad).join('') + verdict);
}

function pad(text: string, column: number): string {
  return column === 0 ? text.padEnd(WIDTHS[0]) : text.padStart(WIDTHS[column] ?? 9);
}

/**
 * The median; the lower of the two middle values if their number is even, NaN if there are none.
 */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[(values.length - 1) >> 1] ?? NaN;
}
