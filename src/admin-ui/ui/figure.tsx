import type { CSSProperties, ReactNode } from 'react';
import { Spark } from './spark.tsx';
import type { SparkBar } from './spark-values.ts';

/** A number with what it counts. */
export function Figure({
  label,
  value,
  isBad = false,
  hint,
  spark,
}: {
  readonly label: ReactNode;
  readonly value: string;
  readonly isBad?: boolean;
  readonly hint?: ReactNode;
  readonly spark?: readonly SparkBar[];
}) {
  return (
    <div className="figure">
      <p className="figure-label">{label}</p>
      <p
        className={isBad ? 'figure-value bad' : 'figure-value'}
        style={{ '--length': value.length } as CSSProperties}
      >
        {value}
      </p>
      {spark && spark.length > 0 && <Spark bars={spark} />}
      {hint && <p className="hint">{hint}</p>}
    </div>
  );
}
