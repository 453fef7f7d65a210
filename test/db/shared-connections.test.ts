// What becomes of a shared connection that ends. The real ones are in fairness.test.ts.
import { EventEmitter } from 'node:events';
import type pg from 'pg';
import { expect, test, vi } from 'vitest';
import { openSharedConnections } from '../../src/db/connections/shared-connections.ts';

function openClient() {
  return Object.assign(new EventEmitter(), { release: vi.fn<(broken: boolean) => void>() });
}

const nextTurn = (): Promise<void> => new Promise((done) => setImmediate(done));

test('one that ends behind its last answer is given back, when that has been read', async () => {
  const clients = [openClient(), openClient()] as const;
  const left = [...clients];
  const shared = openSharedConnections(async () => left.shift() as unknown as pg.PoolClient, 1);
  const answer = Promise.withResolvers<string>();
  const reading = shared.run(() => answer.promise);
  await nextTurn();
  clients[0].emit('end');
  await nextTurn();
  expect(clients[0].release).not.toHaveBeenCalled();
  answer.resolve('large');
  expect(await reading).toBe('large');
  await nextTurn();
  expect(clients[0].release.mock.calls).toEqual([[true]]);
  expect(await shared.run(async (client) => client)).toBe(clients[1]);
});
