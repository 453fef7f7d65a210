import { now } from '../lib/clock.ts';

const HOUR_S = 3600;

/** How long what is replaced still works, in seconds. */
export const GRACES = {
  hour: HOUR_S,
  day: 24 * HOUR_S,
  week: 7 * 24 * HOUR_S,
  month: 30 * 24 * HOUR_S,
  now: 0,
} as const;

export type Grace = keyof typeof GRACES;

/** When what is replaced now stops working; null: at once. `endsAt`: when it ends by itself. */
export function endOfGrace(grace: Grace, endsAt: string | null = null): string | null {
  if (grace === 'now') return null;
  const end = new Date(now() + GRACES[grace] * 1000).toISOString();
  return endsAt !== null && endsAt < end ? endsAt : end;
}

/** What to choose from for what ends by itself at `endsAt`: one choice lasts until then. */
export function gracesUntil<Offered extends Grace>(
  offered: readonly Offered[],
  endsAt: string | null,
): readonly Offered[] {
  const lasts = (grace: Offered) => endsAt !== null && endOfGrace(grace, endsAt) === endsAt;
  const first = offered.find(lasts);
  return offered.filter((grace) => grace === first || !lasts(grace));
}

/** How long it works at first. Nothing can use what nobody has stored. */
export function firstGrace(offered: readonly Grace[], isUnused: boolean): 'now' | 'day' | 'hour' {
  if (isUnused) return 'now';
  return offered.includes('day') ? 'day' : 'hour';
}
