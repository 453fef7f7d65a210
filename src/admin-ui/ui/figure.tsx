import type { ReactNode } from 'react';

/** A number with what it counts. */
export function Figure({
  label,
  value,
  hint,
}: {
  readonly label: ReactNode;
  readonly value: ReactNode;
  readonly hint?: ReactNode;
}) {
  return (
    <div className="figure">
      <p className="figure-label">{label}</p>
      <p className="figure-value">{value}</p>
      {hint && <p className="hint">{hint}</p>}
    </div>
  );
}
