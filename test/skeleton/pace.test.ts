// Answers to strangers and to callers over their limit keep a pace.
import { describe, expect, test } from 'vitest';
import { createPace } from '../../src/http/pace.ts';

/** Returns how long the next answer to an address waits, at a time that the test sets. */
function start() {
  const clock = { ms: 1_000_000 };
  const waits: number[] = [];
  const wait = async (ms: number): Promise<void> => void waits.push(ms);
  const pace = createPace({ now: () => clock.ms, wait });
  const next = (address: string): number => (pace(address) ? (waits.pop() ?? NaN) : 0);
  const many = (address: string, count: number): number[] =>
    Array.from({ length: count }, () => next(address));
  return { clock, pace, next, many };
}

describe('the pace of refusals', () => {
  test('lets a hundred go at once, and one every ten milliseconds from then on', () => {
    const { clock, next, many } = start();
    expect(new Set(many('a', 100))).toEqual(new Set([0]));
    expect(many('a', 3)).toEqual([10, 20, 30]);
    clock.ms += 30;
    expect(many('a', 2)).toEqual([10, 20]);
    clock.ms += 20 + 1000;
    expect(many('a', 100).at(-1)).toBe(0);
    expect(next('a')).toBe(10);
  });

  test('counts a large answer as several', () => {
    const { pace, next } = start();
    expect(pace('a', 90)).toBeUndefined();
    expect([next('a'), pace('a', 19)]).toEqual([0, expect.any(Promise)]);
  });

  test('is each address’s own', () => {
    const { next, many } = start();
    many('a', 200);
    expect([next('a'), next('b')]).toEqual([1010, 0]);
  });

  test('makes nobody wait longer than two seconds', () => {
    const { clock, many } = start();
    expect(Math.max(...many('a', 5000))).toBe(2000);
    clock.ms += 2000;
    expect(many('a', 2)).toEqual([10, 20]);
  });

  test('remembers a busy address, however many others come', () => {
    const { clock, next, many } = start();
    many('busy', 300);
    for (let index = 0; index < 10_001; index++) next(`${index}`);
    clock.ms += 600;
    next('one more');
    expect(next('busy')).toBe(301 * 10 - 1000 - 600);
  });
});
