// What is played with the webhook endpoints of a sandbox: real receivers, and the test's clock.
import { beforeAll, describe, expect, it } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { sandboxTasks } from '../../src/features/sandbox/tasks.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { RETRY_DELAYS_S, startDeliveries } from '../support/deliveries.ts';
import { runJobsOnce } from '../support/jobs.ts';
import { startReceiver, status, type Receiver } from '../support/receiver.ts';
import { openSandbox } from '../support/sandbox.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

const clock = fixedClock(new Date());

type Json = Record<string, unknown>;
let api: TestApi;
let receiver: Receiver;

beforeAll(async () => {
  api = await startTestApi({
    allowPrivateTargets: true,
    clock,
    seed: makeSeed([makeTeam('a'), makeTeam('b'), makeTeam('c')]),
  });
  receiver = await startReceiver();
  await startDeliveries(api, { clock });
});

/** A sandbox with an endpoint at this path. */
async function openWithEndpoint(team: string, path: string) {
  const key = await openSandbox(api, team, 'typical', clock.now());
  const call = async (method: string, at: string, body?: unknown): Promise<Json> => {
    const response = await api.call(key, method, at, { ...(body !== undefined && { body }) });
    if (response.status >= 300) throw new Error(`${method} ${at} → ${response.text}`);
    return response.body as Json;
  };
  const { id } = await call('POST', '/webhook-endpoints', {
    url: receiver.url + path,
    events: ['training.completed', 'evaluation.completed', 'member.removed'],
  });
  const play = (body: Json) => call('POST', '/sandbox/simulate', body);
  /** The only delivery, once it is so. The API would count each look, and a sandbox has few. */
  const delivery = async (condition: string): Promise<Json> => {
    const values = [`team_${team}:sandbox`];
    const text = `select from webhook_delivery where team_id = $1 and ${condition}`;
    await until(async () => (await api.db.pool.query(text, values)).rowCount === 1);
    const list = await call('GET', `/webhook-endpoints/${String(id)}/deliveries`);
    return (list['data'] as Json[])[0] ?? {};
  };
  return { call, play, delivery };
}

describe('a sandbox', () => {
  it('gets the events of a training one after the other, signed', async () => {
    const { play } = await openWithEndpoint('a', '/ordered');
    await play({ play: 'training_completed', delay_s: 1, score: 64 });
    await receiver.arrived('/ordered', 1);
    clock.advance(1_000);
    await api.db.pool.query('update pending_job set run_at = now()');
    await runJobsOnce(api, sandboxTasks(api.db, clock));
    const received = await receiver.arrived('/ordered', 2);
    const bodies = received.map(({ body }) => JSON.parse(body.toString()) as Json);
    expect(bodies.map(({ type }) => type)).toEqual(['training.completed', 'evaluation.completed']);
    expect(bodies[1]).toMatchObject({ data: { score: 64, team_id: 'team_a:sandbox' } });
    const [first, second] = bodies.map((body) => Date.parse(String(body['created_at'])));
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(1_000);
    for (const { headers } of received) expect(headers['svc-signature']).toBeDefined();
  });

  it('fails without being asked, and recovers by the schedule', async () => {
    const { call, play, delivery } = await openWithEndpoint('b', '/failing');
    await call('PATCH', '/sandbox', { speed: 10 });
    await play({ play: 'webhooks_failing' });
    await play({ play: 'member_left' });
    await delivery('attempt = 1');
    clock.advance(6_000);
    expect(await delivery('attempt = 2')).toMatchObject({
      status: 'retrying',
      response_code: 503,
      error: 'simulated',
    });
    expect(receiver.requestsTo('/failing')).toEqual([]);
    const sandbox = await call('GET', '/sandbox');
    expect(Date.parse(String(sandbox['receivers_fail_until']))).toBeGreaterThan(
      clock.now().getTime(),
    );
    await play({ play: 'webhooks_failing', for_s: 0 });
    clock.advance(30_000);
    expect(await receiver.arrived('/failing')).toHaveLength(1);
    expect(await delivery(`status = 'ok'`)).toMatchObject({ response_code: 200, error: null });
  });

  it('plays seven failures, and an eighth, in no time', async () => {
    receiver.on('/broken', status(500, 'no'));
    const { call, play, delivery } = await openWithEndpoint('c', '/broken');
    expect(await call('PATCH', '/sandbox', { speed: 1000 })).toMatchObject({ speed: 1000 });
    await play({ play: 'member_left' });
    for (const [index, delayS] of RETRY_DELAYS_S.entries()) {
      const { next_try_at } = await delivery(`attempt = ${index + 1}`);
      // A second is a millisecond.
      expect(Date.parse(String(next_try_at))).toBe(clock.now().getTime() + delayS);
      clock.advance(delayS);
    }
    const broken = await delivery(`status = 'gave_up'`);
    expect(broken).toMatchObject({ attempt: 8, response_code: 500 });
    expect(receiver.requestsTo('/broken')).toHaveLength(8);
  });
});
