// The pause of an endpoint whose deliveries all fail: the clock is the test's, all else is real.
import { describe, expect, test } from 'vitest';
import { held, inTurn, status } from '../support/receiver.ts';
import { until } from '../support/until.ts';
import {
  attempted,
  call,
  clock,
  createEndpoint,
  DAY_MS,
  deliver,
  failAgainAfter,
  failing,
  findEndpoint,
  isPaused,
  pause,
  query,
  receiver,
  setActive,
  teamName,
  THREE_DAYS_MS,
  timeOut,
  useWebhookPause,
  type Endpoint,
} from '../support/webhook-pause.ts';

useWebhookPause();

/** Expects the endpoint to be paused after three more days, and not 1 ms earlier. */
async function expectPauseInThreeDays(endpoint: Endpoint): Promise<void> {
  await failAgainAfter(endpoint, THREE_DAYS_MS - 1);
  await pause();
  expect(await isPaused(endpoint)).toBe(false);
  clock.advance(1);
  await pause();
  expect(await isPaused(endpoint)).toBe(true);
}

describe('an endpoint without a successful delivery', () => {
  test('is paused exactly three days after the first failed attempt', async () => {
    const endpoint = await failing();
    await expectPauseInThreeDays(endpoint);
    const { data } = (await call('GET', '/webhook-endpoints')).body;
    expect(data[0]).toMatchObject({
      id: endpoint.id,
      status: 'disabled_failures',
      last_success_at: null,
    });
  });

  test('is paused after its first failure if it has no time', async () => {
    const endpoint = await createEndpoint(status(500));
    await pause(0);
    expect(await isPaused(endpoint)).toBe(false);
    await deliver(endpoint);
    await pause(0);
    expect(await isPaused(endpoint)).toBe(true);
  });

  test('is paused also after timeouts, and after further failures meanwhile', async () => {
    const endpoint = await failing(timeOut);
    const since = (await findEndpoint(endpoint)).failing_since;
    clock.advance(DAY_MS);
    await deliver(endpoint);
    expect((await findEndpoint(endpoint)).failing_since).toBe(since);
    await failAgainAfter(endpoint, 2 * DAY_MS);
    await pause();
    expect(await isPaused(endpoint)).toBe(true);
  });

  test('is paused after ten minutes, if the operator wants that', async () => {
    const MINUTE_MS = 60_000;
    const endpoint = await failing();
    // It fails in the second half of the time, but of an hour only the first failure is known.
    await failAgainAfter(endpoint, MINUTE_MS);
    await failAgainAfter(endpoint, 5 * MINUTE_MS);
    clock.advance(4 * MINUTE_MS - 1);
    await pause(10 * MINUTE_MS);
    expect(await isPaused(endpoint)).toBe(false);
    clock.advance(1);
    await pause(10 * MINUTE_MS);
    expect(await isPaused(endpoint)).toBe(true);
  });

  test('leaves one audit entry of the system', async () => {
    const endpoint = await failing();
    await failAgainAfter(endpoint, THREE_DAYS_MS);
    await pause();
    await pause();
    const audit = `select actor_kind, created_at
      from audit_log
      where team_id = $1 and target_id = $2 and action = 'webhook_endpoint.paused'`;
    expect(await query(audit, [`team_${teamName}`, endpoint.id])).toEqual([
      { actor_kind: 'system', created_at: clock.now().toISOString() },
    ]);
  });
});

describe('an endpoint stays active', () => {
  test('after a success: the three days start again with the next failure', async () => {
    const endpoint = await failing(inTurn(status(500), status(200), status(500)));
    clock.advance(2 * DAY_MS);
    await attempted(endpoint, 2);
    expect(await findEndpoint(endpoint)).toEqual({ status: 'active', failing_since: null });
    clock.advance(2 * DAY_MS);
    await pause();
    expect(await isPaused(endpoint)).toBe(false);
    await deliver(endpoint);
    await expectPauseInThreeDays(endpoint);
  });

  test('for months without events, whether it ever had any or not', async () => {
    const never = await createEndpoint(status(500), ['crm.sync.failed']);
    const once = await createEndpoint(status(200));
    await deliver(once);
    clock.advance(90 * DAY_MS);
    await pause();
    expect(await findEndpoint(never)).toEqual({ status: 'active', failing_since: null });
    expect(await findEndpoint(once)).toEqual({ status: 'active', failing_since: null });
  });

  test('after an outage of all workers, until a new attempt has failed', async () => {
    const answer = held(status(500));
    const endpoint = await failing(inTurn(status(500), answer.behaviour));
    // An attempt that has not ended yet is none, like those of workers that do not run.
    clock.advance(THREE_DAYS_MS);
    await pause();
    expect(await isPaused(endpoint)).toBe(false);
    answer.open();
    await attempted(endpoint, 2);
    await pause();
    expect(await isPaused(endpoint)).toBe(true);
  });

  test('if only test events fail', async () => {
    const endpoint = await createEndpoint(status(500));
    await call('POST', `/webhook-endpoints/${endpoint.id}/test`);
    await attempted(endpoint);
    clock.advance(THREE_DAYS_MS);
    await pause();
    expect(await findEndpoint(endpoint)).toEqual({ status: 'active', failing_since: null });
  });

  test('only by deliveries: a test event that succeeds does not stop the three days', async () => {
    const endpoint = await failing();
    receiver.on(endpoint.path, status(200));
    const { failing_since } = await findEndpoint(endpoint);
    await call('POST', `/webhook-endpoints/${endpoint.id}/test`);
    await attempted(endpoint);
    expect((await findEndpoint(endpoint)).failing_since).toBe(failing_since);
  });

  test('when it is reactivated after it was disabled for long', async () => {
    const endpoint = await failing();
    await call('PATCH', `/webhook-endpoints/${endpoint.id}`, { status: 'disabled' });
    clock.advance(10 * DAY_MS);
    await pause();
    expect((await findEndpoint(endpoint)).status).toBe('disabled');
    await setActive(endpoint);
    await pause();
    expect((await findEndpoint(endpoint)).status).toBe('active');
  });
});

describe('the reactivation of an endpoint', () => {
  test('restarts the three days', async () => {
    const endpoint = await failing();
    await failAgainAfter(endpoint, THREE_DAYS_MS);
    await pause();
    await setActive(endpoint);
    await pause();
    expect(await isPaused(endpoint)).toBe(false);
    await deliver(endpoint);
    await until(async () => (await findEndpoint(endpoint)).failing_since);
    await expectPauseInThreeDays(endpoint);
  });
});
