// What happens when one of several workers ends, as real processes.
// @module-tag never-repeated
import { describe, expect, test } from 'vitest';
import { hang, held, inTurn, status } from '../support/receiver.ts';
import { until } from '../support/until.ts';
import {
  client,
  countDeliveries,
  countListeners,
  receiver,
  seedEndpoints,
  startWorker,
  useWebhookWorkers,
  writeAbandoned,
  writeDeliveries,
  writeEvents,
} from '../support/webhook-workers.ts';

useWebhookWorkers();

describe('a worker that ends', () => {
  test.each([
    ['that it found', () => writeDeliveries(1)],
    ['that it inserted', () => writeEvents(1)],
  ])(
    'when it is killed, another worker makes the attempts %s, and not before',
    async (_, write) => {
      const paths = await seedEndpoints(15);
      for (const path of paths) receiver.on(path, inTurn(hang, status(200)));
      await write();
      const victim = await startWorker();
      await until(() => receiver.requests.length === 15);
      // It lives and does nothing, so the other one makes all deliveries from now on.
      void victim.kill('SIGSTOP');
      await startWorker();
      // The other one takes unclaimed deliveries, and leaves alone those that the first one has.
      for (const count of [16, 17, 18]) {
        await writeAbandoned(`evt_late_${count}`);
        await until(() => receiver.requests.length >= count);
        expect(receiver.requests).toHaveLength(count);
      }
      await victim.kill('SIGKILL');
      await until(() => receiver.requests.length === 33);
      await until(
        async () =>
          (await countDeliveries(`status = 'ok' and attempt = 1 and claimed_by is null`)) === 18,
      );
      await until(async () => (await client.query('select from event_in_hand')).rowCount === 0);
    },
  );

  test('when it is stopped, it ends attempts in flight and releases its other claims', async () => {
    const paths = await seedEndpoints(5);
    const gate = held(status(200));
    for (const path of paths) receiver.on(path, gate.behaviour);
    await writeDeliveries(50);
    const worker = await startWorker();
    await until(() => receiver.requests.length === 5);
    // The two job runners, and the worker itself.
    await until(async () => (await countListeners()) === 3);
    const ended = worker.kill('SIGTERM');
    // It has handled the signal once it no longer listens.
    await until(async () => (await countListeners()) === 0);
    await until(async () => (await countDeliveries('claimed_by is not null')) === 5);
    gate.open();
    expect(await ended).toEqual({ code: 0, signal: null });
    expect(receiver.requests).toHaveLength(5);
    expect(await countDeliveries(`status = 'ok'`)).toBe(5);
    expect(await countDeliveries(`status = 'pending' and claimed_by is null`)).toBe(245);
  });
});
