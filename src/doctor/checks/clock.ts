import { checkOfDatabase, fail, ok, warn, type Finding } from '../check.ts';

const WARN_MS = 1_000;
/** A token of the host application is valid for a minute, and one of a link for less. */
const FAIL_MS = 10_000;

const REMEDY = 'Let chrony or systemd-timesyncd run on both machines.';

/** This machine's clock against the database's. */
export const clock = checkOfDatabase('clock', 'Doctor', async (ask) => {
  // The first answer may be late; the second one is as quick as the network.
  await ask('select 1');
  const before = Date.now();
  const [row] = await ask<{ at: number }>(
    'select extract(epoch from clock_timestamp())::float8 * 1000 as at',
  );
  return compareClocks({ before, at: row?.at ?? 0, after: Date.now() });
});

/** When this machine asked, what the database's clock said, and when the answer came; all in ms. */
export interface ClockReading {
  readonly before: number;
  readonly at: number;
  readonly after: number;
}

/** Says how far the clocks are apart: at least, as the answer was given between both times. */
export function compareClocks({ before, at, after }: ClockReading): readonly Finding[] {
  const apart = Math.max(0, before - at, at - after);
  const text = `the clocks of this machine and of the database are ${Math.round(apart)} ms apart`;
  if (apart >= FAIL_MS) return [fail(text, REMEDY)];
  if (apart >= WARN_MS) return [warn(text, REMEDY)];
  return [ok(text)];
}
