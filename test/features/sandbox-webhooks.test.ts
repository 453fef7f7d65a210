// What is played with the webhook endpoints of a sandbox: real receivers, and real workers.
import { beforeAll, describe, expect, it } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { startWorkerProcess } from '../support/processes.ts';
import { startReceiver, status, type Receiver } from '../support/receiver.ts';
import { openSandbox } from '../support/sandbox.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

/** The first seven waits of the real schedule, in seconds. */
const DELAYS_S = [60, 300, 1800, 7200, 21_600, 43_200, 86_400];
const ENV = {
  WEBHOOK_ALLOW_PRIVATE_TARGETS: '1',
  WEBHOOK_RETRY_DELAYS_S: DELAYS_S.map((delayS) => delayS / 20).join(','),
};

type Json = Record<string, unknown>;
let api: TestApi;
let receiver: Receiver;

beforeAll(async () => {
  api = await startTestApi({
    allowPrivateTargets: true,
    seed: makeSeed([makeTeam('a'), makeTeam('b'), makeTeam('c')]),
  });
  receiver = await startReceiver();
});

/** A sandbox with an endpoint at this path. */
async function openWithEndpoint(team: string, path: string) {
  const key = await openSandbox(api, team);
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

describe('with a worker', () => {
  beforeAll(async () => {
    await startWorkerProcess(api.databaseUrl, ENV);
  });

  it('gets the events of a training one after the other, signed', async () => {
    const { play } = await openWithEndpoint('a', '/ordered');
    await play({ play: 'training_completed', delay_s: 1, score: 64 });
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
    expect(await delivery('attempt >= 2')).toMatchObject({
      status: 'retrying',
      response_code: 503,
      error: 'simulated',
    });
    expect(receiver.requestsTo('/failing')).toEqual([]);
    const sandbox = await call('GET', '/sandbox');
    expect(Date.parse(String(sandbox['receivers_fail_until']))).toBeGreaterThan(Date.now());
    await play({ play: 'webhooks_failing', for_s: 0 });
    expect(await receiver.arrived('/failing')).toHaveLength(1);
    expect(await delivery(`status = 'ok'`)).toMatchObject({ response_code: 200, error: null });
  });

  it('plays seven failures, and an eighth, in no time', async () => {
    receiver.on('/broken', status(500, 'no'));
    const { call, play, delivery } = await openWithEndpoint('c', '/broken');
    expect(await call('PATCH', '/sandbox', { speed: 1000 })).toMatchObject({ speed: 1000 });
    const startedAt = performance.now();
    await play({ play: 'member_left' });
    const broken = await delivery(`status = 'gave_up'`);
    const tookMs = performance.now() - startedAt;
    console.info(`eight attempts took ${Math.round(tookMs)} ms at 20,000 times the schedule`);
    expect(broken).toMatchObject({ attempt: 8, response_code: 500 });
    expect(receiver.requestsTo('/broken')).toHaveLength(8);
    // All waits together, so fast, are eight seconds.
    expect(tookMs).toBeGreaterThan(7_900);
  });
});

describe('a worker that is killed', () => {
  it('leaves the score to the next one', async () => {
    const own = await startTestApi({
      allowPrivateTargets: true,
      seed: makeSeed([makeTeam('a')]),
    });
    const key = await openSandbox(own, 'a');
    const worker = await startWorkerProcess(own.databaseUrl, ENV);
    const played = await own.call(key, 'POST', '/sandbox/simulate', {
      body: { play: 'training_completed', delay_s: 600 },
    });
    const id = String((played.body as Json)['training_id']);
    const isHandedOver = async () =>
      (
        await own.db.pool.query(
          `select from graphile_worker.jobs where task_identifier = 'score_sandbox_training'`,
        )
      ).rowCount === 1;
    await until(isHandedOver);
    await worker.kill('SIGKILL');
    const evaluation = () => own.call(key, 'GET', `/trainings/${id}/evaluation`);
    expect((await evaluation()).status).toBe(404);
    await own.db.pool.query('update graphile_worker._private_jobs set run_at = now()');
    await startWorkerProcess(own.databaseUrl, ENV);
    await until(async () => (await evaluation()).status === 200);
    expect((await evaluation()).body).toMatchObject({ score: { total: 71 } });
  });
});
