// What the list of keys shows, what a new key is made of, and what its end brings.
import { afterEach, describe, expect, test, vi } from 'vitest';
import { de } from '../../../src/admin-ui/i18n/de.ts';
import { en } from '../../../src/admin-ui/i18n/en.ts';
import { endOfGrace, firstGrace, gracesUntil, GRACES } from '../../../src/admin-ui/pages/graces.ts';
import {
  canRotate,
  countEach,
  endOfKey,
  keysToShow,
  lastUse,
  needsNew,
  toneOfKey,
  whoMade,
} from '../../../src/admin-ui/pages/key-list.ts';
import type { ApiKey } from '../../../src/admin-ui/pages/key-state.ts';
import { eachOnce, idsToName, nameInParts } from '../../../src/admin-ui/pages/ids-to-name.ts';
import {
  addressesIn,
  CUSTOM,
  endOf,
  EXPIRIES,
  firstExpiry,
  scopesOf,
} from '../../../src/admin-ui/pages/new-key-values.ts';
import { TEST_SCOPES } from '../../../src/core/scopes.ts';

afterEach(() => {
  vi.useRealTimers();
});

const [LATER, SOONER] = ['2026-03-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z'];
const key = (what: Partial<ApiKey>) =>
  ({ state: 'active', revoked_at: null, expires_at: null, ...what }) as ApiKey;
const ACTIVE = key({});
const ENDING = key({ revoked_at: SOONER });
const EXPIRED = key({ state: 'expired', expires_at: SOONER });
const REVOKED = key({ state: 'revoked', revoked_at: SOONER, expires_at: LATER });

describe('a key in the list', () => {
  test('is shown while it works, the others if they are wanted', () => {
    // A live key can be older than all those that were read.
    const known = { live: [ACTIVE, ENDING], newest: [REVOKED, ENDING, EXPIRED] };
    expect(keysToShow(known, false)).toEqual({ shown: known.live, hasEnded: true });
    expect(keysToShow(known, true)).toEqual({ shown: known.newest, hasEnded: true });
    const lasting = { live: [ACTIVE], newest: [ACTIVE, ENDING] };
    expect(keysToShow(lasting, true)).toEqual({ shown: lasting.newest, hasEnded: false });
    const none = { live: [], newest: [] };
    expect(keysToShow(none, false)).toEqual({ shown: [], hasEnded: false });
  });

  test('is coloured by its state', () => {
    const all = [ACTIVE, ENDING, EXPIRED, REVOKED];
    expect(all.map(toneOfKey)).toEqual(['good', 'warn', 'plain', 'plain']);
  });

  test('says when it ends, or has ended', () => {
    expect(endOfKey(ACTIVE)).toBeNull();
    expect(endOfKey(key({ expires_at: LATER }))).toEqual({ at: LATER, isOver: false });
    expect(endOfKey(key({ revoked_at: SOONER, expires_at: LATER }))).toEqual({
      at: SOONER,
      isOver: false,
    });
    // A grace period that would have ended later.
    expect(endOfKey(key({ revoked_at: LATER, expires_at: SOONER }))).toEqual({
      at: SOONER,
      isOver: false,
    });
    expect(endOfKey(EXPIRED)).toEqual({ at: SOONER, isOver: true });
    expect(endOfKey(REVOKED)).toEqual({ at: SOONER, isOver: true });
  });

  test('says who has made it', () => {
    const made = (email: string | null | undefined) =>
      whoMade({ member_id: 'mem_1', email } as ApiKey['creator'], 'mem_2');
    expect(made('kim@x.test')).toEqual({ isReader: false, email: 'kim@x.test' });
    for (const none of [null, undefined, ''])
      expect(made(none)).toEqual({ isReader: false, email: null });
    const creator = { member_id: 'mem_2', email: 'lee@x.test' };
    expect(whoMade(creator, 'mem_2').isReader).toBe(true);
  });

  test('can be replaced once', () => {
    expect([ACTIVE, ENDING].map(canRotate)).toEqual([true, false]);
  });
});

describe('a key that ends', () => {
  test('gets a successor if somebody else may know it, unless it has one', () => {
    expect(needsNew(ACTIVE, true)).toBe(true);
    expect(needsNew(ACTIVE, false)).toBe(false);
    expect(needsNew(ENDING, true)).toBe(false);
  });

  test('shows its last calls, and where they came from, each once and five at most', () => {
    const call = (method: string, route: string, network: string | null) =>
      ({ method, route, network }) as const;
    const calls = [
      call('GET', '/users', '1.2.3.0/24'),
      call('GET', '/users', null),
      call('POST', '/users', '1.2.3.0/24'),
      ...['/a', '/b', '/c', '/d'].map((route, n) => call('GET', route, `5.6.${n}.0/24`)),
    ];
    expect(lastUse(calls)).toEqual({
      calls: ['GET /users', 'POST /users', 'GET /a', 'GET /b', 'GET /c'],
      networks: ['1.2.3.0/24', '5.6.0.0/24', '5.6.1.0/24', '5.6.2.0/24', '5.6.3.0/24'],
    });
    expect(lastUse([])).toEqual({ calls: [], networks: [] });
  });

  test('shows what it has changed, with how often, five at most', () => {
    expect(countEach(['a', 'b', 'a', 'c', 'd', 'e', 'f', 'a'])).toEqual([
      { name: 'a', count: 3 },
      { name: 'b', count: 1 },
      { name: 'c', count: 1 },
      { name: 'd', count: 1 },
      { name: 'e', count: 1 },
    ]);
  });
});

