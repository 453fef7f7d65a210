// Requested attempts (…/retry and …/test) beside very many of another team, with a real worker.
import { expect, test } from 'vitest';
import { hang } from '../support/receiver.ts';
import {
  api,
  receiver,
  rows,
  startWorker,
  useStoredDeliveries,
  writeDeliveries,
} from '../support/stored-deliveries.ts';
import { until } from '../support/until.ts';

useStoredDeliveries();

/** A second, with room for a slow and busy machine. The attempts of the burden take ten. */
const SOON_MS = 5_000;

test.each([600, 3_000])(
  'they are made at once beside %d of another team whose receiver hangs',
  async (count) => {
    receiver.on('/whe_1', hang);
    await writeDeliveries({ prefix: 'a', count });
    await rows(`update webhook_delivery set urgent = true`);
    const [retried] = await writeDeliveries({
      team: 'b',
      endpoint: 'whe_b',
      prefix: 'z',
      count: 1,
    });
    await rows(`update webhook_endpoint set status = 'disabled' where id = 'whe_b'`);
    await startWorker();
    await receiver.arrived('/whe_1', 1);

    const request = async (path: string, attempts: number): Promise<number> => {
      const startedAt = performance.now();
      expect((await api.call(api.key('team_b'), 'POST', path)).status).toBe(202);
      await until(() => receiver.requestsTo('/whe_b').length === attempts);
      return performance.now() - startedAt;
    };
    expect(await request(`/webhook-deliveries/${retried}/retry`, 1)).toBeLessThan(SOON_MS);
    expect(await request('/webhook-endpoints/whe_b/test', 2)).toBeLessThan(SOON_MS);
  },
  20_000,
);
