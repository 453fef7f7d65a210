// What becomes of a connection to a receiver when its request ends.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  closeConnections,
  connect,
  discard,
  keep,
  KEEP_ALIVE_MS,
  newConnections,
  routeTo,
  type Connections,
} from '../../src/delivery/connections.ts';

const ORIGIN = 'http://receiver.test:8080';
const ADDRESS = { address: '127.0.0.1', family: 4 } as const;
/** The pool looks for unused connections as often as it keeps them. */
const SWEEP_MS = 15_000;

let connections: Connections;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
  connections = newConnections(10_000, KEEP_ALIVE_MS);
});
afterEach(async () => {
  await closeConnections(connections);
  vi.useRealTimers();
});

test('it is kept for the next request of its route, and closed if none comes', () => {
  const route = routeTo(connections, ORIGIN, ADDRESS);
  const connection = connect(connections, route);
  keep(route, connection);
  expect(routeTo(connections, ORIGIN, ADDRESS).idle).toEqual([connection]);
  vi.advanceTimersByTime(2 * SWEEP_MS);
  expect(connection.client.destroyed).toBe(true);
  expect([connections.open.size, connections.routes.size]).toEqual([0, 0]);
});

test('it is kept if its route had no other one while the pool looked for unused ones', () => {
  const route = routeTo(connections, ORIGIN, ADDRESS);
  const connection = connect(connections, route);
  vi.advanceTimersByTime(SWEEP_MS);
  keep(route, connection);
  expect(routeTo(connections, ORIGIN, ADDRESS).idle).toEqual([connection]);
  expect(connection.client.destroyed).toBe(false);
});

test('its route goes with the last one', () => {
  const route = routeTo(connections, ORIGIN, ADDRESS);
  const used = [connect(connections, route), connect(connections, route)];
  for (const connection of used) discard(connections, route, connection);
  vi.advanceTimersByTime(SWEEP_MS);
  expect([connections.open.size, connections.routes.size]).toEqual([0, 0]);
});
