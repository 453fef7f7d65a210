// Where the looks of a delivery loop for events begin.
import { expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { beginLook, endLook, newLook, widenLook, type Look } from '../../src/delivery/look.ts';

const clock = fixedClock(new Date('2026-11-02T12:00:00.000Z'));
const at = (time: string): string => `2026-11-02T${time}.000Z`;

/** A look that has once seen an event of noon. */
function afterNoon(): Look {
  const look = newLook();
  endLook(look, { from: beginLook(look), last: at('12:00:00'), isAll: true }, clock);
  return look;
}

test('the first look is at all events, and the next one begins two minutes before the last', () => {
  const look = newLook();
  expect(beginLook(look)).toBeNull();
  endLook(look, { from: null, last: undefined, isAll: true }, clock);
  expect(beginLook(look)).toBeNull();
  endLook(look, { from: null, last: at('11:59:00'), isAll: true }, clock);
  expect(beginLook(look)).toBe(at('11:57:00'));
  endLook(look, { from: at('11:57:00'), last: at('11:59:30'), isAll: false }, clock);
  expect(beginLook(look)).toBe(at('11:57:30'));
});

test('an event of a clock that is ahead moves it no further than our clock', () => {
  const look = newLook();
  endLook(look, { from: beginLook(look), last: at('15:00:00'), isAll: true }, clock);
  expect(look.from).toBe(at('11:58:00'));
});

test('it never goes back, unless a look at all events has left some', () => {
  const look = afterNoon();
  const from = at('11:58:00');
  endLook(look, { from, last: at('11:58:01'), isAll: false }, clock);
  endLook(look, { from, last: undefined, isAll: true }, clock);
  // One that was committed late, and the only one.
  endLook(look, { from: null, last: at('09:00:00'), isAll: true }, clock);
  expect(look.from).toBe(from);
  endLook(look, { from: null, last: at('09:00:00'), isAll: false }, clock);
  expect(look.from).toBe(at('08:58:00'));
});

test('every half minute it is at all events, once, even if that fails', () => {
  const look = afterNoon();
  const found = Array.from({ length: 121 }, (_, tick) => {
    widenLook(look, tick);
    return beginLook(look) === null ? tick : null;
  });
  expect(found.filter((tick) => tick !== null)).toEqual([0, 60, 120]);
});
