/** A value of a small chart. */
export interface SparkValue {
  /** Of the height, from 0 to 1. */
  readonly share: number;
  readonly isBad?: boolean;
}

/** Small bars beside a number. They are decoration: what they show is written elsewhere, too. */
export function Spark({ values }: { readonly values: readonly SparkValue[] }) {
  return (
    <div className="spark" aria-hidden="true">
      {values.map(({ share, isBad = false }, place) => (
        <span
          key={place}
          className={`part ${share === 0 ? 'none' : isBad ? 'bad' : 'main'}`}
          style={{ blockSize: `${Math.min(1, share) * 100}%` }}
        />
      ))}
    </div>
  );
}

/** Draws amounts in the height of the largest one. */
export function amounts(values: readonly number[]): SparkValue[] {
  const most = Math.max(1, ...values);
  return values.map((value) => ({ share: value / most }));
}
