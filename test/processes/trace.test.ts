// Where a webhook is: from the id of a request, an event, a delivery, an endpoint or a team to the
// last attempt, and why something waits. API, workers and receivers are real; each state is made
// as it comes to be.
import { Client } from 'pg';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { newRequestId } from '../../src/core/ids.ts';
import { openDatabase, type Database } from '../../src/db/connections/database.ts';
import { PLACES_LOCK_CLASS } from '../../src/delivery/places-store.ts';
import { pauseSilentEndpoints } from '../../src/features/webhook-endpoints/pause.ts';
import { failNow } from '../../src/features/crm/sync/service.ts';
import type { TraceResult } from '../../src/trace/view.ts';
import { formatTrace } from '../../src/trace/text.ts';
import { createCall, loadTestSeed, type Call } from '../support/api.ts';
import { startApiProcess, startWorkerProcess, type RunningProcess } from '../support/processes.ts';
import { appAsMember, appAsPlatform } from '../support/app.ts';
import { createTestDatabase, isOnCitus, type TestDatabase } from '../support/database.ts';
import { hang, raw, startReceiver, status, type Receiver } from '../support/receiver.ts';
import { openSandbox } from '../support/sandbox.ts';
import { makeFullTeam, makeSeed, makeTeam, memberId } from '../support/seed.ts';
import { runTrace } from '../support/trace-command.ts';
import { codesOf, traceOf } from '../support/trace.ts';
import { until } from '../support/until.ts';

/** Processes start slowly on a busy machine. */
const NO_LOCKERS = 'Who holds a lock on a row is not looked up on Citus.';
const SECRET_TITLE = 'Nobody else may read this title';

let database: TestDatabase;
let db: Database;
let client: Client;
let receiver: Receiver;
let api: RunningProcess & { readonly url: string };
let call: Call;
let key: string;
let workers: RunningProcess[] = [];

beforeAll(async () => {
  receiver = await startReceiver();
  database = await createTestDatabase();
  const seeded = await loadTestSeed(
    database,
    makeSeed([makeTeam('a'), makeFullTeam('b'), makeTeam('c')]),
  );
  key = seeded.teams['team_a']?.api_keys['full'] ?? '';
  db = openDatabase({ url: database.url, poolMax: 4, onError: () => undefined });
  client = new Client({ connectionString: database.url });
  await client.connect();
  api = await startApiProcess(database.url, { WEBHOOK_ALLOW_PRIVATE_TARGETS: '1' });
  call = createCall(api.url);
  return async () => {
    await api.kill('SIGKILL');
    await client.end();
    await db.close();
    await database.drop();
  };
});

beforeEach(async () => {
  for (const table of ['webhook_delivery', 'event_in_hand', 'event', 'webhook_endpoint'])
    await client.query(`delete from ${table} where team_id = 'team_a'`);
});

afterEach(async () => {
  await client.query('rollback');
  await Promise.all(workers.map((worker) => worker.kill('SIGKILL')));
  workers = [];
});

async function startWorker(env: Record<string, string> = {}): Promise<RunningProcess> {
  const worker = await startWorkerProcess(database.url, {
    WEBHOOK_ALLOW_PRIVATE_TARGETS: '1',
    WEBHOOK_TIMEOUT_MS: '600000',
    ...env,
  });
  workers.push(worker);
  return worker;
}

/** Creates an endpoint at this path, and resolves with its id. */
async function createEndpoint(
  path: string,
  events: readonly string[] = ['assignment.created'],
): Promise<string> {
  const url = receiver.url + path;
  const created = await call(key, 'POST', '/webhook-endpoints', { body: { url, events } });
  expect(created.status).toBe(201);
  return String((created.body as { id: string }).id);
}

/** Creates an assignment, and resolves with the id of the request. */
async function assign(headers: Record<string, string> = {}): Promise<string> {
  const created = await call(key, 'POST', '/assignments', {
    body: {
      member_id: memberId('a', 'member'),
      title: SECRET_TITLE,
      situation_id: 'sit_cold',
      personality_id: 'per_calm',
      industry_id: 'ind_saas',
    },
    headers,
  });
  expect(created.text).toContain('"id"');
  return String(created.headers['x-request-id']);
}

/** Asks until what it is asked about has come to be. */
function traced(
  id: string,
  isThere: (result: TraceResult) => boolean = ({ found }) => found,
): Promise<TraceResult> {
  return until(async () => {
    const result = await traceOf(db, id);
    return isThere(result) ? result : null;
  });
}

