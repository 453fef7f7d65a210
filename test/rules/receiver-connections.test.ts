// What becomes of a connection to a receiver when its request ends.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  closeConnections,
  connect,
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
  keep(connections, route, connection);
  expect(routeTo(connections, ORIGIN, ADDRESS).idle).toEqual([connection]);
  vi.advanceTimersByTime(2 * SWEEP_MS);
  expect(connection.client.destroyed).toBe(true);
  expect([connections.open.size, connections.routes.size]).toEqual([0, 0]);
});

test('it is closed if its route was dropped meanwhile: no request would find it', () => {
  const route = routeTo(connections, ORIGIN, ADDRESS);
  const connection = connect(connections, route);
  vi.advanceTimersByTime(SWEEP_MS);
  expect(connections.routes.size).toBe(0);
  keep(connections, route, connection);
  expect(connection.client.destroyed).toBe(true);
  expect(connections.open.size).toBe(0);
});
