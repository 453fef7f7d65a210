/** What one figure is held against. */
export interface Target {
  readonly text: string;
  readonly isMet: (value: number) => boolean;
}

export const atLeast = (limit: number): Target => ({
  text: `≥ ${limit}`,
  isMet: (value) => value >= limit,
});
export const atMost = (limit: number, unit = ''): Target => ({
  text: `≤ ${limit}${unit}`,
  isMet: (value) => value <= limit,
});

const WIDTHS = [54, 14, 14, 9] as const;

export function printHeading(title: string, columns: readonly string[]): void {
  console.log(`\n${[title, ...columns].map(pad).join('')}`);
}

/** A line: what was measured, the figures as they are, and the one that counts with its target. */
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

/** The middle one, of an even number the lower of the two; NaN of nothing. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[(values.length - 1) >> 1] ?? NaN;
}
