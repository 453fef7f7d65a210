// What becomes of a connection to a receiver when its request ends.
import { Socket } from 'node:net';
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
import { newAnswer, post } from '../../src/delivery/request.ts';
import { steppedClock } from '../support/clocks.ts';

const ORIGIN = 'http://receiver.test:8080';
const ADDRESSES = [{ address: '127.0.0.1', family: 4 }];
/** The pool looks for unused connections as often as it keeps them. */
const SWEEP_MS = 15_000;

let clock: ReturnType<typeof steppedClock>;
let connections: Connections;
beforeEach(() => {
  clock = steppedClock(new Date());
  connections = newConnections(10_000, KEEP_ALIVE_MS, clock);
});
afterEach(async () => {
  await closeConnections(connections);
});

test('it is kept for the next request of its route, and closed if none comes', () => {
  const route = routeTo(connections, ORIGIN, ADDRESSES);
  const connection = connect(connections, route);
  keep(connections, route, connection);
  expect(routeTo(connections, ORIGIN, ADDRESSES).idle).toEqual([connection]);
  clock.advance(2 * SWEEP_MS);
  expect(connection.client.destroyed).toBe(true);
  expect([connections.open.size, connections.routes.size]).toEqual([0, 0]);
});

test('it is kept if its route had no other one while the pool looked for unused ones', () => {
  const route = routeTo(connections, ORIGIN, ADDRESSES);
  const connection = connect(connections, route);
  clock.advance(SWEEP_MS);
  keep(connections, route, connection);
  expect(routeTo(connections, ORIGIN, ADDRESSES).idle).toEqual([connection]);
  expect(connection.client.destroyed).toBe(false);
});

test('its route goes with the last one', () => {
  const route = routeTo(connections, ORIGIN, ADDRESSES);
  const used = [connect(connections, route), connect(connections, route)];
  for (const connection of used) discard(connections, route, connection);
  clock.advance(SWEEP_MS);
  expect([connections.open.size, connections.routes.size]).toEqual([0, 0]);
});

test('it is closed if its server sends TLS tickets without end', async () => {
  const socket = new Socket();
  const route = routeTo(connections, ORIGIN, ADDRESSES);
  const { client } = connect(connections, {
    ...route,
    connect: (_options, done) => done(null, socket),
  });
  const deadline = { isOver: false, abort: null };
  const request = { path: '/', headers: {}, body: '', readMaxBytes: 1, deadline };
  const posted = post(client, request, newAnswer());
  await vi.waitUntil(() => socket.listenerCount('session') > 0);
  const ticket = Buffer.from('a ticket');
  for (let sent = 0; sent < 20; sent += 1) socket.emit('session', ticket);
  expect(socket.destroyed).toBe(false);
  socket.emit('session', ticket);
  expect(socket.destroyed).toBe(true);
  await expect(posted).rejects.toMatchObject({ code: 'UND_ERR_RES_EXCEEDED_MAX_SIZE' });
});
