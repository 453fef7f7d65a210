/** Days of the usage, in UTC as the service counts them. */
import type { RouterOutputs } from './api.ts';
import { now } from './clock.ts';

export type Day = RouterOutputs['admin']['usage']['daily']['data'][number];

export const DAY_MS = 86_400_000;
const NONE = { '2xx': 0, '4xx': 0, '429': 0, '5xx': 0 };

/** The first of the last `count` days, today included, `YYYY-MM-DD`. */
export function firstDayOf(count: number): string {
  return new Date(now() - (count - 1) * DAY_MS).toISOString().slice(0, 10);
}

/** Adds the days without requests, from the first day until today, or the last one sent. */
export function fillDays(days: readonly Day[], first: string): Day[] {
  const known = new Map(days.map((day) => [day.day, day]));
  const last = Math.max(now(), ...days.map(({ day }) => Date.parse(day)));
  const count = Math.round((last - Date.parse(first)) / DAY_MS + 0.5);
  return Array.from({ length: count }, (_, place) => {
    const day = new Date(Date.parse(first) + place * DAY_MS).toISOString().slice(0, 10);
    return known.get(day) ?? { day, requests: NONE, peak_percent: 0 };
  });
}

/** Requests of some days by their outcome. */
export function sumOf(days: readonly Day[]): {
  readonly total: number;
  readonly good: number;
  readonly limited: number;
  readonly ours: number;
} {
  const sum = (status: keyof Day['requests']) =>
    days.reduce((all, { requests }) => all + requests[status], 0);
  const [good, limited, ours] = [sum('2xx'), sum('429'), sum('5xx')];
  return { total: good + sum('4xx') + limited + ours, good, limited, ours };
}

/** All requests of a day. */
export function totalOf(day: Day): number {
  return sumOf([day]).total;
}
