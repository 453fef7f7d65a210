/** What can be done with a member, and which of them are shown: see `members.tsx`. */
import type { MemberSearch, MemberSort as Sort } from '../lib/search.ts';
import type { Member } from './member-name.ts';

type Kind = 'change' | 'resend' | 'withdraw' | 'remove';
type Sorted = 'ascending' | 'descending' | 'other';

/** What the menu of a member offers. `isOff`: not for the owner. */
export function tasksOf({
  role,
  status,
}: Pick<Member, 'role' | 'status'>): readonly { readonly kind: Kind; readonly isOff: boolean }[] {
  const isOwner = role === 'owner';
  const change = { kind: 'change', isOff: isOwner } as const;
  return status === 'invited'
    ? [change, { kind: 'resend', isOff: false }, { kind: 'withdraw', isOff: false }]
    : [change, { kind: 'remove', isOff: isOwner }];
}

/** How an order orders the columns. */
const SORTED: Readonly<Record<Sort, Partial<Record<'who' | 'role' | 'since', Sorted>>>> = {
  newest: {},
  address: { who: 'ascending' },
  role: { role: 'other' },
  joined: { since: 'descending' },
  joined_first: { since: 'ascending' },
};

export function sortedBy(sort: Sort) {
  return SORTED[sort];
}

/** The order that the heading of a column leads to: the other way round, if there is one. */
export function sortAfter(column: 'who' | 'role' | 'since', sort: Sort): Sort {
  if (column === 'who') return 'address';
  if (column === 'role') return 'role';
  return sort === 'joined' ? 'joined_first' : 'joined';
}

/** The addresses of the first page and of the next one; null: the reader is there already. */
export function pagesAround(
  { page, ...filters }: MemberSearch,
  next: string | null,
): { readonly first: MemberSearch | null; readonly next: MemberSearch | null } {
  return {
    first: page === undefined ? null : filters,
    next: next === null ? null : { ...filters, page: next },
  };
}
