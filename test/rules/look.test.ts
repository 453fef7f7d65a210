// Where the looks of a delivery loop for events begin.
import pino from 'pino';
import { expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { beginWhole, endLook, type Seen } from '../../src/delivery/fan-out.ts';
import { newFanOutState, runBeside, type Loop } from '../../src/delivery/loop.ts';

const clock = fixedClock(new Date('2026-11-02T12:00:00.000Z'));
const at = (time: string): string => `2026-11-02T${time}.000Z`;

/** Where the look after these begins, if nothing else moves it. */
function beginAfter(...seen: Omit<Seen, 'fromMs'>[]): string {
  const look = newFanOutState(clock);
  for (const one of seen) endLook(look, { fromMs: look.fromMs, ...one }, clock);
  return new Date(look.fromMs).toISOString();
}

test('the first look begins ten minutes ago, and so does one that finds nothing', () => {
  expect(beginAfter()).toBe(at('11:50:00'));
  const look = newFanOutState(clock);
  const later = fixedClock(new Date(at('13:00:00')));
  endLook(look, { fromMs: look.fromMs, oldest: undefined, isAll: true }, later);
  expect(new Date(look.fromMs).toISOString()).toBe(at('12:50:00'));
  // Of those that are busy or locked nothing is known.
  endLook(look, { fromMs: look.fromMs, oldest: undefined, isAll: false }, fixedClock(new Date()));
  expect(new Date(look.fromMs).toISOString()).toBe(at('12:50:00'));
});

test('the next one begins two minutes before the oldest event, and never goes back', () => {
  expect(beginAfter({ oldest: at('11:59:00'), isAll: true })).toBe(at('11:57:00'));
  expect(beginAfter({ oldest: at('11:59:00'), isAll: false })).toBe(at('11:57:00'));
  const late = { oldest: at('11:51:00'), isAll: false };
  expect(beginAfter({ oldest: at('11:59:00'), isAll: true }, late)).toBe(at('11:57:00'));
});

test('an event of a clock that is ahead moves it no further than our clock', () => {
  expect(beginAfter({ oldest: at('15:00:00'), isAll: true })).toBe(at('11:58:00'));
});

test('what a look at all events has found is not passed over by a look that began before', () => {
  const look = newFanOutState(clock);
  const { fromMs } = look;
  look.fromMs = Date.parse(at('09:00:00'));
  endLook(look, { fromMs, oldest: at('11:59:00'), isAll: true }, clock);
  expect(new Date(look.fromMs).toISOString()).toBe(at('09:00:00'));
  // The next one begins there. As long as more follow, it goes on with the oldest.
  endLook(look, { fromMs: look.fromMs, oldest: at('09:30:00'), isAll: false }, clock);
  expect(new Date(look.fromMs).toISOString()).toBe(at('09:28:00'));
  endLook(look, { fromMs: look.fromMs, oldest: at('09:40:00'), isAll: true }, clock);
  expect(new Date(look.fromMs).toISOString()).toBe(at('11:50:00'));
});

test('all events are looked at first, and then every half minute', () => {
  const look = newFanOutState(clock);
  const begun = [1, 2, 60, 62, 100, 122, 181].filter((tick) => beginWhole(look, tick));
  expect(begun).toEqual([1, 62, 122]);
});

test('what runs beside the rounds is not begun again while it runs, and fails alone', async () => {
  const warned: unknown[] = [];
  const logger = pino({ level: 'warn' }, { write: (line) => warned.push(JSON.parse(line).msg) });
  const loop = { options: { logger }, state: { running: new Map() } } as unknown as Loop;
  const held = Promise.withResolvers<void>();
  let begun = 0;
  const work = () => {
    begun += 1;
    return held.promise;
  };
  runBeside(loop, 'look', work);
  runBeside(loop, 'look', work);
  runBeside(loop, 'place', work);
  expect(begun).toBe(2);
  held.reject(new Error('too slow'));
  await Promise.all(loop.state.running.values());
  expect(loop.state.running.size).toBe(0);
  expect(warned).toHaveLength(2);
  runBeside(loop, 'look', async () => undefined);
  expect(loop.state.running.size).toBe(1);
});
