/** Days of the usage, in UTC as the service counts them. */
import type { RouterOutputs } from './api.ts';

type Day = RouterOutputs['admin']['usage']['daily']['data'][number];

export const DAY_MS = 86_400_000;
const NONE = { '2xx': 0, '4xx': 0, '429': 0, '5xx': 0 };

/** The first of the last `count` days, today included, `YYYY-MM-DD`. */
export function firstDayOf(count: number): string {
  return new Date(Date.now() - (count - 1) * DAY_MS).toISOString().slice(0, 10);
}

/** Adds the days without requests, from the first day until today. */
export function fillDays(days: readonly Day[], first: string): Day[] {
  const known = new Map(days.map((day) => [day.day, day]));
  const count = Math.round((Date.now() - Date.parse(first)) / DAY_MS + 0.5);
  return Array.from({ length: count }, (_, place) => {
    const day = new Date(Date.parse(first) + place * DAY_MS).toISOString().slice(0, 10);
    return known.get(day) ?? { day, requests: NONE, peak_percent: 0 };
  });
}

/** All requests of a day. */
export function totalOf({ requests }: Day): number {
  return requests['2xx'] + requests['4xx'] + requests['429'] + requests['5xx'];
}
