/** What a chart draws: see `chart.tsx`. */

/** One bar. `parts` are stacked from the bottom. */
export interface Bar {
  readonly label: string;
  readonly parts: readonly { readonly tone: Tone; readonly value: number }[];
  /** A short piece of one height for what has no value. */
  readonly stub?: Tone;
  /** All that there is to say about it. */
  readonly text: string;
  /** What the chart's own table says of it, by column. */
  readonly cells?: readonly string[];
}
export type Tone = 'main' | 'warn' | 'soft' | 'bad';

/** Each bar has a name below it if there are no more of them. */
const NAMED_MAX = 12;

export function sumOf({ parts }: Pick<Bar, 'parts'>): number {
  return parts.reduce((total, { value }) => total + value, 0);
}

/** The place of the bar that is read at first: the latest one that has a value; -1: none has. */
export function firstBar(bars: readonly Bar[]): number {
  return bars.findLastIndex((bar) => sumOf(bar) > 0 || bar.stub !== undefined);
}

/** The place of the bar that is read. There may be fewer bars than when it was `chosen`. */
export function shownBar(bars: readonly Bar[], chosen: number): number {
  const last = bars.length - 1;
  return chosen === -1 ? last : Math.min(chosen, last);
}

/** The place that a key leads to from `shown`; null: it is not one of the keys. */
export function barAfterKey(key: string, shown: number, count: number): number | null {
  const last = count - 1;
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: shown - 1,
    ArrowRight: shown + 1,
    Home: 0,
    End: last,
  };
  const next = steps[key];
  return next === undefined ? null : Math.max(0, Math.min(last, next));
}

/** The value at the top: the next round number that can be halved. */
export function topOf(bars: readonly Pick<Bar, 'parts'>[]): number {
  const value = Math.max(...bars.map(sumOf));
  if (value <= 2) return 2;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 3, 4, 5, 6, 8, 10].find((one) => one * power >= value) ?? 10;
  const round = step * power;
  return round % 2 === 0 ? round : round + 1;
}

/** The bars with a name below them: each, if there are few, else the first and the last one. */
export function namedBars<Named>(bars: readonly Named[]): {
  readonly hasAll: boolean;
  readonly named: readonly Named[];
} {
  const hasAll = bars.length <= NAMED_MAX;
  return { hasAll, named: hasAll ? bars : [...bars.slice(0, 1), ...bars.slice(-1)] };
}

/** A table of values as a file that spreadsheets read. */
export function csvOf(rows: readonly (readonly (string | number)[])[]): string {
  const quote = (value: string | number) => `"${String(value).replaceAll('"', '""')}"`;
  return rows.map((row) => row.map(quote).join(',')).join('\r\n');
}
