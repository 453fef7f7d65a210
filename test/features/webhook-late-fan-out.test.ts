// An endpoint that is paused between an event and its fan-out: no worker runs meanwhile.
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { pauseEndpoints } from '../../src/features/webhook-endpoints/pause.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { startReceiver, status, type Receiver } from '../support/receiver.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';
import { until } from '../support/until.ts';

const clock = fixedClock(new Date('2026-11-02T09:00:00.000Z'));

let api: TestApi;
let receiver: Receiver;
beforeAll(async () => {
  const teams = ['disabled', 'disabled_failures', 'again'].map((name) =>
    makeFullTeam(name, { webhook_endpoints: [] }),
  );
  receiver = await startReceiver();
  api = await startTestApi({ seed: makeSeed(teams), clock, allowPrivateTargets: true });
});

const call = (team: string, method: string, path: string, body?: object) =>
  api.call(api.key(team), method, path, { body });

/** Creates an endpoint of the team, at a path of its name. */
async function createEndpoint(team: string): Promise<string> {
  receiver.on(`/${team}`, status(200));
  const body = { url: `${receiver.url}/${team}`, events: ['member.joined'] };
  return (await call(team, 'POST', '/webhook-endpoints', body)).body.id;
}

let names = 0;
/** Raises `member.joined`, and lets time pass. */
async function raise(team: string): Promise<void> {
  await call(team, 'POST', '/users', { email: `someone${(names += 1)}@example.test` });
  clock.advance(1);
}

/** Pauses the endpoint in this way, and lets time pass. */
async function pause(team: string, id: string, to: string): Promise<void> {
  if (to === 'disabled')
    await call(team, 'PATCH', `/webhook-endpoints/${id}`, { status: 'disabled' });
  else {
    const failingSince = clock.now();
    await api.db.pool.query(
      `update webhook_endpoint set failing_since = $3, hourly_failures = array[$3::timestamptz]
       where team_id = $1 and id = $2`,
      [team, id, failingSince],
    );
    const silence = { failingUntil: failingSince, failedAfter: failingSince };
    await pauseEndpoints(api.db, { ...silence, clock, requestId: 'r' });
  }
  clock.advance(1);
}

/** Starts a worker, and resolves when it has fanned out all events of the team. */
async function fanOut(team: string): Promise<void> {
  const worker = await startDeliveries(api, { clock });
  onTestFinished(() => worker.stop());
  await until(async () => {
    const { rows } = await api.db.pool.query(
      'select from event where team_id = $1 and fanned_out_at is null',
      [team],
    );
    return rows.length === 0;
  });
}

const read = async (team: string, id: string) => {
  const { body } = await call(team, 'GET', `/webhook-endpoints/${id}`);
  const list = await call(team, 'GET', `/webhook-endpoints/${id}/deliveries`);
  return { status: body.status, deliveries: list.body.data };
};

test.each(['disabled', 'disabled_failures'])(
  '%s: what happened before is sent when the endpoint is active again, and nothing else',
  async (state) => {
    const team = `team_${state}`;
    const id = await createEndpoint(team);
    await raise(team);
    await pause(team, id, state);
    await raise(team);
    await fanOut(team);
    const waiting = { status: 'pending', attempt: 0 };
    expect(await read(team, id)).toMatchObject({ status: state, deliveries: [waiting] });
    expect(receiver.requestsTo(`/${team}`)).toEqual([]);

    await call(team, 'PATCH', `/webhook-endpoints/${id}`, { status: 'active' });
    await until(async () => (await read(team, id)).deliveries[0].status === 'ok');
    expect(receiver.requestsTo(`/${team}`)).toHaveLength(1);
    expect((await read(team, id)).deliveries).toHaveLength(1);
  },
);

test('an endpoint that is paused already is not paused anew', async () => {
  const team = 'team_again';
  const id = await createEndpoint(team);
  await pause(team, id, 'disabled');
  await raise(team);
  await pause(team, id, 'disabled');
  await fanOut(team);
  expect(await read(team, id)).toMatchObject({ status: 'disabled', deliveries: [] });
});
