// In which turns of the event loop new connections begin.
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createArrivals } from '../../src/runtime/arrivals.ts';

const MANY = '203.0.113.1';
const OTHER = '203.0.113.2';

/** Tells how many connections of each address have begun, by a clock that the test moves. */
function openArrivals() {
  const begun = new Map<string | undefined, number>();
  const clock = { ms: 0 };
  const arrive = createArrivals(
    ({ remoteAddress }) => begun.set(remoteAddress, (begun.get(remoteAddress) ?? 0) + 1),
    () => clock.ms,
  );
  const open = (count: number, remoteAddress: string): void => {
    for (let n = 0; n < count; n += 1) arrive({ remoteAddress } as Socket);
  };
  return { open, clock, countOf: (address: string) => begun.get(address) ?? 0 };
}

test('a few begin in the turn in which they came', async () => {
  const { open, countOf } = openArrivals();
  open(8, MANY);
  open(1, OTHER);
  await nextTurn();
  expect([countOf(MANY), countOf(OTHER)]).toEqual([8, 1]);
});

test('of many of an address one begins in a turn, and nobody else waits for them', async () => {
  const { open, countOf } = openArrivals();
  open(100, MANY);
  await nextTurn();
  await nextTurn();
  open(1, OTHER);
  await nextTurn();
  expect([countOf(MANY), countOf(OTHER)]).toEqual([3, 1]);
});

test('more of them begin after a long turn, and all in the end', async () => {
  const { open, clock, countOf } = openArrivals();
  open(100, MANY);
  clock.ms += 20;
  await nextTurn();
  expect(countOf(MANY)).toBe(10);
  await nextTurn();
  expect(countOf(MANY)).toBe(11);
  for (let turns = 0; turns < 100 - 11 - 8 + 1; turns += 1) await nextTurn();
  expect(countOf(MANY)).toBe(100);
  open(20, MANY);
  clock.ms += 1_000;
  await nextTurn();
  expect(countOf(MANY)).toBe(120);
});
