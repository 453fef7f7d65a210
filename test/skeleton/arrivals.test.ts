// In which turns of the event loop new connections begin.
import type { Socket } from 'node:net';
import { expect, test } from 'vitest';
import { createArrivals, WAITING_MAX } from '../../src/runtime/arrivals.ts';
import { nextTurn } from '../support/turns.ts';

const MANY = '203.0.113.1';
const OTHER = '203.0.113.2';

/** Tells how many connections of each address have begun, by a clock that the test moves. */
function openArrivals() {
  const begun = new Map<string | undefined, number>();
  const clock = { ms: 0 };
  const turnedAway: Socket[] = [];
  const arrive = createArrivals({
    begin: ({ remoteAddress }) => begun.set(remoteAddress, (begun.get(remoteAddress) ?? 0) + 1),
    turnAway: (socket) => turnedAway.push(socket),
    clock: { monotonicMs: () => clock.ms },
  });
  const open = (count: number, remoteAddress: string): Socket[] => {
    const sockets = Array.from({ length: count }, () => ({ remoteAddress }) as Socket);
    for (const socket of sockets) arrive(socket);
    return sockets;
  };
  return { open, clock, turnedAway, countOf: (address: string) => begun.get(address) ?? 0 };
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
  await nextTurn();
  open(1, OTHER);
  await nextTurn();
  expect([countOf(MANY), countOf(OTHER)]).toEqual([2, 1]);
});

test('while connections come, of many of an address one begins in 2 ms', async () => {
  const { open, clock, countOf } = openArrivals();
  open(100, MANY);
  for (let ms = 1; ms <= 10; ms += 1) {
    open(1, MANY);
    clock.ms = ms;
    await nextTurn();
    open(1, OTHER);
    await nextTurn();
    expect([countOf(MANY), countOf(OTHER)]).toEqual([Math.floor(ms / 2), ms]);
  }
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

test('of ten thousand of an address 8000 wait, and nobody else loses one or waits', async () => {
  const { open, turnedAway, countOf } = openArrivals();
  const many = open(10_000, MANY);
  open(8, OTHER);
  // The newest ones, and eight for those of the other address.
  expect(turnedAway).toHaveLength(10_008 - WAITING_MAX);
  expect(new Set(turnedAway)).toEqual(new Set(many.slice(WAITING_MAX - 8)));
  await nextTurn();
  expect([countOf(MANY), countOf(OTHER)]).toEqual([0, 8]);
  for (let turns = 0; turns < WAITING_MAX - 8; turns += 1) await nextTurn();
  expect(countOf(MANY)).toBe(WAITING_MAX - 8);
  expect(turnedAway).toHaveLength(10_008 - WAITING_MAX);
});
