/** What is changed and shown of the catalog: see `catalog.tsx`. */
import type { RouterOutputs } from '../lib/api.ts';
import { toggled } from '../lib/toggled.ts';

export type Entry = RouterOutputs['admin']['team']['catalog']['data'][number];

export interface Block {
  /** undefined: the change is of the team's policy. */
  readonly memberId: string | undefined;
  readonly id: string;
  readonly isBlocked: boolean;
}

export type Release = 'all' | 'some' | { readonly id: string; readonly isReleased: boolean };

export interface CatalogSearch {
  readonly kind?: Entry['kind'] | undefined;
  readonly text?: string | undefined;
}

/** The entries after a change of the team's policy. */
export function withBlock(
  entries: readonly Entry[],
  { id, isBlocked }: Omit<Block, 'memberId'>,
): Entry[] {
  return entries.map((one) => (one.id === id ? { ...one, blocked: isBlocked } : one));
}

/** The entries after a change of what is released. `all` and `some` show in no entry. */
export function withRelease(entries: readonly Entry[], change: Release): Entry[] {
  return entries.map((one) =>
    typeof change === 'object' && one.id === change.id
      ? { ...one, released: change.isReleased }
      : one,
  );
}

/**
 * What is released after a change. `now`: what is released before it, as the service says.
 * `readAll`: reads the whole catalog as it is now, which is needed if all of it was released.
 */
export async function releasedAfter(
  now: 'all' | readonly string[],
  change: Release,
  readAll: () => Promise<readonly Pick<Entry, 'id' | 'own'>[]>,
): Promise<'all' | string[]> {
  if (change === 'all') return 'all';
  // The team's own entries need no release.
  const before =
    now === 'all' ? (await readAll()).filter(({ own }) => !own).map(({ id }) => id) : now;
  return change === 'some' ? [...before] : toggled(before, change.id, change.isReleased);
}

/** What is shown as released: what the reader has just asked for, or what the service says. */
export function releasedShown<Known>(
  asked: Release | undefined,
  known: Known,
): 'all' | 'some' | Known {
  return typeof asked === 'string' ? asked : known;
}

/** The entries that fit the filters. */
export function entriesFor(
  entries: readonly Entry[],
  { kind, text = '' }: CatalogSearch,
): readonly Entry[] {
  const wanted = text.toLowerCase();
  return entries.filter(
    (entry) =>
      (kind === undefined || entry.kind === kind) &&
      `${entry.name ?? ''} ${entry.id}`.toLowerCase().includes(wanted),
  );
}

/** Whether an entry is blocked by the policy that is shown. `memberBlocked`: of a member's. */
export function isBlockedFor(
  { id, blocked }: Pick<Entry, 'id' | 'blocked'>,
  memberBlocked: readonly string[] | null,
): boolean {
  return memberBlocked?.includes(id) ?? blocked;
}

/** Whether the policy of a member cannot allow it, because the team's blocks it. */
export function isBlockedAbove(
  { blocked }: Pick<Entry, 'blocked'>,
  memberBlocked: readonly string[] | null,
): boolean {
  return memberBlocked !== null && blocked;
}
