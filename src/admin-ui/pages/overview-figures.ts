/** The figures of the overview: see `overview.tsx`. */
import { sumOf } from '../lib/days.ts';
import { outcomesByDay, successOf } from '../lib/success.ts';
import { isCrmFine } from './crm-state.ts';
import { findUsed, RECENT_DAYS } from './needs.ts';
import type { Facts } from './overview-facts.ts';

/** Errors are drawn in the height of this share, or of the worst day, so that few are seen. */
const ERRORS_TOP = 0.1;

/** The requests of the last days, and those of each day that is drawn. */
export function requestFigures(days: Facts['days']) {
  const { total, good } = sumOf(days.slice(-RECENT_DAYS));
  const { total: before } = sumOf(days.slice(-2 * RECENT_DAYS, -RECENT_DAYS));
  const perDay = days.map((day) => sumOf([day]));
  const shares = perDay.map((day) => (day.total === 0 ? 0 : (day.total - day.good) / day.total));
  const top = Math.max(ERRORS_TOP, ...shares);
  return {
    total,
    today: sumOf(days.slice(-1)).total,
    /** How many more there were than in as many days before, as a share; null: none were then. */
    change: before === 0 ? null : total / before - 1,
    /** The share that was refused or failed; null without a request. */
    errors: total === 0 ? null : (total - good) / total,
    totals: perDay.map((day) => day.total),
    /** Of the height, from 0 to 1. */
    errorHeights: shares.map((share) => share / top),
  };
}

/** How the team's receivers, keys and CRM connections are `now`, in milliseconds since 1970. */
export function otherFigures({ keys, days, hooks, crms }: Facts, now: number) {
  return {
    /** The share of the last deliveries that arrived; null if none was sent. */
    success: successOf(hooks.flatMap(({ arrived }) => arrived)),
    /** Of the last deliveries, by the days of the requests. */
    outcomes: outcomesByDay(
      hooks,
      days.map(({ day }) => day),
    ),
    active: hooks.filter(({ status }) => status === 'active').length,
    inUse: findUsed(keys, now).length,
    works: crms.filter(isCrmFine).length,
  };
}

/** How many of them work, in a word: the state comes before the number. */
export function stateOfMany(works: number, all: number): 'empty' | 'none' | 'some' | 'all' {
  if (all === 0) return 'empty';
  if (works === 0) return 'none';
  return works < all ? 'some' : 'all';
}

/** What a new team has done of its first steps. */
export function stepsDone(
  { keys, hooks, days }: Omit<Facts, 'crms'>,
  {
    admins,
    ownId,
  }: {
    readonly admins: readonly { readonly id: string; readonly rights: readonly string[] }[];
    readonly ownId: string;
  },
) {
  return {
    key: keys.length > 0,
    // The key that sent it may be gone.
    request: keys.some(({ last_used_at }) => last_used_at !== null) || sumOf(days).total > 0,
    webhook: hooks.length > 0,
    test: hooks.some(({ arrived }) => arrived.includes(true)),
    colleague: admins.some(({ id, rights }) => id !== ownId && rights.length > 0),
  };
}
