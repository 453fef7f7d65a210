/** What a new key is made of: see `new-key.tsx`. */
import { DAY_MS } from '../lib/days.ts';
import type { ApiKey } from './key-state.ts';

/** After how many days a key can end. */
export const EXPIRIES = [30, 90, 365] as const;
/** Stands for scopes that are chosen one by one. */
export const CUSTOM = 'custom';

/** A template, or `CUSTOM` with these scopes, or nothing yet. */
export interface Chosen {
  readonly template: string | null;
  readonly custom: readonly string[];
}

/** The scopes that a choice means. */
export function scopesOf(
  templates: readonly { readonly id: string; readonly scopes: readonly string[] }[],
  { template, custom }: Chosen,
): readonly string[] {
  if (template === CUSTOM) return custom;
  return templates.find(({ id }) => id === template)?.scopes ?? [];
}

/** The addresses in a text, separated by spaces, commas or lines; null: there are none. */
export function addressesIn(text: string): string[] | null {
  const addresses = text.split(/[\s,]+/).filter(Boolean);
  return addresses.length === 0 ? null : addresses;
}

/** How long a key works that takes the place of another one, at first: as long as that. */
export function firstExpiry({
  created_at,
  expires_at,
}: Pick<ApiKey, 'created_at' | 'expires_at'>): number | null {
  if (expires_at === null) return null;
  const days = (Date.parse(expires_at) - Date.parse(created_at)) / DAY_MS;
  return EXPIRIES.find((each) => each >= days) ?? EXPIRIES[2];
}

/** When a key ends that works for so many days; null: never. */
export function endOf<Days extends number | null>(
  days: Days,
  fromMs: number,
): Days extends null ? null : string;
export function endOf(days: number | null, fromMs: number): string | null {
  return days === null ? null : new Date(fromMs + days * DAY_MS).toISOString();
}
