// Answers to strangers and to callers over their limit are throttled.
import { describe, expect, test } from 'vitest';
import { createThrottle } from '../../src/http/throttle.ts';
import { nextTurn } from '../support/turns.ts';

/** Returns how long the next answer to an address waits, at a time that the test sets. */
function start() {
  const clock = { ms: 1_000_000 };
  const waits: { readonly ms: number; readonly end: () => void }[] = [];
  const wait = (ms: number): Promise<void> =>
    new Promise((resolve) => void waits.push({ ms, end: resolve }));
  const throttle = createThrottle({ monotonicMs: () => clock.ms, wait });
  /** NaN: too many wait. */
  const next = (address: string): number => {
    const answer = throttle(address);
    if (typeof answer === 'string') return answer === 'now' ? 0 : NaN;
    return waits.at(-1)?.ms ?? NaN;
  };
  /** Those that wait get their answers. */
  const endAll = async (): Promise<void> => {
    for (const { end } of waits.splice(0)) end();
    await nextTurn();
  };
  const many = (address: string, count: number): number[] =>
    Array.from({ length: count }, () => next(address));
  return { clock, throttle, next, many, endAll };
}

describe('the throttle of refusals', () => {
  test('lets a hundred go at once, and one every ten milliseconds from then on', () => {
    const { clock, next, many } = start();
    expect(new Set(many('a', 100))).toEqual(new Set([0]));
    expect(many('a', 3)).toEqual([10, 20, 30]);
    clock.ms += 30;
    expect(many('a', 2)).toEqual([10, 20]);
    clock.ms += 20 + 1000;
    expect(many('a', 100).at(-1)).toBe(0);
    expect(next('a')).toBe(10);
    // Nobody saves up more of them.
    clock.ms += 3_600_000;
    expect(many('a', 101).slice(-2)).toEqual([0, 10]);
  });

  test('counts a large answer as several', () => {
    const { throttle, next } = start();
    expect(throttle('a', 90)).toBe('now');
    expect([next('a'), throttle('a', 19)]).toEqual([0, expect.any(Promise)]);
  });

  test('is each address’s own', () => {
    const { next, many } = start();
    many('a', 200);
    expect([next('a'), next('b')]).toEqual([1010, 0]);
  });

  test('makes nobody wait longer than two seconds, whatever the answers before cost', async () => {
    const { clock, throttle, many, endAll } = start();
    many('a', 100);
    expect(throttle('a', 50)).toBeInstanceOf(Promise);
    expect(many('a', 150).at(-1)).toBe(2000);
    expect(many('a', 1)).toEqual([NaN]);
    clock.ms += 2000;
    await endAll();
    expect(throttle('a', 200)).toBeInstanceOf(Promise);
    expect(throttle('a', 1)).toBe('full');
  });

  test('has as many of an address wait as come in two seconds, and tells the others', async () => {
    const { clock, many, next, endAll } = start();
    expect(many('a', 300).at(-1)).toBe(2000);
    expect(many('a', 3)).toEqual([NaN, NaN, NaN]);
    expect(next('b')).toBe(0);
    clock.ms += 2000;
    await endAll();
    expect(next('a')).toBe(10);
  });

  test('remembers a busy address, however many others come', () => {
    const { clock, next, many } = start();
    many('busy', 290);
    for (let index = 0; index < 10_001; index++) next(`${index}`);
    clock.ms += 600;
    next('one more');
    expect(next('busy')).toBe(291 * 10 - 1000 - 600);
  });
});
