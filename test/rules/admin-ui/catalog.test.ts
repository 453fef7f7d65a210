// What the page changes and shows of the catalog, of privacy switches and of alerts.
import { describe, expect, test } from 'vitest';
import { ALERT_KINDS, withAlert } from '../../../src/admin-ui/pages/alert-kinds.ts';
import {
  entriesFor,
  isBlockedAbove,
  isBlockedFor,
  releasedAfter,
  releasedShown,
  withBlock,
  withRelease,
  type Entry,
} from '../../../src/admin-ui/pages/catalog-changes.ts';
import {
  idleOf,
  keysConcerned,
  stateOfSwitch,
  type SwitchName,
} from '../../../src/admin-ui/pages/privacy-state.ts';
import { CONCERNED_SCOPES } from '../../../src/admin-ui/lib/privacy-scopes.ts';
import { TEST_SCOPES, type Scope } from '../../../src/core/scopes.ts';

const entry = (id: string, what: Partial<Entry> = {}) =>
  ({ id, kind: 'role', name: null, own: false, released: false, blocked: false, ...what }) as Entry;
const [A, B, OWN] = [entry('a'), entry('b', { blocked: true }), entry('o', { own: true })];
const ALL = [A, B, OWN];

describe('a policy', () => {
  test('of the team blocks one entry, or allows it', () => {
    expect(withBlock(ALL, { id: 'a', isBlocked: true })).toEqual([{ ...A, blocked: true }, B, OWN]);
    expect(withBlock(ALL, { id: 'b', isBlocked: false })).toEqual([
      A,
      { ...B, blocked: false },
      OWN,
    ]);
  });

  test('that is shown is that of the team, or that of a member', () => {
    expect(ALL.map((one) => isBlockedFor(one, null))).toEqual([false, true, false]);
    expect(ALL.map((one) => isBlockedFor(one, ['a']))).toEqual([true, false, false]);
    expect(ALL.map((one) => isBlockedFor(one, []))).toEqual([false, false, false]);
  });

  test('of a member cannot allow what that of the team blocks', () => {
    expect(ALL.map((one) => isBlockedAbove(one, []))).toEqual([false, true, false]);
    expect(ALL.map((one) => isBlockedAbove(one, null))).toEqual([false, false, false]);
  });
});

describe('what is released', () => {
  const on = { id: 'b', isReleased: true };
  const off = { id: 'b', isReleased: false };

  test.each([
    ['all', 'all', 'all'],
    [['a'], 'all', 'all'],
    ['all', 'some', ['a', 'b']],
    [['a'], 'some', ['a']],
    [['a'], on, ['a', 'b']],
    [['a', 'b'], off, ['a']],
    ['all', off, ['a']],
  ] as const)('from %j by %j is %j', async (now, change, after) => {
    expect(await releasedAfter(now, change, () => Promise.resolve(ALL))).toEqual(after);
  });

  test('changes nothing when it cannot be read what all of it is', async () => {
    const lost = () => Promise.reject(new Error('lost'));
    await expect(releasedAfter('all', 'some', lost)).rejects.toThrow('lost');
    await expect(releasedAfter('all', off, lost)).rejects.toThrow('lost');
    expect(await releasedAfter(['a'], on, lost)).toEqual(['a', 'b']);
  });

  test('is shown of one entry, and of none for all', () => {
    expect(withRelease(ALL, on)).toEqual([A, { ...B, released: true }, OWN]);
    expect(withRelease([{ ...B, released: true }], off)).toEqual([B]);
    for (const change of ['all', 'some'] as const) expect(withRelease(ALL, change)).toEqual(ALL);
  });

  test('is what was just asked for, before the service has answered', () => {
    expect(releasedShown('all', ['a'])).toBe('all');
    expect(releasedShown('some', 'all')).toBe('some');
    expect(releasedShown(on, 'all')).toBe('all');
    expect(releasedShown(undefined, undefined)).toBeUndefined();
  });
});