const hasReason = (code: string) => (result: TraceResult) =>
  codesOf([...result.events, ...result.deliveries, ...result.endpoints]).includes(code);
const isLogged = ({ requests }: TraceResult): boolean => requests.length > 0;
const codes = (reasons: TraceResult['notes']) => reasons.map(({ code }) => code);

describe('a request whose receiver fails', () => {
  test('is followed to its last attempt, by each id of the way', async () => {
    receiver.on('/fails', status(500, 'a body that nobody may read'));
    const endpointId = await createEndpoint('/fails');
    await startWorker();
    const requestId = await assign();
    const result = await traced(
      requestId,
      (one) => isLogged(one) && hasReason('next_attempt')(one),
    );
    const [request] = result.requests;
    const [entry] = result.audit;
    const [event] = result.events;
    const [delivery] = result.deliveries;
    expect(request).toMatchObject({ route: '/assignments', method: 'POST', status: 201 });
    expect(entry).toMatchObject({ action: 'assignment.created', request_id: requestId });
    expect(event).toMatchObject({ type: 'assignment.created', request_id: requestId });
    expect(delivery).toMatchObject({ status: 'retrying', attempts_made: 1, worker: null });
    expect(delivery?.attempts).toMatchObject([{ attempt: 1, response_code: 500, error: null }]);
    expect(delivery?.why[0]?.text).toMatch(/^Attempt 2 is due at .+ \(in .+\)\. The last: 500 in/);
    expect(result.teams).toEqual([{ id: 'team_a', status: 'active', is_sandbox: false, why: [] }]);

    for (const id of [event?.id ?? '', delivery?.id ?? '']) {
      const same = await traceOf(db, id);
      expect(same.requests).toEqual(result.requests);
      expect(same.audit).toEqual(result.audit);
      expect(same.events).toMatchObject([{ id: event?.id }]);
      expect(same.deliveries).toMatchObject([{ id: delivery?.id, status: 'retrying' }]);
    }
    for (const id of [endpointId, 'team_a']) {
      const around = await traceOf(db, id);
      expect(around.deliveries).toMatchObject([{ id: delivery?.id }]);
      expect(around.endpoints).toMatchObject([
        { id: endpointId, waiting: { requested: 0, first: 0, retries: 1, is_cut: false } },
      ]);
    }
  });

  test('is told by the command as text and as JSON, without anything personal', async () => {
    receiver.on('/fails', status(500, 'a body that nobody may read'));
    const endpointId = await createEndpoint('/fails?token=secret');
    receiver.on('/fails?token=secret', status(500, 'a body that nobody may read'));
    await startWorker();
    const requestId = await assign();
    const { events, deliveries } = await traced(requestId, hasReason('next_attempt'));
    const text = await runTrace(database.url, requestId.toUpperCase());
    expect(text.code).toBe(0);
    for (const part of [requestId, endpointId, events[0]?.id, deliveries[0]?.id, 'attempt 1: 500'])
      expect(text.output).toContain(part);
    const json = await runTrace(
      database.url,
      '--json',
      deliveries[0]?.id ?? '',
      '--team',
      'team_a',
    );
    expect(json.code).toBe(0);
    expect(JSON.parse(json.output)).toMatchObject({
      found: true,
      deliveries: [{ attempts_made: 1 }],
    });
    const ofTeam = await runTrace(database.url, 'team_a');
    expect(ofTeam.output).toContain(deliveries[0]?.id);
    for (const { output } of [text, json, ofTeam])
      for (const secret of [SECRET_TITLE, 'nobody may read', 'token=secret', '@a.test', 'Team a'])
        expect(output).not.toContain(secret);
  });

  test('is found among thousands of teams, and again with none of them named', async () => {
    await client.query(
      `insert into team (id, name, created_at)
       select 'many_' || lpad(i::text, 5, '0'), 'M', now() from generate_series(1, 4500) i`,
    );
    const requestId = await assign();
    try {
      const result = await traced(requestId, isLogged);
      expect(result.teams.map(({ id }) => id)).toEqual(['team_a']);
      expect((await traceOf(db, requestId, { teamId: 'many_00001' })).found).toBe(false);
      expect((await traceOf(db, requestId, { teamId: 'team_a' })).found).toBe(true);
    } finally {
      await client.query(`delete from team where id like 'many_%'`);
    }
  });
});

