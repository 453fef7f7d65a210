import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toResult } from '../../src/delivery/attempt-result.ts';
import { newAnswer } from '../../src/delivery/request.ts';
import {
  nextState,
  parseRetryAfter,
  type AttemptCause,
  type AttemptEnd,
  type DeliveryState,
} from '../../src/delivery/schedule.ts';

/** The documented waits: 1 min, 5 min, 30 min, 2 h, 6 h, 12 h, 24 h. */
const DELAYS_S = [60, 300, 1800, 7200, 21_600, 43_200, 86_400];
const T0 = Date.parse('2026-11-02T09:00:00Z');
const DAY_S = 86_400;

const NEW: DeliveryState = {
  status: 'pending',
  attempt: 0,
  scheduledAttempts: 0,
  nextTryAt: new Date(T0),
};

const end = (atS: number, fields: Partial<AttemptEnd> = {}): AttemptEnd => ({
  ok: false,
  at: new Date(T0 + atS * 1000),
  cause: 'scheduled',
  retryAfterS: null,
  ...fields,
});
const after = (state: DeliveryState, attempt: AttemptEnd) => nextState(state, attempt, DELAYS_S);
/** Seconds since the start; null means never. */
const dueS = (state: DeliveryState) => state.nextTryAt && (state.nextTryAt.getTime() - T0) / 1000;

/** Makes every attempt when it is due, until none is due. */
function walk(fields: Partial<AttemptEnd> = {}): { state: DeliveryState; dueS: number[] } {
  const due: number[] = [];
  let state = NEW;
  for (let at = dueS(state); at !== null; at = dueS(state)) {
    due.push(at);
    state = after(state, end(at, fields));
  }
  return { state, dueS: due };
}

describe('the schedule of a delivery that never succeeds', () => {
  // After 1 min, 5 min, 30 min, 2 h, 6 h, 12 h and 24 h, each counted from the attempt before.
  test('is a first attempt and seven retries', () => {
    expect(walk().dueS).toEqual([0, 60, 360, 2160, 9360, 30_960, 74_160, 160_560]);
  });

  test('gives up with the seventh retry, about 45 hours after the first attempt', () => {
    const { state, dueS: due } = walk();
    expect(state).toEqual({ status: 'gave_up', attempt: 8, scheduledAttempts: 8, nextTryAt: null });
    expect((due.at(-1) ?? 0) / 3600).toBeCloseTo(44.6);
  });

  test('counts each wait from the end of the attempt, so a slow one delays the next', () => {
    expect(dueS(after(NEW, end(10)))).toBe(70);
  });

  test('uses the configured waits', () => {
    expect(nextState(NEW, end(0), [])).toMatchObject({
      status: 'gave_up',
      attempt: 1,
      nextTryAt: null,
    });
    const retrying = nextState(NEW, end(0), [5]);
    expect(retrying).toMatchObject({
      status: 'retrying',
      attempt: 1,
      nextTryAt: new Date(T0 + 5000),
    });
    expect(nextState(retrying, end(5), [5])).toMatchObject({ status: 'gave_up', attempt: 2 });
    expect(dueS(nextState(NEW, end(0), [0]))).toBe(0);
  });
});

describe('a success', () => {
  test('ends it, whichever attempt it was and whether or not it was requested', () => {
    const waiting = after(NEW, end(0));
    const ok = { status: 'ok', nextTryAt: null };
    expect(after(NEW, end(0, { ok: true }))).toMatchObject({ ...ok, attempt: 1 });
    expect(after(waiting, end(60, { ok: true }))).toMatchObject({
      ...ok,
      attempt: 2,
      scheduledAttempts: 2,
    });
    expect(after(waiting, end(5, { ok: true, cause: 'requested' }))).toMatchObject({
      ...ok,
      attempt: 2,
      scheduledAttempts: 1,
    });
    expect(after(walk().state, end(200_000, { ok: true, cause: 'requested' }))).toMatchObject({
      ...ok,
      attempt: 9,
    });
  });
});

describe('a requested attempt that fails', () => {
  test('leaves a retrying delivery its next time, and uses up no retry', () => {
    let state = after(NEW, end(0));
    for (let n = 1; n <= 20; n += 1)
      state = after(state, end(n, { cause: 'requested', retryAfterS: 3600 }));
    expect(state).toMatchObject({ status: 'retrying', attempt: 21, scheduledAttempts: 1 });
    expect(dueS(state)).toBe(60);
    const rest: number[] = [];
    for (let at = dueS(state); at !== null; at = dueS(state)) {
      rest.push(at);
      state = after(state, end(at));
    }
    expect(rest).toEqual(walk().dueS.slice(1));
    expect(state).toMatchObject({ status: 'gave_up', attempt: 28, scheduledAttempts: 8 });
  });

  test('does not change a delivery that gave up', () => {
    const { state } = walk();
    expect(after(state, end(200_000, { cause: 'requested' }))).toEqual({
      ...state,
      attempt: 9,
    });
  });
});

