/** A bar of a small chart: parts of the height, from 0 to 1, stacked from the bottom. */
export type SparkBar = readonly {
  readonly tone: 'main' | 'bad' | 'none';
  readonly share: number;
}[];

/** Stands where there was nothing: a thin line. */
const NOTHING: SparkBar = [{ tone: 'none', share: 0 }];

/** Draws amounts in the height of the largest one. */
export function amounts(values: readonly number[]): SparkBar[] {
  const most = Math.max(1, ...values);
  return values.map((value) => bar({ tone: 'main', share: value / most }));
}

/** Draws bad shares, none higher than the whole. */
export function badShares(shares: readonly number[]): SparkBar[] {
  return shares.map((share) => bar({ tone: 'bad', share: Math.min(1, share) }));
}

/** Draws what arrived and what failed on top of each other, always in full height. */
export function outcomes(
  counted: readonly { readonly arrived: number; readonly failed: number }[],
): SparkBar[] {
  return counted.map(({ arrived, failed }) =>
    arrived + failed === 0
      ? NOTHING
      : bar(
          { tone: 'main', share: arrived / (arrived + failed) },
          { tone: 'bad', share: failed / (arrived + failed) },
        ),
  );
}

function bar(...parts: SparkBar): SparkBar {
  const drawn = parts.filter(({ share }) => share > 0);
  return drawn.length === 0 ? NOTHING : drawn;
}
