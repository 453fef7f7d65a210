/** First and last moments of a list: see `time-filter.tsx`. */
import { sinceOf, type TimeSearch } from '../lib/search.ts';

const LOCAL = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short' });

/** The times of a choice. A range begins a day ago, at a full minute, and has no end. */
export function timesChosen(past: TimeSearch['past']): TimeSearch {
  const since = past === 'custom' ? `${sinceOf('24h').slice(0, 16)}:00.000Z` : undefined;
  return { past, since, until: undefined };
}

/** Whether the end is before the beginning, so that nothing can be found. */
export function isBackwards({ since, until }: TimeSearch): boolean {
  return since !== undefined && until !== undefined && since > until;
}

/** `2026-11-21T03:40` in the time zone of the reader, as the field takes it. Swedes write it so. */
export function toLocal(iso: string | undefined): string {
  return iso === undefined ? '' : LOCAL.format(new Date(iso)).replace(' ', 'T');
}

/** The ISO moment of what the field holds; undefined: nothing. */
export function fromLocal(text: string): string | undefined {
  return text === '' ? undefined : new Date(text).toISOString();
}