describe('a new key', () => {
  const TEMPLATES = [
    { id: 'read', scopes: ['users:read'] },
    { id: 'write', scopes: ['users:read', 'users:write'] },
  ];
  const custom = ['cases:read'];

  test.each([
    ['write', ['users:read', 'users:write']],
    [CUSTOM, custom],
    ['gone', []],
    [null, []],
  ])('of the template %s has the scopes %j', (template, scopes) => {
    expect(scopesOf(TEMPLATES, { template, custom })).toEqual(scopes);
  });

  test('can have each permission, and each has a name', () => {
    for (const t of [de, en])
      expect(Object.keys(t.keys.scopeNames).toSorted()).toEqual(TEST_SCOPES.toSorted());
  });

  test.each([
    ['', null],
    [' \n, ', null],
    ['1.2.3.4', ['1.2.3.4']],
    ['1.2.3.4, 5.6.7.0/24\n::1,\t9.9.9.9 ', ['1.2.3.4', '5.6.7.0/24', '::1', '9.9.9.9']],
  ])('with the addresses %j works from %j', (text, addresses) => {
    expect(addressesIn(text)).toEqual(addresses);
  });

  test('ends after as many days as were chosen, or never', () => {
    const from = Date.UTC(2026, 0, 31, 12);
    expect(EXPIRIES.map((days) => endOf(days, from))).toEqual([
      '2026-03-02T12:00:00.000Z',
      '2026-05-01T12:00:00.000Z',
      '2027-01-31T12:00:00.000Z',
    ]);
    expect(endOf(null, from)).toBeNull();
  });

  test('in the place of another one ends after as many days as that had, at first', () => {
    const created_at = '2026-01-01T00:00:00.000Z';
    const first = (expires_at: string | null) => firstExpiry({ created_at, expires_at });
    expect(first('2026-01-03T00:00:00.000Z')).toBe(30);
    expect(first('2026-01-31T00:00:00.000Z')).toBe(30);
    expect(first('2026-02-01T00:00:00.000Z')).toBe(90);
    expect(first('2027-01-01T00:00:00.000Z')).toBe(365);
    expect(first('2029-01-01T00:00:00.000Z')).toBe(365);
    expect(first(null)).toBeNull();
  });
});

describe('what is replaced', () => {
  test('works on for as long as was chosen', () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 31, 12), toFake: ['Date'] });
    expect(GRACES).toEqual({ hour: 3_600, day: 86_400, week: 604_800, month: 2_592_000, now: 0 });
    expect(endOfGrace('hour')).toBe('2026-01-31T13:00:00.000Z');
    expect(endOfGrace('month')).toBe('2026-03-02T12:00:00.000Z');
    expect(endOfGrace('now')).toBeNull();
  });

  test('works on no longer than until it ends by itself', () => {
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 31, 12), toFake: ['Date'] });
    const inTwoDays = '2026-02-02T12:00:00.000Z';
    expect(endOfGrace('day', inTwoDays)).toBe('2026-02-01T12:00:00.000Z');
    expect(endOfGrace('week', inTwoDays)).toBe(inTwoDays);
    expect(endOfGrace('now', inTwoDays)).toBeNull();
    const offered = ['hour', 'day', 'week', 'month', 'now'] as const;
    expect(gracesUntil(offered, null)).toEqual(offered);
    expect(gracesUntil(offered, '2026-06-01T00:00:00.000Z')).toEqual(offered);
    expect(gracesUntil(offered, inTwoDays)).toEqual(['hour', 'day', 'week', 'now']);
    expect(gracesUntil(offered, '2026-01-31T12:10:00.000Z')).toEqual(['hour', 'now']);
  });

  test('works for another day at first, unless nobody can use it or it ends before', () => {
    expect(firstGrace(['hour', 'day', 'now'], false)).toBe('day');
    expect(firstGrace(['hour', 'day', 'now'], true)).toBe('now');
    expect(firstGrace(['hour', 'now'], false)).toBe('hour');
  });
});

describe('the keys that a page knows', () => {
  const key = (id: string) => ({ id });

  test('are those of several lists, each once, the first list first', () => {
    const lists = [[key('key_2')], [key('key_3'), key('key_2'), key('key_1')]];
    expect(eachOnce(...lists)).toEqual(['key_2', 'key_3', 'key_1'].map(key));
    expect(eachOnce()).toEqual([]);
  });

  test('are not asked for by their ids; the others are, each once', () => {
    const known = [key('key_2')];
    expect(idsToName(['key_1', 'key_2', 'key_3', 'key_1'], known)).toEqual(['key_1', 'key_3']);
    expect(idsToName(['key_2'], known)).toEqual([]);
  });

  test('are asked for in parts of as many as the service names at once', async () => {
    const ids = Array.from({ length: 402 }, (_, n) => `key_${n}`);
    const asked: number[] = [];
    const { data } = await nameInParts(idsToName(ids, [key('key_0')]), async (part) => {
      asked.push(part.length);
      return { data: part.map(key) };
    });
    expect(asked).toEqual([200, 200, 1]);
    expect(data).toEqual(ids.slice(1).map(key));
  });
});
