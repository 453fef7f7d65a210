// The pause of an endpoint to which nothing gets through, on the test's clock: real deliveries to a real receiver, real jobs, and mails to a real server.
import { Logger, runOnce } from 'graphile-worker';
import pino from 'pino';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { pauseSilentEndpoints } from '../../src/features/webhook-endpoints/pause.ts';
import {
  PAUSE_ENDPOINTS,
  WEBHOOK_CRON,
  webhookTasks,
} from '../../src/features/webhook-endpoints/tasks.ts';
import { createMailer } from '../../src/runtime/mail.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { startMailServer, type MailServer } from '../support/mail-server.ts';
import {
  hang,
  inTurn,
  startReceiver,
  status,
  type Behaviour,
  type Receiver,
} from '../support/receiver.ts';
import { makeMember, makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

const clock = fixedClock(new Date('2026-11-02T09:00:00.000Z'));
const DAY_MS = 86_400_000;
const THREE_DAYS_S = 259_200;
const THREE_DAYS_MS = THREE_DAYS_S * 1000;

let api: TestApi;
let receiver: Receiver;
let mail: MailServer;
let name = '';
let teams = 0;

beforeAll(async () => {
  receiver = await startReceiver();
  mail = await startMailServer();
  const makePausing = (team: string) =>
    makeTeam(team, {
      name: `Team „${team}“ & Söhne`,
      language: 'de',
      members: [
        makeMember(team, 'english', { role: 'admin' }),
        makeMember(team, 'invited', { role: 'admin', status: 'invited' }),
        makeMember(team, 'gone', { role: 'admin', status: 'ended' }),
      ],
    });
  const names = Array.from({ length: 20 }, (_, index) => `p${index}`);
  api = await startTestApi({
    seed: makeSeed(names.map(makePausing)),
    clock,
    allowPrivateTargets: true,
  });
  await query(`update member set language = 'en' where email like 'english@%'`);
  await startDeliveries(api, { clock, timeoutMs: 2_000 });
});

beforeEach(() => {
  name = `p${teams}`;
  teams += 1;
});

const call = (method: string, path: string, body?: object) =>
  api.call(api.key(`team_${name}`), method, path, body ? { body } : {});
const query = async (sql: string, values: unknown[] = []) =>
  (await api.db.pool.query(sql, values)).rows;

interface Endpoint {
  readonly id: string;
  readonly path: string;
}

let count = 0;
async function createEndpoint(behaviour: Behaviour, events = ['member.joined']): Promise<Endpoint> {
  const path = `/hook${(count += 1)}`;
  receiver.on(path, behaviour);
  const created = await call('POST', '/webhook-endpoints', { url: receiver.url + path, events });
  return { id: created.body.id, path };
}

const setActive = (endpoint: Endpoint) =>
  call('PATCH', `/webhook-endpoints/${endpoint.id}`, { status: 'active' });
const pause = () => pauseSilentEndpoints(api.db, clock, THREE_DAYS_S);
const find = async (endpoint: Endpoint) => {
  const [row] = await query(
    'select status, failing_since from webhook_endpoint where team_id = $1 and id = $2',
    [`team_${name}`, endpoint.id],
  );
  return row as { status: string; failing_since: string | null };
};
const isPaused = async (endpoint: Endpoint) =>
  (await find(endpoint)).status === 'disabled_failures';

const list = async (endpoint: Endpoint) =>
  (await call('GET', `/webhook-endpoints/${endpoint.id}/deliveries`)).body.data;

/** Until the endpoint's newest delivery has been attempted so often. */
const attempted = (endpoint: Endpoint, attempt = 1) =>
  until(async () => (await list(endpoint))[0]?.attempt >= attempt);

/** Raises an event, and waits for the first attempt of its delivery. */
async function deliver(endpoint: Endpoint): Promise<void> {
  const { length } = await list(endpoint);
  await call('POST', '/users', { email: `someone${(count += 1)}@example.test` });
  await until(async () => {
    const deliveries = await list(endpoint);
    return deliveries.length > length && deliveries[0].attempt > 0;
  });
}

/** An endpoint whose first failure is of this moment. */
async function failing(behaviour: Behaviour = status(500)): Promise<Endpoint> {
  const endpoint = await createEndpoint(behaviour);
  await deliver(endpoint);
  return endpoint;
}

/** Does every job that waits, as the worker would. */
async function runJobs(): Promise<MailServer['received']> {
  const before = mail.received.length;
  const logger = pino({ level: 'silent' });
  const mailer = createMailer(
    { smtpUrl: mail.url, mailFrom: undefined, mailDir: 'unused' },
    logger,
  );
  const taskList = webhookTasks({
    db: api.db,
    clock,
    mailer,
    publicUrl: 'https://api.test',
    pauseAfterS: THREE_DAYS_S,
    wake: () => undefined,
  });
  await runOnce({
    connectionString: api.databaseUrl,
    taskList,
    noHandleSignals: true,
    logger: new Logger(() => () => undefined),
  });
  return mail.received.slice(before).filter(({ to }) => to.endsWith(`@${name}.test`));
}

const recipients = (received: MailServer['received']) =>
  received.map(({ to }) => to.replace(/@.*/, '')).toSorted();

describe('an endpoint without a successful delivery', () => {
  test('is paused three days after the first failed attempt, and not a moment earlier', async () => {
    const endpoint = await failing();
    clock.advance(THREE_DAYS_MS - 1);
    await pause();
    expect(await isPaused(endpoint)).toBe(false);
    clock.advance(1);
    await pause();
    expect(await isPaused(endpoint)).toBe(true);
    const { data } = (await call('GET', '/webhook-endpoints')).body;
    expect(data[0]).toMatchObject({
      id: endpoint.id,
      status: 'disabled_failures',
      last_success_at: null,
    });
  });

  test('is paused whatever the failures were, timeouts too, and however many there were meanwhile', async () => {
    const endpoint = await failing(hang);
    const since = (await find(endpoint)).failing_since;
    clock.advance(DAY_MS);
    await deliver(endpoint);
    expect((await find(endpoint)).failing_since).toBe(since);
    clock.advance(2 * DAY_MS);
    await pause();
    expect(await isPaused(endpoint)).toBe(true);
  });

  test('leaves an audit entry of the service, once', async () => {
    const endpoint = await failing();
    clock.advance(THREE_DAYS_MS);
    await pause();
    await pause();
    const audit = `select actor_kind, created_at from audit_log where team_id = $1 and target_id = $2 and action = 'webhook_endpoint.paused'`;
    expect(await query(audit, [`team_${name}`, endpoint.id])).toEqual([
      { actor_kind: 'system', created_at: clock.now().toISOString() },
    ]);
  });
});

describe('an endpoint goes on', () => {
  test('when one delivery succeeded: the clock stops, and starts anew with the next failure', async () => {
    const endpoint = await failing(inTurn(status(500), status(200), status(500)));
    clock.advance(2 * DAY_MS);
    await attempted(endpoint, 2);
    expect(await find(endpoint)).toEqual({ status: 'active', failing_since: null });
    clock.advance(2 * DAY_MS);
    await pause();
    expect(await isPaused(endpoint)).toBe(false);
    await deliver(endpoint);
    clock.advance(THREE_DAYS_MS - 1);
    await pause();
    expect(await isPaused(endpoint)).toBe(false);
    clock.advance(1);
    await pause();
    expect(await isPaused(endpoint)).toBe(true);
  });

  test('without traffic, for months, whether it ever had any or not', async () => {
    const never = await createEndpoint(status(500), ['crm.sync.failed']);
    const once = await createEndpoint(status(200));
    await deliver(once);
    clock.advance(90 * DAY_MS);
    await pause();
    expect(await find(never)).toEqual({ status: 'active', failing_since: null });
    expect(await find(once)).toEqual({ status: 'active', failing_since: null });
  });

  test('when only test events fail: they say nothing of it', async () => {
    const endpoint = await createEndpoint(status(500));
    await call('POST', `/webhook-endpoints/${endpoint.id}/test`);
    await attempted(endpoint);
    clock.advance(THREE_DAYS_MS);
    await pause();
    expect(await find(endpoint)).toEqual({ status: 'active', failing_since: null });
  });

  test('not when only a test event succeeded', async () => {
    const endpoint = await failing();
    receiver.on(endpoint.path, status(200));
    const { failing_since } = await find(endpoint);
    await call('POST', `/webhook-endpoints/${endpoint.id}/test`);
    await attempted(endpoint);
    expect((await find(endpoint)).failing_since).toBe(failing_since);
  });

  test('when it was disabled by hand, until it is active again', async () => {
    const endpoint = await failing();
    await call('PATCH', `/webhook-endpoints/${endpoint.id}`, { status: 'disabled' });
    clock.advance(10 * DAY_MS);
    await pause();
    expect((await find(endpoint)).status).toBe('disabled');
    await setActive(endpoint);
    await pause();
    expect((await find(endpoint)).status).toBe('active');
  });
});

describe('reactivation', () => {
  test('restarts the three days', async () => {
    const endpoint = await failing();
    clock.advance(THREE_DAYS_MS);
    await pause();
    await setActive(endpoint);
    await pause();
    expect(await isPaused(endpoint)).toBe(false);
    await deliver(endpoint);
    await until(async () => (await find(endpoint)).failing_since);
    clock.advance(THREE_DAYS_MS - 1);
    await pause();
    expect(await isPaused(endpoint)).toBe(false);
    clock.advance(1);
    await pause();
    expect(await isPaused(endpoint)).toBe(true);
  });
});

describe('the mail about a pause', () => {
  /** Paused now, after failing for three days. */
  async function paused(behaviour?: Behaviour): Promise<Endpoint> {
    const endpoint = await failing(behaviour);
    clock.advance(THREE_DAYS_MS);
    await pause();
    expect(await isPaused(endpoint)).toBe(true);
    return endpoint;
  }

  test('goes to the owner and to every active admin, to nobody else, and not again', async () => {
    await paused();
    expect(recipients(await runJobs())).toEqual(['admin', 'english', 'owner']);
    await pause();
    expect(await runJobs()).toEqual([]);
  });

  test("is in each reader's language, and says what failed last and how to switch the endpoint on again", async () => {
    const endpoint = await failing(inTurn(status(500), hang, status(418)));
    clock.advance(60_000);
    await attempted(endpoint, 2);
    clock.advance(300_000);
    await attempted(endpoint, 3);
    clock.set(new Date(Date.parse((await find(endpoint)).failing_since ?? '') + THREE_DAYS_MS));
    const since = (await find(endpoint)).failing_since?.slice(0, 16).replace('T', ' ');
    await pause();
    const received = await runJobs();
    const text = (who: string) => received.find(({ to }) => to === `${who}@${name}.test`)?.text;
    for (const who of ['owner', 'admin']) {
      expect(text(who)).toContain('Guten Tag');
      expect(text(who)).toContain(`Team „${name}“ & Söhne`);
      expect(text(who)).toContain('Zuletzt fehlgeschlagen mit: HTTP 418');
    }
    expect(text('english')).toContain('Hello');
    expect(text('english')).toContain('Last failure: HTTP 418');
    for (const { text: any } of received) {
      expect(any).toContain(since);
      expect(any).toContain(`PATCH /webhook-endpoints/${endpoint.id}`);
      expect(any).toContain('{"status": "active"}');
      expect(any).toContain(`Team „${name}“ & Söhne`);
    }
  });

  test('names the failure that was the last attempt, of whichever delivery', async () => {
    const endpoint = await failing(inTurn(status(500), status(502), status(503)));
    clock.advance(1000);
    await deliver(endpoint);
    // The older delivery is attempted again after the younger one.
    clock.advance(59_000);
    await receiver.arrived(endpoint.path, 3);
    await until(
      async () =>
        (
          await query('select from webhook_delivery where team_id = $1 and response_code = 503', [
            `team_${name}`,
          ])
        ).length === 1,
    );
    await query('update webhook_endpoint set failing_since = $2 where team_id = $1', [
      `team_${name}`,
      new Date(clock.now().getTime() - THREE_DAYS_MS),
    ]);
    await pause();
    expect((await runJobs()).find(({ to }) => to.startsWith('english@'))?.text).toContain(
      'Last failure: HTTP 503',
    );
  });

  test('says in a word why there was no answer', async () => {
    await paused(hang);
    expect((await runJobs()).find(({ to }) => to.startsWith('english@'))?.text).toContain(
      'Last failure: timeout',
    );
  });

  test('is not sent to whom is no admin any more when it is due', async () => {
    await paused();
    expect((await call('PATCH', `/users/mem_${name}_english`, { role: 'member' })).status).toBe(
      200,
    );
    expect((await call('DELETE', `/users/mem_${name}_admin`)).status).toBe(409);
    expect(recipients(await runJobs())).toEqual(['admin', 'owner']);
  });

  test('is not sent when the endpoint was switched on or deleted meanwhile', async () => {
    await setActive(await paused());
    expect(await runJobs()).toEqual([]);
    clock.advance(THREE_DAYS_MS);
    const endpoint = await paused();
    await call('DELETE', `/webhook-endpoints/${endpoint.id}`);
    expect((await runJobs()).filter(({ text }) => text.includes(endpoint.id))).toEqual([]);
  });

  test('is sent once although two jobs pause at the same moment', async () => {
    const endpoint = await failing();
    clock.advance(THREE_DAYS_MS);
    const holder = await api.db.pool.connect();
    await holder.query('begin');
    await holder.query('select from webhook_endpoint where team_id = $1 for update', [
      `team_${name}`,
    ]);
    const racing = Promise.all([pause(), pause()]);
    await until(
      async () =>
        (
          await query(
            `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%disabled_failures%'`,
          )
        ).length === 2,
    );
    await holder.query('rollback');
    holder.release();
    await racing;
    expect(await isPaused(endpoint)).toBe(true);
    expect(recipients(await runJobs())).toEqual(['admin', 'english', 'owner']);
    expect(
      await query(
        `select from audit_log where target_id = $1 and action = 'webhook_endpoint.paused'`,
        [endpoint.id],
      ),
    ).toHaveLength(1);
  });

  test('is sent again when the endpoint is paused again', async () => {
    const endpoint = await paused();
    await runJobs();
    await setActive(endpoint);
    await deliver(endpoint);
    await until(async () => (await find(endpoint)).failing_since);
    clock.advance(THREE_DAYS_MS);
    await pause();
    expect(recipients(await runJobs())).toEqual(['admin', 'english', 'owner']);
  });

  test('comes from a job that looks each minute', () => {
    expect(WEBHOOK_CRON).toMatchObject([{ task: PAUSE_ENDPOINTS, match: '* * * * *' }]);
  });
});
