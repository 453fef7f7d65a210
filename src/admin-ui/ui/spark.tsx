import { drawn, type SparkValue } from './spark-values.ts';

/** Small bars beside a number. They are decoration: what they show is written elsewhere, too. */
export function Spark({ values }: { readonly values: readonly SparkValue[] }) {
  return (
    <div className="spark" aria-hidden="true">
      {values.map(drawn).map(({ tone, percent }, place) => (
        <span key={place} className={`part ${tone}`} style={{ blockSize: `${percent}%` }} />
      ))}
    </div>
  );
}
