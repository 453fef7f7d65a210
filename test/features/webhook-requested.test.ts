// Requested attempts (…/retry and …/test) beside very many of another team.
import { expect, test } from 'vitest';
import { hang } from '../support/receiver.ts';
import {
  api,
  receiver,
  rows,
  startLoop,
  useStoredDeliveries,
  writeDeliveries,
} from '../support/stored-deliveries.ts';

useStoredDeliveries();

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
    // The attempts of the burden keep their places until the end.
    await startLoop({ timeoutMs: 600_000 });
    await receiver.arrived('/whe_1', 1);

    const request = async (path: string, attempts: number): Promise<void> => {
      expect((await api.call(api.key('team_b'), 'POST', path)).status).toBe(202);
      await receiver.arrived('/whe_b', attempts);
    };
    await request(`/webhook-deliveries/${retried}/retry`, 1);
    await request('/webhook-endpoints/whe_b/test', 2);
  },
);
