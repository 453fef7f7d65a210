// The filters in the addresses of the page. An address may hold anything.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { de } from '../../../src/admin-ui/i18n/de.ts';
import { en } from '../../../src/admin-ui/i18n/en.ts';
import { everyOf } from '../../../src/admin-ui/lib/every-of.ts';
import {
  ACTOR_KINDS,
  MEMBER_ROLES,
  MEMBER_SORTS,
  MEMBER_STATUSES,
  PASTS,
  readAuditSearch,
  readDeliverySearch,
  readMemberSearch,
  readRequestSearch,
  readUsageSearch,
  REQUEST_STATUSES,
  sinceOf,
  textOf,
  timesOf,
  USAGE_DAYS,
  withoutEmpty,
} from '../../../src/admin-ui/lib/search.ts';
import { useStandingDate } from './standing-date.ts';

const NOW = Date.UTC(2026, 0, 31, 12);
useStandingDate(NOW);

const READERS = {
  deliveries: readDeliverySearch,
  audit: readAuditSearch,
  members: readMemberSearch,
  usage: readUsageSearch,
  requests: readRequestSearch,
};
const TIMED = ['deliveries', 'audit', 'requests'] as const;
/** What can stand for any field, with nothing that a filter takes. */
const WRONG = [undefined, null, '', true, 3, {}, ['ok'], 'nonsense'] as const;

/** Everything that each address can hold, and what is read of it. */
const FULL = {
  deliveries: { status: 'gave_up', endpoint: 'whe_1', type: 'ping', past: '7d' },
  audit: { action: 'key.created', kind: 'user', actor: 'mem_1', target: 'key_1', past: '1h' },
  members: { text: 'kim', role: 'admin', status: 'active', sort: 'joined', page: 'c2' },
  usage: { days: 90, key: 'key_1' },
  requests: { status: '4xx', key: 'key_1', path: '/users', code: 'gone', id: '1a', past: '24h' },
} as const;
/** Fields that take any text. The others have lists. */
const TEXTS: Readonly<Record<keyof typeof FULL, readonly string[]>> = {
  deliveries: ['endpoint', 'type'],
  audit: ['action', 'actor', 'target'],
  members: ['text', 'page'],
  usage: ['key'],
  requests: ['key', 'path', 'code', 'id'],
};
const PAGES = Object.keys(READERS) as (keyof typeof READERS)[];

describe.each(PAGES)('the address of the page of %s', (page) => {
  const read = READERS[page] as (search: Record<string, unknown>) => object;

  test('is read in full, without what it does not know', () => {
    expect(read({ ...FULL[page], other: 'x' })).toStrictEqual(FULL[page]);
  });

  test('has no field for what is not there', () => {
    expect(Object.keys(read({}))).toEqual([]);
  });

  test.each(Object.keys(FULL[page]))('leaves out %s if it is wrong', (field) => {
    const { [field]: _left, ...rest } = FULL[page] as Record<string, unknown>;
    for (const wrong of WRONG) {
      if (wrong === 'nonsense' && TEXTS[page].includes(field)) continue;
      expect(read({ ...FULL[page], [field]: wrong })).toStrictEqual(rest);
    }
  });

  test('takes any text where any is meant', () => {
    for (const field of TEXTS[page])
      expect(read({ [field]: 'nonsense' })).toStrictEqual({ [field]: 'nonsense' });
  });

  test('is read the same again', () => {
    const anything = fc.dictionary(
      fc.constantFrom(...Object.keys(FULL[page]), 'past'),
      fc.anything(),
    );
    fc.assert(
      fc.property(anything, (search) => {
        const once = read(search);
        expect(read({ ...once })).toStrictEqual(once);
      }),
    );
  });
});

describe('each value that the page offers can stand in an address:', () => {
  test('the roles, states and orders of members', () => {
    for (const role of MEMBER_ROLES) expect(readMemberSearch({ role })).toEqual({ role });
    for (const status of MEMBER_STATUSES) expect(readMemberSearch({ status })).toEqual({ status });
    for (const sort of MEMBER_SORTS) expect(readMemberSearch({ sort })).toEqual({ sort });
  });

  test('who can have done something', () => {
    for (const kind of ACTOR_KINDS) expect(readAuditSearch({ kind })).toEqual({ kind });
  });

  test('the days of the usage, as numbers only', () => {
    expect(USAGE_DAYS).toEqual([7, 30, 90]);
    for (const days of USAGE_DAYS) {
      expect(readUsageSearch({ days })).toEqual({ days });
      expect(readUsageSearch({ days: String(days) })).toEqual({});
    }
  });

  test('the states of deliveries', () => {
    for (const status of Object.keys(en.deliveries.states))
      expect(readDeliverySearch({ status })).toEqual({ status });
  });

  test('the groups of statuses', () => {
    for (const status of REQUEST_STATUSES)
      expect(readRequestSearch({ status })).toEqual({ status });
  });
});

