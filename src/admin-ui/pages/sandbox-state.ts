/** What is being played in a sandbox, and how fast: see `sandbox.tsx`. */
import type { RouterOutputs } from '../lib/api.ts';
import { now } from '../lib/clock.ts';

export type Sandbox = NonNullable<RouterOutputs['admin']['sandbox']['get']['sandbox']>;

/** How often the page asks what is being played. */
const LOOK_MS = 5_000;
const SPEEDS = [1, 10, 60, 1_000];

/** Whether something that ends then goes on now. */
export function isAhead(end: string | null | undefined): end is string {
  return typeof end === 'string' && Date.parse(end) > now();
}

/** When the page asks for it again: while something is being played. */
export function looksAgainMs(
  sandbox: Pick<Sandbox, 'suspended_until' | 'receivers_fail_until'> | null | undefined,
): number | false {
  const isPlaying = isAhead(sandbox?.suspended_until) || isAhead(sandbox?.receivers_fail_until);
  return isPlaying ? LOOK_MS : false;
}

/** The speeds to choose from, with the one that it has. */
export function speedsFor(speed: number): readonly number[] {
  return [...new Set([...SPEEDS, speed])];
}
