import { describe, expect, test } from 'vitest';
import {
  continuationAt,
  END,
  forgetsRound,
  nextRegular,
  nextRetry,
  parseState,
  roundAfter,
  roundOf,
  stateAfter,
  SWEEP,
  type Round,
  type SyncState,
} from '../../src/features/crm/sync/schedule.ts';

const T0 = '2026-11-02T09:00:00.000Z';
const NOW = new Date(T0);
const at = (ms: number) => new Date(NOW.getTime() + ms);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const LISTS = ['deals', 'deleted', 'notes'];
const EMPTY: SyncState = { since: {}, fullAt: null, round: null };
const round = (fields: Partial<Round> = {}): Round => ({
  startedAt: T0,
  full: false,
  list: 'deals',
  cursor: null,
  seen: {},
  ...fields,
});

describe('the stored state', () => {
  test('is read as it was written', () => {
    const state = { since: { deals: T0 }, fullAt: T0, round: round({ cursor: 'c' }) };
    expect(parseState(JSON.parse(JSON.stringify(state)))).toEqual(state);
  });

  test.each([null, undefined, {}, 'text', { ...EMPTY, round: {} }, { ...EMPTY, more: 1 }])(
    'that cannot be read (%j) is empty, so the next round reads everything',
    (stored) => {
      expect(parseState(stored)).toEqual(EMPTY);
    },
  );
});

describe('the round', () => {
  test.each(['deals', 'deleted', 'notes', SWEEP, END])('that is at %s is continued', (list) => {
    const current = round({ list, startedAt: '2026-11-01T00:00:00.000Z' });
    expect(roundOf({ ...EMPTY, round: current }, LISTS, NOW)).toBe(current);
  });

  test('in a list that is no longer read is replaced by a new one', () => {
    const state = { ...EMPTY, fullAt: T0, round: round({ list: 'emails', seen: { emails: T0 } }) };
    expect(roundOf(state, LISTS, at(1))).toEqual(round({ startedAt: at(1).toISOString() }));
  });

  test.each([
    [null, true],
    [at(-24 * HOUR), true],
    [at(-24 * HOUR - 1), true],
    [at(-24 * HOUR + 1), false],
    [NOW, false],
  ])('after the last full one at %s is a full one: %s', (fullAt, full) => {
    const state = { ...EMPTY, fullAt: fullAt && fullAt.toISOString() };
    expect(roundOf(state, LISTS, NOW)).toEqual(round({ full }));
  });

  test('of a provider without lists begins with the sweep', () => {
    expect(roundOf(EMPTY, [], NOW)).toEqual(round({ full: true, list: SWEEP }));
  });
});

describe('a round that fails', () => {
  const DAY = 24 * HOUR;

  test.each([
    ['forbidden', DAY, true],
    ['forbidden', DAY - 1, false],
    ['forbidden', null, false],
    ['unauthorized', 9 * DAY, false],
    ['provider_error', 9 * DAY, false],
  ] as const)('as %s, %s ms after its start, is forgotten: %s', (reason, ms, expected) => {
    const current = ms === null ? null : round({ startedAt: at(-ms).toISOString() });
    expect(forgetsRound(current, { reason, refusedPlace: false }, NOW)).toBe(expected);
  });

  test.each([round(), null])('because the CRM refuses its place is forgotten (%j)', (current) => {
    const error = { reason: 'invalid_response', refusedPlace: true } as const;
    expect(forgetsRound(current, error, NOW)).toBe(true);
  });
});

describe('after a page', () => {
  const EARLIER = '2026-11-01T00:00:00.000Z';
  const LATER = '2026-11-03T00:00:00.000Z';

  test.each([
    { full: false, list: 'deals', next: 'c2', expected: { list: 'deals', cursor: 'c2' } },
    { full: false, list: 'deals', next: null, expected: { list: 'deleted', cursor: null } },
    { full: true, list: 'deleted', next: null, expected: { list: 'notes', cursor: null } },
    { full: false, list: 'notes', next: null, expected: { list: END, cursor: null } },
    { full: true, list: 'notes', next: null, expected: { list: SWEEP, cursor: null } },
    { full: true, list: 'notes', next: 'c2', expected: { list: 'notes', cursor: 'c2' } },
  ])('of $list with the next cursor $next (full: $full)', ({ full, list, next, expected }) => {
    const current = round({ full, list, cursor: 'c1' });
    expect(roundAfter(current, LISTS, { next, modifiedUntil: null })).toEqual({
      ...current,
      ...expected,
    });
  });

  test.each([
    [{}, T0, { deals: T0 }],
    [{ deals: EARLIER, notes: T0 }, T0, { deals: T0, notes: T0 }],
    [{ deals: LATER }, T0, { deals: LATER }],
    [{ deals: T0 }, null, { deals: T0 }],
    [{}, null, {}],
  ])('with %j seen and a page until %s, %j are seen', (seen, modifiedUntil, expected) => {
    const after = roundAfter(round({ seen }), LISTS, { next: 'c2', modifiedUntil });
    expect(after.seen).toEqual(expected);
  });
});

