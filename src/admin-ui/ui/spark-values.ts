/** A value of a small chart. */
export interface SparkValue {
  /** Of the height, from 0 to 1. */
  readonly share: number;
  readonly isBad?: boolean;
}

/** Draws amounts in the height of the largest one. */
export function amounts(values: readonly number[]): SparkValue[] {
  const most = Math.max(1, ...values);
  return values.map((value) => ({ share: value / most }));
}

/** How a value is drawn: its colour, and its height in percent. */
export function drawn({ share, isBad = false }: SparkValue): {
  readonly tone: 'none' | 'bad' | 'main';
  readonly percent: number;
} {
  return {
    tone: share === 0 ? 'none' : isBad ? 'bad' : 'main',
    percent: Math.min(1, share) * 100,
  };
}