describe('a resent attempt that fails', () => {
  test('begins the last wait again, and uses up no retry', () => {
    let state = after(after(NEW, end(0)), end(60));
    for (let n = 1; n <= 20; n += 1) state = after(state, end(100 + n, { cause: 'resent' }));
    expect(state).toMatchObject({ status: 'retrying', attempt: 22, scheduledAttempts: 2 });
    expect(dueS(state)).toBe(120 + 300);
  });

  test('leaves a delivery that gave up without a retry', () => {
    const { state } = walk();
    const resent: DeliveryState = { ...state, status: 'retrying', nextTryAt: new Date(T0) };
    expect(after(resent, end(200_000, { cause: 'resent' }))).toEqual({ ...state, attempt: 9 });
  });

  test('has the first wait, whatever was counted before', () => {
    const lost: DeliveryState = { ...NEW, status: 'retrying', attempt: 3, scheduledAttempts: 0 };
    expect(dueS(after(lost, end(0, { cause: 'resent' })))).toBe(60);
  });
});

describe('Retry-After', () => {
  test('lengthens a wait up to one day, and never shortens it', () => {
    expect(dueS(after(NEW, end(0, { retryAfterS: 61 })))).toBe(61);
    expect(dueS(after(NEW, end(0, { retryAfterS: 59 })))).toBe(60);
    expect(dueS(after(NEW, end(0, { retryAfterS: 0 })))).toBe(60);
    expect(dueS(after(NEW, end(0, { retryAfterS: 10 * DAY_S })))).toBe(DAY_S);
  });

  test('does not change the number of attempts', () => {
    expect(walk({ retryAfterS: DAY_S })).toMatchObject({
      state: { status: 'gave_up', attempt: 8 },
    });
  });

  const now = new Date('2026-11-02T09:00:00.500Z');
  test.each([
    ['120', 120],
    ['0', 0],
    ['99999999999999999999', DAY_S],
    ['Mon, 02 Nov 2026 09:02:00 GMT', 120],
    ['Mon, 02 Nov 2026 12:00:00 GMT', 10_800],
    ['Mon, 02 Nov 2026 08:00:00 GMT', 0],
    ['from Mon, 02 Nov 2026 09:02:00 GMT', null],
    ['Mon, 02 Nov 2026 09:02:00 GMT+0200', null],
    ['Mon, 32 Nov 2026 08:00:00 GMT', null],
    ['-5', null],
    ['1.5', null],
    ['soon', null],
    ['2027', 2027],
    ['', null],
    [undefined, null],
    [['120'], null],
    [['1', '2'], null],
  ])('is seconds or an HTTP date, and nothing else: %j', (value, seconds) => {
    expect(parseRetryAfter(value, now)).toBe(seconds);
  });
});

test.each([
  ['its own time', 'Mon, 02 Nov 2026 09:00:00 GMT', 'Mon, 02 Nov 2026 09:02:00 GMT', 120],
  ['no time that can be read', 'now', 'Mon, 02 Nov 2015 09:02:00 GMT', 0],
  ['no time', undefined, '7', 7],
])('a Retry-After with %s is of the clock of the receiver', (_what, date, retryAfter, seconds) => {
  const answer = { ...newAnswer(), statusCode: 503, date, retryAfter };
  expect(toResult({ answer }, 1).retryAfterS).toBe(seconds);
});

// In any order of events, attempts are counted, only scheduled ones use up a retry, and waits are
// never shorter than the schedule says.
test('the rules hold for any sequence of attempts', () => {
  const step = fc.record({
    // Rarely, so that most runs get far.
    ok: fc.integer({ min: 0, max: 19 }).map((number) => number === 0),
    cause: fc.constantFrom<AttemptCause>('scheduled', 'requested', 'resent'),
    retryAfterS: fc.option(fc.nat(200_000)),
    tookS: fc.nat(10),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30, size: 'max' }), (steps) => {
      let state = NEW;
      let nowS = 0;
      let scheduled = 0;
      let extra = 0;
      for (const { tookS, ...attempt } of steps) {
        const due = dueS(state);
        if (state.status === 'ok') break;
        // The first attempt is a scheduled one. After the last of these, only others are left.
        const isFirst = state.status === 'pending';
        const isLast = state.status === 'gave_up' && attempt.cause === 'scheduled';
        const cause = isFirst ? 'scheduled' : isLast ? 'requested' : attempt.cause;
        const isExtra = cause !== 'scheduled';
        nowS = (isExtra ? nowS : Math.max(nowS, due ?? nowS)) + tookS;
        const before = state;
        state = after(state, end(nowS, { ...attempt, cause }));
        if (isExtra) extra += 1;
        else scheduled += 1;
        const leastS = Math.max(
          DELAYS_S[scheduled - 1] ?? 0,
          Math.min(attempt.retryAfterS ?? 0, DAY_S),
        );
        const retrying = { status: 'retrying', nextTryAt: new Date(T0 + (nowS + leastS) * 1000) };
        const failed = scheduled === 8 ? { status: 'gave_up', nextTryAt: null } : retrying;
        const asBefore = { status: before.status, nextTryAt: before.nextTryAt };
        const outcome = attempt.ok
          ? { status: 'ok', nextTryAt: null }
          : cause === 'requested'
            ? asBefore
            : failed;
        expect(state).toEqual({
          ...outcome,
          attempt: scheduled + extra,
          scheduledAttempts: scheduled,
        });
      }
    }),
  );
});
