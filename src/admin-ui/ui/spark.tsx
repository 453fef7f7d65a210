import type { SparkBar } from './spark-values.ts';

/** Small bars beside a number. They are decoration: what they show is written elsewhere, too. */
export function Spark({ bars }: { readonly bars: readonly SparkBar[] }) {
  return (
    <div className="spark" aria-hidden="true">
      {bars.map((parts, place) => (
        <span key={place}>
          {parts.map(({ tone, share }) => (
            <span key={tone} className={`part ${tone}`} style={{ blockSize: `${share * 100}%` }} />
          ))}
        </span>
      ))}
    </div>
  );
}