describe('after a round', () => {
  const LIMIT = at(-5 * MINUTE).toISOString();
  const BEFORE = at(-6 * MINUTE).toISOString();
  const LONG_BEFORE = at(-HOUR).toISOString();

  test.each([
    ['what it has seen', {}, { deals: BEFORE }, { deals: BEFORE }],
    ['five minutes before its start at most', {}, { deals: T0 }, { deals: LIMIT }],
    ['that, at the limit', {}, { deals: LIMIT }, { deals: LIMIT }],
    ['never an earlier time', { deals: BEFORE }, { deals: LONG_BEFORE }, { deals: BEFORE }],
    ['a later time', { deals: LONG_BEFORE }, { deals: BEFORE }, { deals: BEFORE }],
    ['the same for other lists', { notes: BEFORE }, {}, { notes: BEFORE }],
  ])('the next one reads from %s', (_what, since, seen, expected) => {
    expect(stateAfter({ ...EMPTY, since }, round({ seen })).since).toEqual(expected);
  });

  test.each([
    [true, T0],
    [false, LONG_BEFORE],
  ])('that was full (%s), the last full one began at %s', (full, fullAt) => {
    const state = { ...EMPTY, fullAt: LONG_BEFORE, round: round() };
    expect(stateAfter(state, round({ full }))).toEqual({ since: {}, fullAt, round: null });
  });
});

test.each([
  [0, 14.5 * MINUTE],
  [0.5, 15 * MINUTE],
  [1, 15.5 * MINUTE],
])('with the random number %d, the next round is %d ms later', (random, ms) => {
  expect(nextRegular(NOW, random, 'live')).toEqual(at(ms));
});

describe('after a failure', () => {
  test.each([
    [1, MINUTE],
    [2, 2 * MINUTE],
    [3, 4 * MINUTE],
    [4, 8 * MINUTE],
    [5, 15 * MINUTE],
    [6, 15 * MINUTE],
    [5000, 15 * MINUTE],
  ])('number %d in a row, the next attempt is %d ms later', (streak, ms) => {
    expect(nextRetry(NOW, streak, { retryAfterMs: null, random: 0.5 })).toEqual(at(ms));
  });

  test.each([
    [0, null, 54_000],
    [1, null, 66_000],
    [0.5, 59_999, 60_000],
    [0.5, 60_001, 60_001],
    [0.5, HOUR, HOUR],
  ])('random %d and Retry-After %s ms make it %d ms', (random, retryAfterMs, ms) => {
    expect(nextRetry(NOW, 1, { retryAfterMs, random })).toEqual(at(ms));
  });
});

describe('a run that a rate limit has stopped', () => {
  test.each([
    [null, 1000],
    [0, 1000],
    [999, 1000],
    [1001, 1001],
    [HOUR, HOUR],
  ])('after some pages, Retry-After %s ms, continues %d ms later', (retryAfterMs, ms) => {
    expect(continuationAt(NOW, { reason: 'rate_limited', retryAfterMs }, true)).toEqual(at(ms));
  });

  test('before its first page has failed', () => {
    const error = { reason: 'rate_limited', retryAfterMs: 5000 } as const;
    expect(continuationAt(NOW, error, false)).toBeNull();
  });

  test.each(['unauthorized', 'timeout', 'provider_error', 'internal'] as const)(
    'is the only one that continues: %s is a failure',
    (reason) => {
      expect(continuationAt(NOW, { reason, retryAfterMs: 5000 }, true)).toBeNull();
    },
  );
});