describe('a delivery waits', () => {
  test('in the hands of a worker, until that worker is dead', async () => {
    receiver.on('/hangs', hang);
    await createEndpoint('/hangs');
    const worker = await startWorker();
    const requestId = await assign();
    await receiver.arrived('/hangs');
    const alive = await traced(requestId, hasReason('claimed'));
    expect(alive.workers).toContain(alive.deliveries[0]?.worker);
    await worker.kill('SIGKILL');
    const dead = await traced(requestId, hasReason('claimed_by_dead_worker'));
    expect(dead.deliveries[0]?.worker).toBe(alive.deliveries[0]?.worker);
    expect(codesOf(dead.deliveries)).toEqual(['no_worker', 'claimed_by_dead_worker']);
    // Another worker takes it over, and another receiver answers.
    receiver.on('/hangs', status(200));
    await startWorker();
    const done = await traced(requestId, hasReason('delivered'));
    expect(done.deliveries[0]?.attempts).toMatchObject([{ attempt: 1, response_code: 200 }]);
  });

  test('because the endpoint is at its own limit', async () => {
    receiver.on('/slow', hang);
    const endpointId = await createEndpoint('/slow');
    await startWorker();
    await assign();
    await receiver.arrived('/slow');
    const requestIds = await Promise.all([assign(), assign()]);
    // Until both have been fanned out.
    const result = await traced(
      requestIds[0] ?? '',
      ({ deliveries, endpoints }) =>
        deliveries[0]?.why[0]?.code === 'endpoint_at_limit' && endpoints[0]?.waiting.first === 2,
    );
    expect(result.deliveries[0]?.why[0]?.text).toMatch(/worker \d+ has 1 in hand, and 2 wait/);
    expect(result.endpoints).toMatchObject([
      { id: endpointId, in_hand: [{ worker: result.workers[0], count: 1 }] },
    ]);
  });

  test('because the endpoint is disabled, and says by whom', async () => {
    receiver.on('/off', status(500));
    const endpointId = await createEndpoint('/off');
    await startWorker();
    const requestId = await assign();
    await traced(requestId, hasReason('next_attempt'));
    const off = await call(key, 'PATCH', `/webhook-endpoints/${endpointId}`, {
      body: { status: 'disabled' },
    });
    const result = await traceOf(db, requestId);
    expect(codesOf(result.deliveries)).toEqual(['endpoint_disabled']);
    expect(result.deliveries[0]?.why[0]?.text).toMatch(/by api_key key_\w+ at /);
    expect(result.deliveries[0]?.why[0]?.text).toContain(off.headers['x-request-id']);
    // What happens meanwhile gets no delivery.
    const meanwhile = await traced(await assign(), hasReason('endpoint_not_active_then'));
    expect(meanwhile.deliveries).toEqual([]);
  });

  test('because the endpoint was paused after failures', async () => {
    receiver.on('/broken', status(503));
    await createEndpoint('/broken');
    await startWorker();
    const requestId = await assign();
    await traced(requestId, hasReason('next_attempt'));
    expect(await pauseSilentEndpoints(db, systemClock, 0)).toBe(1);
    const result = await traceOf(db, requestId);
    expect(codesOf(result.deliveries)).toEqual(['endpoint_disabled_failures']);
    expect(result.deliveries[0]?.why[0]?.text).toMatch(/by system worker at .+ has failed since/);
  });

  test('because somebody has locked its row, and nobody waits', async ({ skip }) => {
    skip(isOnCitus(), NO_LOCKERS);
    receiver.on('/locked', status(500));
    await createEndpoint('/locked');
    // The row is locked before it is due, also by a busy machine.
    await startWorker({ WEBHOOK_RETRY_DELAYS_S: '10,600' });
    const requestId = await assign();
    const waiting = await traced(requestId, hasReason('next_attempt'));
    await client.query('begin');
    await client.query(`select from team where id = 'team_a' for update`);
    await client.query('select from webhook_delivery where id = $1 for update', [
      waiting.deliveries[0]?.id,
    ]);
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    const result = await traced(requestId, (one) => codesOf(one.deliveries)[0] === 'row_locked');
    expect(result.deliveries[0]?.why[0]?.text).toContain(`session ${rows[0]?.pid} `);
  });

  test('no more: it was given up, or its endpoint is gone', async () => {
    receiver.on('/never', raw('hello\r\n\r\n'));
    const endpointId = await createEndpoint('/never');
    const worker = await startWorker({ WEBHOOK_RETRY_DELAYS_S: '0' });
    const requestId = await assign();
    const result = await traced(requestId, hasReason('gave_up'));
    expect(result.deliveries[0]).toMatchObject({ attempts_made: 2 });
    expect(result.deliveries[0]?.why[0]?.text).toMatch(
      /^Given up after 2 attempts; the last: invalid_response in .+ \(what came back is not/,
    );
    expect(result.deliveries[0]?.attempts.map(({ attempt }) => attempt)).toEqual([1, 2]);
    // The job that removes the rows of its deliveries waits for another worker.
    await worker.kill('SIGKILL');
    await call(key, 'DELETE', `/webhook-endpoints/${endpointId}`);
    expect(codesOf((await traceOf(db, requestId)).deliveries)).toEqual(['endpoint_deleted']);
  });

  test('for an attempt that was requested, while no worker is alive', async () => {
    const endpointId = await createEndpoint('/tested');
    const tested = await call(key, 'POST', `/webhook-endpoints/${endpointId}/test`);
    const requestId = String(tested.headers['x-request-id']);
    const result = await traced(requestId, hasReason('attempt_requested'));
    expect(result.events).toMatchObject([{ type: 'ping', request_id: requestId }]);
    expect(codesOf(result.deliveries)).toEqual(['attempt_requested', 'no_worker']);
  });
});

describe('an event waits', () => {
  test('for a worker, then for nothing', async () => {
    await createEndpoint('/quick');
    const requestId = await assign();
    const result = await traced(requestId, hasReason('fan_out_waits'));
    expect(codesOf(result.events)).toEqual(['no_worker', 'fan_out_waits']);
    expect(result.workers).toEqual([]);
    await startWorker();
    const done = await traced(
      requestId,
      (one) => hasReason('delivered')(one) && one.events[0]?.has_place === true,
    );
    expect(codesOf(done.events)).toEqual([]);
  });

  test('because somebody has locked the endpoint', async ({ skip }) => {
    skip(isOnCitus(), NO_LOCKERS);
    const endpointId = await createEndpoint('/held');
    await startWorker();
    await client.query('begin');
    await client.query('select from webhook_endpoint where id = $1 for update', [endpointId]);
    // While the worker tries, it has locked the event itself for a moment.
    const expected = ['row_locked', 'fan_out_waits'];
    const result = await traced(
      await assign(),
      (one) => codesOf(one.events).join() === expected.join(),
    );
    expect(codesOf(result.events)).toEqual(expected);
  });

  test('for its place, while another session gives places to its team', async () => {
    await client.query('begin');
    await client.query(`select pg_advisory_xact_lock($1, hashtext('team_a'))`, [PLACES_LOCK_CLASS]);
    await createEndpoint('/placed');
    await startWorker();
    const result = await traced(
      await assign(),
      (one) => hasReason('place_waits')(one) && hasReason('delivered')(one),
    );
    expect(codesOf(result.events)).toEqual(['place_waits']);
  });

  test('for nobody, because no endpoint subscribes', async () => {
    await createEndpoint('/others', ['member.joined']);
    await startWorker();
    const result = await traced(await assign(), hasReason('no_subscriber'));
    expect(result.events[0]?.why[0]?.text).toContain('None of the team');
  });
});

describe('a request', () => {
  const noted = async (requestId: string): Promise<string[]> =>
    codes((await traced(requestId, isLogged)).notes);

  test('that was refused, one that read, one that was repeated', async () => {
    const refused = await call(key, 'POST', '/assignments', { body: {} });
    const read = await call(key, 'GET', '/users');
    const once = { 'idempotency-key': newRequestId() };
    const first = await assign(once);
    const again = await assign(once);
    expect(again).not.toBe(first);
    const result = await traced(String(refused.headers['x-request-id']), isLogged);
    expect(result.notes).toMatchObject([{ code: 'request_refused' }]);
    expect(result.notes[0]?.text).toContain('422 validation_error');
    expect(await noted(String(read.headers['x-request-id']))).toEqual(['request_read']);
    expect(await noted(again)).toEqual(['request_wrote_nothing']);
  });

  test('that changed something without an event', async () => {
    const endpointId = await createEndpoint('/renamed');
    const changed = await call(key, 'PATCH', `/webhook-endpoints/${endpointId}`, {
      body: { description: 'x' },
    });
    expect(await noted(String(changed.headers['x-request-id']))).toEqual([
      'request_raised_no_event',
    ]);
  });

  test('of the app, of the host application, of a job and of a simulation', async () => {
    const newest = async (teamId: string, action: string): Promise<string> => {
      const { rows } = await client.query<{ request_id: string }>(
        `select request_id from audit_log where team_id = $1 and action = $2
         order by created_at desc limit 1`,
        [teamId, action],
      );
      return rows[0]?.request_id ?? '';
    };
    const app = await appAsMember(api, 'a', 'owner');
    await app.admin.apiKeys.create.mutate({ name: 'made', scopes: ['users:read'] as never });
    const byApp = await traceOf(db, await newest('team_a', 'api_key.created'));
    expect(codes(byApp.notes)).toEqual(['by_the_app', 'request_raised_no_event']);

    const { platform } = await appAsPlatform(api);
    await platform.teams.update.mutate({ team_id: 'team_c', status: 'suspended' });
    const byPlatform = await traceOf(db, await newest('team_c', 'team.updated'));
    expect(codes(byPlatform.notes)).toEqual(['by_the_platform', 'request_raised_no_event']);
    expect(codesOf(byPlatform.teams)).toEqual(['team_suspended']);

    await failNow(db, systemClock, { teamId: 'team_b', connectionId: 'crm_b' }, 'unauthorized');
    const byJob = await traceOf(db, await newest('team_b', 'crm_connection.sync_failed'));
    expect(codes(byJob.notes)).toEqual(['by_a_job']);
    expect(byJob.events).toMatchObject([{ type: 'crm.sync.failed', team_id: 'team_b' }]);

    const testKey = await openSandbox(api, 'b');
    const played = await call(testKey, 'POST', '/sandbox/simulate', {
      body: { play: 'webhooks_failing' },
    });
    expect(played.status).toBe(200);
    const simulated = await traced(String(played.headers['x-request-id']), isLogged);
    expect(simulated.teams).toMatchObject([{ id: 'team_b:sandbox', is_sandbox: true }]);
    expect(codesOf(simulated.teams)).toEqual(['receivers_fail']);
    const trained = await call(testKey, 'POST', '/sandbox/simulate', {
      body: { play: 'training_completed', delay_s: 0 },
    });
    const { events } = await traced(String(trained.headers['x-request-id']));
    expect(events.map(({ type }) => type).toSorted()).toEqual([
      'evaluation.completed',
      'training.completed',
    ]);
    expect((await traceOf(db, 'team_b:sandbox')).teams).toMatchObject([{ is_sandbox: true }]);
  });
});

describe('the command', () => {
  test.each([
    [newRequestId(), /looks like the id of a request that came at .+Z\.[^]*seven|7 days/],
    ['evt_01jc4f9d000000000000000000', /Nothing is found/],
    ['aud_01jc4f9d000000000000000000', /the id of another thing \(auditEntry\)/],
    ['req_1', /of a request a UUID/],
  ])('exits 2 for %s, which nothing has', async (id, says) => {
    const { code, output } = await runTrace(database.url, id);
    expect(code).toBe(2);
    expect(output.replaceAll(/\s+/g, ' ')).toMatch(says);
  });

  test.each([
    ['without an id', []],
    ['with two ids', ['team_a', 'team_b']],
    ['with an option that it does not have', ['--everything', 'team_a']],
  ])('exits 64 %s', async (_what, args) => {
    const { code, output } = await runTrace(database.url, ...args);
    expect(code).toBe(64);
    expect(output).toMatch(/Usage|Unknown option/);
  });

  test('exits 1 without a database, and names the setting', async () => {
    const { code, output } = await runTrace('nowhere', 'team_a');
    expect([code, output]).toEqual([1, expect.stringContaining('DATABASE_URL is required')]);
  });

  test('shows ids that hold control characters without obeying them', async () => {
    const result = await traceOf(db, 'team_a\u001b[2J');
    expect(formatTrace(result, 80)).not.toContain('\u001b');
    const { output } = await runTrace(database.url, 'team_a\u007f\u009b2J', '--json');
    expect(output).not.toMatch(/[^\P{Cc}\n]/u);
    expect(JSON.parse(output)).toMatchObject({ id: 'team_a\u007f\u009b2J', found: false });
  });
});
