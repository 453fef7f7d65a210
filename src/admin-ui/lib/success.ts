/** How well the team's receivers take their deliveries. */
import type { RouterOutputs } from './api.ts';

export type Health = RouterOutputs['admin']['deliveries']['health']['data'][number];

/** Below this share of arrived deliveries, a receiver is drawn as a bad one. */
const GOOD = 0.95;
/** How many bars show the last deliveries of one receiver. */
const BARS = 10;

/** Whether nobody has confirmed to have stored the endpoint's secret. */
export function isSecretUnstored(health: Health | undefined): boolean {
  return (health?.secret_unconfirmed_since ?? null) !== null;
}

/** The share of the deliveries that arrived, or null if none was tried. */
export function successOf(arrived: readonly boolean[]): number | null {
  return arrived.length === 0 ? null : arrived.filter(Boolean).length / arrived.length;
}

/** A bar for one share of success. */
export function toSpark(share: number): { readonly share: number; readonly isBad: boolean } {
  return { share, isBad: share < GOOD };
}

/** The success of the last deliveries, in groups of equal size, the oldest first. */
export function successInTime(arrived: readonly boolean[]): number[] {
  const size = Math.ceil(arrived.length / BARS);
  return Array.from({ length: BARS }, (_, place) => {
    const start = place * size;
    return successOf(arrived.slice(start, start + size));
  }).filter((share) => share !== null);
}
