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

/** When what is replaced now stops working; null: at once. */
export function endOfGrace(grace: Grace): string | null {
  return grace === 'now' ? null : new Date(Date.now() + GRACES[grace] * 1000).toISOString();
}

/** How long it works at first. Nothing can use what nobody has stored. */
export function firstGrace(isUnused: boolean): 'now' | 'day' {
  return isUnused ? 'now' : 'day';
}
