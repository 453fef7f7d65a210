// What a play has where a call does not say it, at the bounds.
import { describe, expect, it, test } from 'vitest';
import {
  correctedScore,
  DAYS_BACK,
  evaluationDelayMs,
  requireLater,
  requireRecent,
  scoresAround,
} from '../../src/features/sandbox/play-rules.ts';

const NOW = new Date('2026-11-02T09:00:00.000Z');
const ago = (ms: number): string => new Date(NOW.getTime() - ms).toISOString();
const DAY_MS = 86_400_000;
const REFUSED = expect.objectContaining({
  code: 'validation_error',
  fields: expect.objectContaining({ field: 'at' }) as unknown,
}) as Error;

test.each([
  [0, 5],
  [94, 99],
  [95, 100],
  [96, 91],
  [100, 95],
  [null, 76],
])('a score of %j is corrected to %i', (before, after) => {
  expect(correctedScore(before)).toBe(after);
});

test.each([
  [undefined, 1, 10_000],
  [undefined, 1_000, 10],
  [0, 1, 0],
  [7, 1_000, 7_000],
])('a delay of %j at the speed %i is %i ms', (delayS, speed, ms) => {
  expect(evaluationDelayMs(delayS, speed)).toBe(ms);
});

describe('a time', () => {
  it.each([0, 1, DAYS_BACK * DAY_MS])('may be %i ms ago', (ms) => {
    expect(requireRecent(ago(ms), NOW).toISOString()).toBe(ago(ms));
  });

  it.each([-1, -60_000])('is now at %i ms ago: the clock of the caller is ahead', (ms) => {
    expect(requireRecent(ago(ms), NOW)).toEqual(NOW);
  });

  it.each([-60_001, DAYS_BACK * DAY_MS + 1])('may not be %i ms ago', (ms) => {
    expect(() => requireRecent(ago(ms), NOW)).toThrow(REFUSED);
  });

  it('is now if none is given', () => {
    expect(requireRecent(undefined, NOW)).toEqual(NOW);
  });
});

describe('a correction', () => {
  it.each([
    ['now', undefined, ago(1), ago(0)],
    ['at the time that is given', ago(1), ago(2), ago(1)],
    ['next to what is of now', undefined, ago(0), ago(-1)],
    ['next to what is of now, by a clock that is ahead', ago(-200), ago(0), ago(-1)],
    ['next to what will be', undefined, ago(-5_000), ago(-5_001)],
  ])('is made %s', (_when, at, before, made) => {
    expect(requireLater(at, before, NOW).toISOString()).toBe(made);
  });

  it.each([1, 2])('is not made before what it corrects', (ms) => {
    expect(() => requireLater(ago(ms), ago(1), NOW)).toThrow(REFUSED);
  });
});

test('scores of dimensions have the total as their mean, and none leaves the range', () => {
  for (let total = 0; total <= 100; total += 1) {
    const scores = scoresAround(total, 5);
    expect(scores.reduce((sum, one) => sum + one, 0)).toBe(5 * total);
    expect(Math.min(...scores)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...scores)).toBeLessThanOrEqual(100);
    // Where there is room they differ, as those of people do.
    expect(new Set(scores).size > 1).toBe(total > 0 && total < 100);
  }
});
