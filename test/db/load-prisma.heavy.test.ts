// The first call of Prisma in a process that is ready keeps no other request waiting.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { bySocket, createTestDatabase } from '../support/database.ts';
import type { FirstPrisma } from './first-prisma.ts';

/** Three tries, because a collection of all garbage may fall into one of the figures. */
const TRIES = { retry: 2 };

test('what the first call of Prisma would cost is done by loadPrisma', TRIES, async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const thread = new Worker(new URL('first-prisma.ts', import.meta.url), {
    workerData: bySocket(database.url),
  });
  onTestFinished(() => void thread.terminate());
  const [{ loadMs, findMs, updateMs }] = (await once(thread, 'message')) as [FirstPrisma];
  expect(findMs).toBeLessThan(loadMs / 7);
  expect(updateMs).toBeLessThan(loadMs / 7);
});
