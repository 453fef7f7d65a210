/** How well the team's receivers take their deliveries. */
import type { RouterOutputs } from './api.ts';

export type Health = RouterOutputs['admin']['deliveries']['health']['data'][number];

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

/** How many deliveries arrived, and how many failed. */
interface Outcomes {
  readonly arrived: number;
  readonly failed: number;
}

/** The outcomes of the last deliveries, in groups of equal size, the oldest first. */
export function outcomesInTime(arrived: readonly boolean[]): Outcomes[] {
  const size = Math.ceil(arrived.length / BARS);
  return Array.from({ length: BARS }, (_, place) => arrived.slice(place * size, (place + 1) * size))
    .filter((group) => group.length > 0)
    .map((group) => {
      const good = group.filter(Boolean).length;
      return { arrived: good, failed: group.length - good };
    });
}

/** The outcomes of the last deliveries of all receivers on each of these days. */
export function outcomesByDay(
  hooks: readonly Pick<Health, 'days'>[],
  days: readonly string[],
): Outcomes[] {
  const all = hooks.flatMap((hook) => hook.days);
  return days.map((day) => {
    const found = all.filter((one) => one.day === day);
    return {
      arrived: found.reduce((sum, one) => sum + one.arrived, 0),
      failed: found.reduce((sum, one) => sum + one.failed, 0),
    };
  });
}
