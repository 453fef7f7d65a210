import { describe, expect, test } from 'vitest';
import { steppedClock } from '../support/clocks.ts';

const START = new Date('2026-01-01T00:00:00.000Z');

describe('a stepped clock', () => {
  test('runs the timers that are due in the order of their times, at their times', () => {
    const clock = steppedClock(START);
    const ran: string[] = [];
    const note = (name: string) => () => ran.push(`${name} ${clock.monotonicMs()}`);
    clock.after(30, note('late'));
    clock.after(10, note('first'));
    clock.after(10, note('second'));
    clock.every(15, note('often'));
    clock.advance(29);
    expect(ran).toEqual(['first 10', 'second 10', 'often 15']);
    clock.advance(1);
    expect(ran.slice(3)).toEqual(['late 30', 'often 30']);
    expect(clock.now()).toEqual(new Date(START.getTime() + 30));
    expect(clock.waiting).toBe(1);
  });

  test('runs a timer that another one has started, and none that was cancelled', () => {
    const clock = steppedClock(START);
    const ran: number[] = [];
    clock.after(5, () => clock.after(5, () => ran.push(clock.monotonicMs())));
    clock.after(6, () => ran.push(6))();
    const stop = clock.every(4, () => {
      ran.push(clock.monotonicMs());
      if (ran.length === 2) stop();
    });
    clock.advance(100);
    expect(ran).toEqual([4, 8, 10]);
    expect(clock.waiting).toBe(0);
  });

  test('resolves a wait when it is due, and at once when the signal aborts', async () => {
    const clock = steppedClock(START);
    const ended = new AbortController();
    const waits = [clock.wait(10), clock.wait(1_000, ended.signal)];
    clock.advance(10);
    ended.abort();
    await Promise.all(waits);
    expect(clock.waiting).toBe(0);
  });
});
