/**
 * How long a job waits. graphile-worker takes jobs by the database's clock, so the wait is added to
 * the time of that clock. With a time by the clock of a process that is 30 s ahead, the job would
 * run 30 s late.
 */
export interface JobWait {
  readonly ms: number;
  /** When the wait begins, if not at the database's time: `clock.override()`. */
  readonly from: Date | null;
}

/** SQL: the time at which a job runs. `from` and `ms`: the parameters of {@link waitValues}. */
export function runAtText(from: string, ms: string): string {
  return `coalesce(${from}::timestamptz, now()) + make_interval(secs => ${ms}::float8 / 1000)`;
}

/** Returns the values of both parameters. Without a wait, the time is null. */
export function waitValues(wait: JobWait | undefined): [from: Date | null, ms: number | null] {
  return [wait?.from ?? null, wait?.ms ?? null];
}
