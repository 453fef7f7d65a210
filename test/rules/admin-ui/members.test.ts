// What the page offers for a member, and how their list is ordered and paged.
import { describe, expect, test } from 'vitest';
import { MEMBER_ROLES, MEMBER_SORTS } from '../../../src/admin-ui/lib/search.ts';
import { changeOfRight, mayHoldRight } from '../../../src/admin-ui/pages/member-changes.ts';
import {
  isAddressHidden,
  keysOf,
  nameOf,
  personTyped,
  type Member,
} from '../../../src/admin-ui/pages/member-name.ts';
import { countByStatus } from '../../../src/admin-ui/pages/member-figures.ts';
import {
  pagesAround,
  sortAfter,
  sortedBy,
  tasksOf,
} from '../../../src/admin-ui/pages/member-tasks.ts';

describe('the menu of a member', () => {
  const on = (kind: string) => ({ kind, isOff: false });

  test.each(['member', 'admin'] as const)('who is %s offers to change and remove them', (role) => {
    expect(tasksOf({ role, status: 'active' })).toEqual([on('change'), on('remove')]);
  });

  test('who was invited offers the invitation', () => {
    expect(tasksOf({ role: 'member', status: 'invited' })).toEqual([
      on('change'),
      on('resend'),
      on('withdraw'),
    ]);
  });

  test('who is the owner offers nothing', () => {
    expect(tasksOf({ role: 'owner', status: 'active' })).toEqual([
      { kind: 'change', isOff: true },
      { kind: 'remove', isOff: true },
    ]);
  });
});

describe('the right to manage keys', () => {
  test('can be held by active admins', () => {
    const holders = MEMBER_ROLES.flatMap((role) =>
      ['active', 'invited'].filter((status) => mayHoldRight({ role, status })).map(() => role),
    );
    expect(holders).toEqual(['admin']);
    expect(mayHoldRight({ role: 'admin', status: 'invited' })).toBe(false);
  });

  test.each([
    [true, true, false, true, 'grant'],
    [true, true, true, false, 'withdraw'],
    [true, true, true, true, null],
    [true, true, false, false, null],
    [true, false, false, true, null],
    [true, false, true, false, null],
    [false, true, false, true, null],
    [false, true, true, false, null],
    // Nobody knows whether it was granted.
    [true, true, null, true, 'grant'],
    [true, true, null, false, 'withdraw'],
    [false, true, null, true, null],
  ] as const)(
    'by the owner %j, for whom may hold it %j, from %j to %j: %s',
    (isOwner, mayHold, had, has, change) => {
      expect(changeOfRight({ isOwner, mayHold, had, has })).toBe(change);
    },
  );
});

describe('the list of members', () => {
  test('marks the column that it is ordered by', () => {
    expect(MEMBER_SORTS.map((sort) => [sort, sortedBy(sort)])).toEqual([
      ['newest', {}],
      ['address', { who: 'ascending' }],
      ['role', { role: 'other' }],
      ['joined', { since: 'descending' }],
      ['joined_first', { since: 'ascending' }],
    ]);
  });

  test.each([
    ['who', 'newest', 'address'],
    ['role', 'newest', 'role'],
    ['since', 'newest', 'joined'],
    ['since', 'joined', 'joined_first'],
    ['since', 'joined_first', 'joined'],
  ] as const)('by the heading of %s, ordered by %s, is ordered by %s', (column, before, after) => {
    expect(sortAfter(column, before)).toBe(after);
    expect(sortedBy(after)[column]).toBeDefined();
  });

  test('leads to its first page and to the next one, with the same filters', () => {
    const filters = { text: 'kim', sort: 'role' } as const;
    expect(pagesAround(filters, null)).toEqual({ first: null, next: null });
    expect(pagesAround(filters, 'c2')).toEqual({ first: null, next: { ...filters, page: 'c2' } });
    expect(pagesAround({ ...filters, page: 'c2' }, null)).toStrictEqual({
      first: filters,
      next: null,
    });
    expect(pagesAround({ ...filters, page: 'c2' }, 'c3')).toStrictEqual({
      first: filters,
      next: { ...filters, page: 'c3' },
    });
  });
});

test('things are counted by their status, the most frequent first', () => {
  const things = ['done', 'open', 'done', 'revoked', 'done', 'open'].map((status) => ({ status }));
  expect(countByStatus(things)).toEqual([
    ['done', 3],
    ['open', 2],
    ['revoked', 1],
  ]);
  expect(countByStatus([])).toEqual([]);
});

describe('a member', () => {
  const kim = { id: 'mem_1', user_id: 'usr_1', email: 'kim@x.test' } as Member;
  const withheld = { id: 'mem_2', user_id: 'usr_2' } as Member;
  const invited = { id: 'mem_3', user_id: null, email: null } as unknown as Member;

  test('is called by address, else by the id of the person, else by their own', () => {
    expect([kim, withheld, invited].map(nameOf)).toEqual(['kim@x.test', 'usr_2', 'mem_3']);
  });

  test('is chosen by their name as it is shown', () => {
    const people = [kim, withheld];
    expect(personTyped('', people)).toBeUndefined();
    expect(personTyped('kim@x.test', people)).toBe('mem_1');
    expect(personTyped('Kim@X.test', people)).toBe('mem_1');
    expect(personTyped('usr_2', people)).toBe('mem_2');
    expect(personTyped('kim', people)).toBeNull();
    expect(personTyped('kim@x.test', [])).toBeNull();
  });

  test('leaves the keys behind that still work', () => {
    const key = (id: string, state: 'active' | 'revoked', member_id: string) =>
      ({ id, state, creator: { member_id } }) as const;
    const keys = [
      key('a', 'active', 'mem_1'),
      key('b', 'revoked', 'mem_1'),
      key('c', 'active', 'mem_2'),
    ];
    expect(keysOf('mem_1', keys as unknown as Parameters<typeof keysOf>[1])).toEqual([keys[0]]);
  });

  test('whose address is withheld is noticed, unlike one without an address', () => {
    expect(isAddressHidden([])).toBe(false);
    expect(isAddressHidden([kim, invited])).toBe(false);
    expect(isAddressHidden([kim, withheld])).toBe(true);
  });
});
