// Workers whose clocks are not the database's, by which the API here goes.
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { pauseSilentEndpoints } from '../../src/features/webhook-endpoints/pause.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { clockAhead } from '../support/clocks.ts';
import { startDeliveries, type Deliveries } from '../support/deliveries.ts';
import { startReceiver, status, type Receiver } from '../support/receiver.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';
import { until } from '../support/until.ts';

let api: TestApi;
let receiver: Receiver;
let worker: Deliveries | null = null;
let names = 0;

beforeAll(async () => {
  receiver = await startReceiver();
  api = await startTestApi({
    seed: makeSeed([makeFullTeam('a', { webhook_endpoints: [] })]),
    clock: systemClock,
    allowPrivateTargets: true,
  });
});

afterEach(async () => {
  await worker?.stop();
  worker = null;
  await query('delete from webhook_delivery');
  await query('delete from webhook_endpoint');
});

const query = async (sql: string, values: unknown[] = []) =>
  (await api.db.pool.query<Record<string, unknown>>(sql, values)).rows;

const call = async (method: string, path: string, body: object) =>
  (await api.call(api.key('team_a'), method, path, { body })).body;

async function createEndpoint(code: number): Promise<{ id: string; path: string }> {
  names += 1;
  const path = `/hook${names}`;
  receiver.on(path, status(code));
  const wanted = { url: receiver.url + path, events: ['member.joined'] };
  return { id: (await call('POST', '/webhook-endpoints', wanted)).id, path };
}

/** Lets a worker attempt the delivery of an event, and resolves with its row. */
async function attempt(aheadMs: number, attempts = 1): Promise<Record<string, unknown>> {
  worker = await startDeliveries(api, { clock: clockAhead(aheadMs) });
  await call('POST', '/users', { email: `someone${(names += 1)}@example.test` });
  return until(async () => {
    const [row] = await query(
      `select next_try_at between now() + interval '50 s' and now() + interval '60 s' as is_in_time,
         last_attempt_at between now() - interval '10 s' and now() as is_dated
       from webhook_delivery where attempt >= $1`,
      [attempts],
    );
    return row ?? null;
  });
}

describe.each([
  ['ahead', 20_000],
  ['behind', -20_000],
])('a worker whose clock is 20 s %s', (_where, aheadMs) => {
  test('dates attempts, and those to come, by the clock of the database', async () => {
    await createEndpoint(500);
    expect(await attempt(aheadMs)).toEqual({ is_in_time: true, is_dated: true });
  });

  test('notes the failures since an endpoint was set to active', async () => {
    const { id } = await createEndpoint(500);
    await call('PATCH', `/webhook-endpoints/${id}`, { status: 'disabled' });
    await call('PATCH', `/webhook-endpoints/${id}`, { status: 'active' });
    await attempt(aheadMs);
    const [row] = await query(
      `select failing_since between activated_at and now() as is_dated from webhook_endpoint`,
    );
    expect(row).toEqual({ is_dated: true });
  });

  test('attempts again what the database says is due, and nothing else', async () => {
    const [due, later] = [await createEndpoint(500), await createEndpoint(500)];
    await attempt(0);
    await worker?.stop();
    const dueIn = (seconds: number, { id }: { readonly id: string }) =>
      query(
        `update webhook_delivery set next_try_at = now() + $1 * interval '1 s'
         where endpoint_id = $2`,
        [seconds, id],
      );
    await dueIn(-0.1, due);
    await dueIn(15, later);
    await attempt(aheadMs, 2);
    // Stops after the results of all that it has claimed are written.
    await worker?.stop();
    expect(
      await query(
        `select endpoint_id as id, max(attempt) as attempts
         from webhook_delivery group by endpoint_id order by endpoint_id <> $1`,
        [due.id],
      ),
    ).toEqual([
      { id: due.id, attempts: 2 },
      { id: later.id, attempts: 1 },
    ]);
  });

  test('signs with an earlier secret until the end that the database says', async () => {
    const { id, path } = await createEndpoint(200);
    await call('POST', `/webhook-endpoints/${id}/rotate-secret`, { grace_s: 15 });
    await attempt(aheadMs);
    const [request] = await receiver.arrived(path);
    expect(String(request?.headers['svc-signature']).match(/v1=/g)).toHaveLength(2);
  });

  test('pauses an endpoint after three days of the database', async () => {
    const failsSince = async (seconds: number): Promise<string> => {
      const { id } = await createEndpoint(500);
      await query(
        `update webhook_endpoint
         set failing_since = now() - $2 * interval '1 s', hourly_failures = array[now()]
         where id = $1`,
        [id, seconds],
      );
      return id;
    };
    const [longer] = [await failsSince(3_610), await failsSince(3_590)];
    await pauseSilentEndpoints(api.db, clockAhead(aheadMs), 3_600);
    const paused = await query(
      `select id, paused_at between now() - interval '10 s' and now() as is_dated
       from webhook_endpoint where status = 'disabled_failures'`,
    );
    expect(paused).toEqual([{ id: longer, is_dated: true }]);
  });
});