describe('the filters of the catalog', () => {
  const entries = [
    entry('cat_1', { name: 'Cold Call', kind: 'situation' }),
    entry('cat_2', { name: 'Buyer' }),
    entry('cold_3', { kind: 'industry' }),
  ];
  const found = (search: Parameters<typeof entriesFor>[1]) =>
    entriesFor(entries, search).map(({ id }) => id);

  test.each([
    [{}, ['cat_1', 'cat_2', 'cold_3']],
    [{ text: 'COLD' }, ['cat_1', 'cold_3']],
    [{ text: 'cat_' }, ['cat_1', 'cat_2']],
    [{ text: 'call cat' }, ['cat_1']],
    [{ text: 'null' }, []],
    [{ kind: 'role' }, ['cat_2']],
    [{ kind: 'situation', text: 'cold' }, ['cat_1']],
    [{ kind: 'role', text: 'cold' }, []],
  ] as const)('%j find %j', (search, ids) => {
    expect(found(search)).toEqual(ids);
  });
});

describe('a privacy switch', () => {
  const DETAIL = { member_detail_enabled: true };
  const shown = { people: [] };

  test.each([
    ['leaderboard_enabled', false, shown, 'isIdle'],
    ['leaderboard_enabled', true, undefined, 'isAsked'],
    ['leaderboard_enabled', true, { people: null }, 'isTooSmall'],
    ['leaderboard_enabled', true, shown, null],
    ['member_detail_enabled', false, undefined, null],
  ] as const)('%s, with details %j and results %j, is idle: %s', (name, detail, results, idle) => {
    expect(idleOf(name, { ...DETAIL, member_detail_enabled: detail }, results)).toBe(idle);
  });

  test.each([
    [true, null, 'isOn', true],
    [true, 'isIdle', 'isIdle', false],
    [true, 'isTooSmall', 'isTooSmall', false],
    [false, null, 'isOff', false],
    [false, 'isIdle', 'isOff', false],
  ] as const)(
    'that is on (%j) and idle (%s) is said to be %s, good: %j',
    (isOn, idle, text, isGood) => {
      expect(stateOfSwitch(isOn, idle)).toEqual({ text, isGood });
    },
  );

  test.each(Object.keys(CONCERNED_SCOPES) as SwitchName[])(
    '%s names the keys concerned',
    (name) => {
      const key = (scopes: readonly Scope[], state: 'active' | 'revoked' = 'active') => ({
        scopes: [...scopes],
        state,
      });
      const concerned = CONCERNED_SCOPES[name];
      const others = TEST_SCOPES.filter((scope) => !concerned.includes(scope));
      const [first] = concerned;
      if (!first) throw new Error('a switch concerns nothing');
      const keys = [key(TEST_SCOPES), key([first]), key(others), key(TEST_SCOPES, 'revoked')];
      expect(keysConcerned(name, keys)).toEqual(
        concerned.map((scope) => ({ scope, count: scope === first ? 2 : 1 })),
      );
      expect(keysConcerned(name, [key([first])])).toEqual([{ scope: first, count: 1 }]);
      expect(keysConcerned(name, [])).toEqual([]);
    },
  );
});

describe('the alerts by mail', () => {
  test('change one by one, and keep their order', () => {
    const none = { kinds: [] };
    const two = { kinds: ['errors', 'webhooks'] } as Parameters<typeof withAlert>[0];
    expect(ALERT_KINDS).toEqual(['webhooks', 'errors', 'keys']);
    expect(withAlert(none, { kind: 'errors', isWanted: true }).kinds).toEqual(['errors']);
    expect(withAlert(two, { kind: 'keys', isWanted: true }).kinds).toEqual(ALERT_KINDS);
    expect(withAlert(two, { kind: 'errors', isWanted: false }).kinds).toEqual(['webhooks']);
    expect(withAlert(two, { kind: 'errors', isWanted: true }).kinds).toEqual([
      'webhooks',
      'errors',
    ]);
  });
});
