// The figures of the admin page: what is added, what a share is, and where a colour changes.
import { describe, expect, test } from 'vitest';
import { sumOf, totalOf } from '../../../src/admin-ui/lib/days.ts';
import { toneOf } from '../../../src/admin-ui/lib/status.ts';
import {
  isSecretUnstored,
  outcomesByDay,
  outcomesInTime,
  successOf,
} from '../../../src/admin-ui/lib/success.ts';
import { isCrmFine } from '../../../src/admin-ui/pages/crm-state.ts';
import { stateOf } from '../../../src/admin-ui/pages/key-state.ts';

const DAY = {
  day: '2026-01-31',
  requests: { '2xx': 1_000, '4xx': 200, '429': 30, '5xx': 4 },
  peak_percent: 0,
};

test('requests are counted by their outcome, each once', () => {
  expect(totalOf(DAY)).toBe(1_234);
  expect(sumOf([DAY, DAY])).toEqual({ total: 2_468, good: 2_000, limited: 60, ours: 8 });
  expect(sumOf([])).toEqual({ total: 0, good: 0, limited: 0, ours: 0 });
});

test.each([
  [200, 'good'],
  [399, 'good'],
  [400, 'warn'],
  [499, 'warn'],
  [500, 'bad'],
  [503, 'bad'],
] as const)('a response of %i is %s', (status, tone) => {
  expect(toneOf(status)).toBe(tone);
});

describe('the success of deliveries', () => {
  test('is a share of those that were tried', () => {
    expect(successOf([])).toBeNull();
    expect(successOf([true, false, true, true])).toBe(0.75);
  });

  test('in time has ten groups at most, the oldest first', () => {
    const arrived = Array.from({ length: 100 }, (_, place) => place >= 10);
    const good = { arrived: 10, failed: 0 };
    expect(outcomesInTime(arrived)).toEqual([
      { arrived: 0, failed: 10 },
      ...Array.from({ length: 9 }, () => good),
    ]);
    // Groups of two: 11 deliveries are six of them.
    const eleven = Array.from({ length: 11 }, (_, place) => place !== 10);
    expect(outcomesInTime(eleven).map(({ failed }) => failed)).toEqual([0, 0, 0, 0, 0, 1]);
    expect(outcomesInTime([])).toEqual([]);
  });

  test('by day is that of all receivers', () => {
    const hooks = [
      { days: [{ day: '2026-01-30', arrived: 3, failed: 1 }] },
      {
        days: [
          { day: '2026-01-30', arrived: 1, failed: 0 },
          { day: '2026-01-31', arrived: 0, failed: 2 },
        ],
      },
    ];
    expect(outcomesByDay(hooks, ['2026-01-29', '2026-01-30', '2026-01-31'])).toEqual([
      { arrived: 0, failed: 0 },
      { arrived: 4, failed: 1 },
      { arrived: 0, failed: 2 },
    ]);
  });
});

test('a secret is unstored while its endpoint says since when', () => {
  const health = (secret_unconfirmed_since: string | null) =>
    ({ secret_unconfirmed_since }) as Parameters<typeof isSecretUnstored>[0];
  expect(isSecretUnstored(undefined)).toBe(false);
  expect(isSecretUnstored(health(null))).toBe(false);
  expect(isSecretUnstored(health('2026-01-31T12:00:00.000Z'))).toBe(true);
});

describe('a CRM connection', () => {
  const fine = { status: 'active', last_error: null, has_credentials: true };

  test.each([
    ['that is read', {}, true],
    ['that is paused', { status: 'paused' }, false],
    ['whose last attempt failed', { last_error: 'refused' }, false],
    ['without a token', { has_credentials: false }, false],
  ] as const)('%s: fine is %s', (_, what, expected) => {
    const connection = { ...fine, ...what } as Parameters<typeof isCrmFine>[0];
    expect(isCrmFine(connection)).toBe(expected);
  });
});

test.each([
  ['active', null, 'active'],
  ['active', '2026-02-01T00:00:00.000Z', 'ending'],
  ['revoked', '2026-01-01T00:00:00.000Z', 'revoked'],
  ['expired', null, 'expired'],
] as const)('a key that is %s and revoked at %s is %s', (state, revoked_at, expected) => {
  expect(stateOf({ state, revoked_at })).toBe(expected);
});