describe('the lists of the filters', () => {
  test.each([de, en])('have a text for each value, and each text has a value', (t) => {
    expect(Object.keys(t.times.pasts)).toEqual(PASTS);
    expect(Object.keys(t.members.sorts)).toEqual(MEMBER_SORTS);
    expect(Object.keys(t.requests.statuses)).toEqual(REQUEST_STATUSES);
    expect(Object.keys(t.roles)).toEqual(MEMBER_ROLES);
    expect(Object.keys(t.members.statuses)).toEqual(MEMBER_STATUSES);
    expect(Object.keys(t.audit.kinds).toSorted()).toEqual(ACTOR_KINDS.toSorted());
  });

  test('begin with the order of the members that an address without one has', () => {
    expect(MEMBER_SORTS[0]).toBe('newest');
  });
});

describe('the status of a call', () => {
  test.each(['100', '404', '599', 404, 599])('%j is one, also as a number', (status) => {
    expect(readRequestSearch({ status })).toEqual({ status: String(status) });
  });

  test.each([{ toString: 1 }, ['404'], true, -404, 404.5])(
    'is not in %o, which an address can hold',
    (status) => {
      expect(readRequestSearch({ status })).toEqual({});
    },
  );

  test.each(['099', '600', '40', '4044', 40, 4044, '4x4', ' 404', '404 ', 'x404', '404x', '3xx'])(
    '%j is none',
    (status) => {
      expect(readRequestSearch({ status })).toEqual({});
    },
  );
});

describe('the times of a list', () => {
  test.each(TIMED)('of %s are one of the known ones', (page) => {
    for (const past of PASTS) expect(READERS[page]({ past })).toMatchObject({ past });
    expect(READERS[page]({ past: '2h' })).toEqual({});
  });

  test.each(TIMED)('of %s have a beginning and an end only if they are custom', (page) => {
    const range = { since: '2026-01-01T01:00:00+01:00', until: '2026-01-02' };
    expect(READERS[page]({ past: 'custom', ...range })).toEqual({
      past: 'custom',
      since: '2026-01-01T00:00:00.000Z',
      until: '2026-01-02T00:00:00.000Z',
    });
    expect(READERS[page]({ past: '24h', ...range })).toEqual({ past: '24h' });
    expect(READERS[page](range)).toEqual({});
    expect(READERS[page]({ past: 'custom', since: 'yesterday', until: 5 })).toEqual({
      past: 'custom',
    });
  });

  test.each([
    ['1h', '2026-01-31T11:00:00.000Z'],
    ['24h', '2026-01-30T12:00:00.000Z'],
    ['7d', '2026-01-24T12:00:00.000Z'],
  ] as const)('of the last %s begin at %s', (past, since) => {
    expect(sinceOf(past)).toBe(since);
    // What stands beside it does not count.
    const other = { since: '2020-01-01T00:00:00.000Z', until: '2020-01-02T00:00:00.000Z' };
    expect(timesOf({ past, ...other })).toEqual({ since, until: undefined });
  });

  test('that are custom are those that were chosen', () => {
    const [since, until] = ['2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z'];
    expect(timesOf({ past: 'custom', since, until })).toEqual({ since, until });
    expect(timesOf({ past: 'custom' })).toEqual({ since: undefined, until: undefined });
  });

  test('that nobody has chosen are all', () => {
    expect(timesOf({})).toEqual({ since: undefined, until: undefined });
  });

  test('are offered from the shortest on', () => {
    expect(PASTS).toEqual(['1h', '24h', '7d', 'custom']);
  });
});

test('a text is one that is not empty', () => {
  expect(textOf('a')).toBe('a');
  for (const one of ['', 1, null, undefined, ['a']]) expect(textOf(one)).toBeUndefined();
});

test('only what is undefined is left out of an address', () => {
  const kept = { none: null, empty: '', zero: 0, no: false };
  expect(withoutEmpty({ ...kept, gone: undefined })).toStrictEqual(kept);
});

test('a list of every word of a type has them in the order in which they are written', () => {
  expect(everyOf<'b' | 'a'>({ b: true, a: true })).toEqual(['b', 'a']);
  // @ts-expect-error One is missing.
  expect(everyOf<'b' | 'a'>({ b: true })).toEqual(['b']);
});
