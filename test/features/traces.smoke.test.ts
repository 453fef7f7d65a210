// Traces, from the call that raises an event to the receiver of its delivery: real processes, a
// real receiver of OTLP. Processes send their last spans when they end, so each part of the file
// makes its calls first, ends the processes, and then looks at what has come.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCall, loadTestSeed, type Call } from '../support/api.ts';
import { startApiProcess, startWorkerProcess } from '../support/processes.ts';
import { SOURCES } from '../support/sources.ts';
import { appWith, tokenOf } from '../support/app.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeFolder } from '../support/folder.ts';
import { describeTraining } from '../support/platform.ts';
import { findFreePort } from '../support/ports.ts';
import { startReceiver, status, type Received, type Receiver } from '../support/receiver.ts';
import { makeSeed, makeTeam, userId } from '../support/seed.ts';
import {
  startTraceReceiver,
  untilSent,
  type ExportedSpan,
  type TraceReceiver,
} from '../support/trace-receiver.ts';

const SECRET_EMAIL = 'very.private@a.test';

let database: TestDatabase;
let key: string;
let receiver: Receiver;

beforeAll(async () => {
  database = await createTestDatabase();
  receiver = await startReceiver();
  const { teams } = await loadTestSeed(database, makeSeed([makeTeam('a')]));
  key = teams['team_a']?.api_keys['full'] ?? '';
});

afterAll(() => database.drop());

/** A `traceparent` whose ids are made of one digit each. */
function traceparentOf(digit: string, flags = '01'): string {
  return `00-${digit.repeat(32)}-${digit.repeat(16)}-${flags}`;
}

function parsed(traceparent: unknown): { traceId: string; spanId: string; flags: string } {
  const [, traceId = '', spanId = '', flags = ''] = String(traceparent).split('-');
  return { traceId, spanId, flags };
}

async function subscribe(call: Call, path: string, type: string): Promise<void> {
  const body = { url: receiver.url + path, events: [type] };
  const made = await call(key, 'POST', '/webhook-endpoints', { body });
  expect(made.status).toBe(201);
}

/** Invites somebody. With `traceparent`, as a caller that has a trace of its own. */
async function invite(call: Call, email: string, traceparent?: string | string[]): Promise<void> {
  const headers = traceparent === undefined ? {} : { traceparent };
  const made = await call(key, 'POST', '/users', { body: { email }, headers });
  expect(made.status).toBe(201);
}

const ALLOWED = { WEBHOOK_ALLOW_PRIVATE_TARGETS: '1' };

describe('traces of callers', () => {
  /** Every name that an attribute may have. What is new here may hold what nobody should see. */
  const ATTRIBUTES = [
    'db.query.summary',
    'db.system.name',
    'error.type',
    'http.request.method',
    'http.request.resend_count',
    'http.response.status_code',
    'http.route',
    'messaging.destination.name',
    'messaging.message.id',
    'messaging.operation.name',
    'messaging.operation.type',
    'messaging.system',
    'svc.delivery_id',
    'svc.endpoint_id',
    'svc.request_id',
    'svc.team_id',
  ];
  let traces: TraceReceiver;
  let spans: ExportedSpan[];
  let deliveries: Received[];
  let log: string;
  const statuses: number[] = [];

  beforeAll(async () => {
    traces = await startTraceReceiver();
    const env = {
      ...ALLOWED,
      LOG_LEVEL: 'info',
      OTEL_EXPORTER_OTLP_ENDPOINT: traces.url,
      // Only callers decide.
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0',
    };
    const [api, worker] = await Promise.all([
      startApiProcess(database.url, env),
      startWorkerProcess(database.url, env),
    ]);
    const call = createCall(api.url);
    await subscribe(call, '/joined', 'member.joined');
    await subscribe(call, '/ended', 'training.completed');
    receiver.on('/ended', status(503));
    await invite(call, SECRET_EMAIL, traceparentOf('1'));
    await invite(call, 'second@a.test', traceparentOf('2', '00'));
    await invite(call, 'third@a.test');
    for (const [index, malformed] of MALFORMED.entries())
      await invite(call, `malformed${index}@a.test`, malformed);
    const authorization = `Bearer ${await tokenOf({ kind: 'platform', service: 'training' })}`;
    const traceparent = traceparentOf('a');
    const unknown = await fetch(`${api.url}/trpc/${encodeURIComponent(SECRET_EMAIL)},catalog`, {
      headers: { authorization, traceparent },
    });
    statuses.push(unknown.status);
    await appWith(api, {
      authorization,
      traceparent: traceparentOf('3'),
    }).platform.trainings.end.mutate(
      describeTraining('a', 'trn_1', { finished_at: '2026-11-17T09:12:00Z' }),
    );
    const stranger = { headers: { traceparent: traceparentOf('4') } };
    const refused = { headers: { traceparent: traceparentOf('5') }, body: { email: 'no address' } };
    const found = { headers: { traceparent: traceparentOf('6') } };
    for (const response of [
      await call(null, 'GET', '/me', stranger),
      await call(`${key}x`, 'GET', '/me', stranger),
      await call(key, 'POST', '/users', refused),
      await call(key, 'GET', '/webhook-endpoints?limit=7', found),
    ])
      statuses.push(response.status);
    deliveries = [
      ...(await receiver.arrived('/joined', 3 + MALFORMED.length)),
      ...(await receiver.arrived('/ended')),
    ];
    // At a stop they have 2 s, which a busy machine does not always give them.
    await untilSent(
      traces,
      'GET /webhook-endpoints',
      'deliver training.completed',
      'deliver member.joined',
    );
    await Promise.all([api.kill('SIGTERM'), worker.kill('SIGTERM')]);
    log = api.output();
    spans = traces.spans();
  });

  const MALFORMED = [
    'nonsense',
    `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`,
    `ff-${'7'.repeat(32)}-${'7'.repeat(16)}-01`,
    `00-${'7'.repeat(31)}-${'7'.repeat(16)}-01`,
    [traceparentOf('7'), traceparentOf('8')],
    'x'.repeat(8000),
  ];

  const ofTrace = (digit: string): ExportedSpan[] =>
    spans.filter(({ traceId }) => traceId === digit.repeat(32));
  const named = (digit: string, name: string): ExportedSpan => {
    const [span, ...others] = ofTrace(digit).filter((one) => one.name === name);
    if (!span || others.length > 0)
      throw new Error(
        `${name} is not once among ${ofTrace(digit)
          .map((one) => one.name)
          .join()}`,
      );
    return span;
  };
  const deliveryOf = (digit: string): Received => {
    const ofIt = deliveries.filter(
      ({ headers }) => parsed(headers['traceparent']).traceId === digit.repeat(32),
    );
    const [delivery] = ofIt;
    if (!delivery || ofIt.length > 1) throw new Error(`${ofIt.length} deliveries of ${digit}`);
    return delivery;
  };

  test('lead from the request over its statements and its event to the receiver', () => {
    const request = named('1', 'POST /users');
    expect(request).toMatchObject({
      service: 'team-customer-api',
      kind: 'server',
      parentId: '1'.repeat(16),
      isError: false,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/users',
        'http.response.status_code': 201,
        'svc.team_id': 'team_a',
      },
    });
    for (const name of ['http.authenticate', 'outbox.recordWithEvent', 'transactions.commit']) {
      const statement = named('1', name);
      expect(statement).toMatchObject({ kind: 'client', parentId: request.spanId });
      expect(statement.startNs).toBeGreaterThanOrEqual(request.startNs);
      expect(statement.endNs).toBeGreaterThanOrEqual(statement.startNs);
      expect(statement.endNs).toBeLessThanOrEqual(request.endNs);
    }
    const event = named('1', 'create member.joined');
    expect(event).toMatchObject({ kind: 'producer', parentId: request.spanId });
    const attempt = named('1', 'deliver member.joined');
    expect(attempt).toMatchObject({
      service: 'team-customer-worker',
      kind: 'client',
      parentId: event.spanId,
      attributes: { 'http.response.status_code': 200, 'svc.team_id': 'team_a' },
    });
    const { headers } = deliveryOf('1');
    expect(parsed(headers['traceparent'])).toEqual({
      traceId: '1'.repeat(32),
      spanId: attempt.spanId,
      flags: '01',
    });
    expect(attempt.attributes['messaging.message.id']).toBe(headers['svc-event-id']);
    expect(log).toContain(`"trace":"${'1'.repeat(32)}"`);
  });

  test('lead from a call of the host application, too', () => {
    const request = named('3', 'POST /trpc/platform.trainings.end');
    const event = named('3', 'create training.completed');
    const attempt = named('3', 'deliver training.completed');
    expect(request.parentId).toBe('3'.repeat(16));
    expect([event.parentId, attempt.parentId]).toEqual([request.spanId, event.spanId]);
    expect(parsed(deliveryOf('3').headers['traceparent']).spanId).toBe(attempt.spanId);
    expect(attempt.isError).toBe(true);
    expect(attempt.attributes).toMatchObject({
      'http.response.status_code': 503,
      'error.type': '503',
      'http.request.resend_count': 0,
    });
  });

  test('tell the code of a refusal', () => {
    expect(statuses.slice(3)).toEqual([422, 200]);
    expect(named('5', 'POST /users')).toMatchObject({
      isError: false,
      attributes: { 'http.response.status_code': 422, 'error.type': 'validation_error' },
    });
  });

  test('name no procedure that there is not', () => {
    expect(statuses[0]).toBe(404);
    expect(ofTrace('a').map(({ name }) => name)).toEqual(['GET /trpc/unknown']);
  });

  test('tell what Prisma sends', () => {
    expect(named('6', 'prisma.select').parentId).toBe(named('6', 'GET /webhook-endpoints').spanId);
  });

  test('pass on what a caller does not trace itself, and record none of it', () => {
    expect(ofTrace('2')).toEqual([]);
    expect(deliveryOf('2').headers['traceparent']).toBe(traceparentOf('2', '00'));
  });

  test('do not begin without a wish, nor by a malformed one', () => {
    const traced = ['1', '3', '5', '6', 'a'].map((digit) => digit.repeat(32));
    expect([...new Set(spans.map(({ traceId }) => traceId))].toSorted()).toEqual(traced);
    const without = deliveries.filter(({ headers }) => headers['traceparent'] === undefined);
    expect(without).toHaveLength(1 + MALFORMED.length);
  });

  test('do not begin by the wish of a stranger', () => {
    expect(statuses.slice(1, 3)).toEqual([401, 401]);
    expect(ofTrace('4')).toEqual([]);
  });

  test('hold no value, no key and nothing of a person', () => {
    const sent = traces.text();
    expect(sent).toContain('svc.team_id');
    const names = new Set(spans.flatMap(({ attributes }) => Object.keys(attributes)));
    expect([...names].filter((name) => !ATTRIBUTES.includes(name))).toEqual([]);
    const values = [SECRET_EMAIL, 'private', 'a.test', 'no address', userId('a', 'member'), key];
    const parts = [...values, key.slice(-20), receiver.url, 'svck_live', 'whsec_', 'select '];
    expect(parts.filter((part) => sent.includes(part))).toEqual([]);
  });
});

describe('traces of strangers', () => {
  let spans: ExportedSpan[];
  let log: string;

  beforeAll(async () => {
    const traces = await startTraceReceiver();
    const api = await startApiProcess(database.url, {
      LOG_LEVEL: 'info',
      OTEL_EXPORTER_OTLP_ENDPOINT: traces.url,
      OTEL_TRACES_SAMPLER: 'parentbased_always_on',
    });
    const call = createCall(api.url);
    const by = (digit: string, flags?: string) => ({
      headers: { traceparent: traceparentOf(digit, flags) },
    });
    await call(null, 'GET', '/me', by('1'));
    await call(`${key}x`, 'GET', '/me', by('2', '00'));
    await fetch(`${api.url}/trpc/v1.me.get`, by('3'));
    await fetch(`${api.url}/trpc/v1.me.get`, by('4', '00'));
    await call(key, 'GET', '/users', by('5', '00'));
    // The read of a key that the process knows begins before its authentication has ended.
    await call(key, 'GET', '/users', by('6'));
    await untilSent(traces, 'GET /users');
    await api.kill('SIGTERM');
    log = api.output();
    spans = traces.spans();
  });

  test('are their own, whatever they ask for', () => {
    const roots = spans.filter(({ kind, traceId }) => kind === 'server' && traceId !== SIX);
    const names = ['GET /me', 'GET /me', 'GET /trpc', 'GET /trpc'];
    expect(roots.map(({ name, parentId }) => [name, parentId])).toEqual(
      names.map((name) => [name, null]),
    );
    const given = roots.filter(({ traceId }) => new Set(traceId).size === 1);
    expect(given).toEqual([]);
    expect(new Set(roots.map(({ traceId }) => traceId)).size).toBe(4);
    for (const { traceId } of roots.slice(0, 2)) expect(log).toContain(`"trace":"${traceId}"`);
    expect(log).not.toMatch(/"trace":"([1-5])\1{31}"/);
  });

  test('have what was told before anybody knew who calls, and leave nothing apart', () => {
    const ids = new Set(spans.map(({ spanId }) => spanId));
    const apart = spans.filter(({ parentId }) => parentId !== null && !ids.has(parentId));
    expect(apart.map(({ name, traceId }) => [name, traceId])).toEqual([['GET /users', SIX]]);
    const counts = Object.groupBy(spans, ({ name }) => name);
    expect(counts['http.authenticate']).toHaveLength(3);
    expect(counts['http.authenticateCaller']).toHaveLength(2);
    const [list] = counts['members.list'] ?? [];
    expect(list?.traceId).toBe(SIX);
  });

  const SIX = '6'.repeat(32);
});

describe.concurrent('a process', () => {
  test('without an address loads, stores and sends nothing of it', async () => {
    const coverage = await makeFolder('coverage');
    // At its end, Node writes down which files it has loaded.
    const env = { ...ALLOWED, NODE_V8_COVERAGE: coverage };
    const api = await startApiProcess(database.url, env, SOURCES);
    await invite(createCall(api.url), 'untraced@a.test', traceparentOf('9'));
    await api.kill('SIGTERM');
    const [report = ''] = await readdir(coverage);
    const loaded = await readFile(join(coverage, report), 'utf8');
    expect(loaded).toContain('src/runtime/tracing.ts');
    expect(loaded).not.toContain('open-telemetry.ts');
    expect(loaded).not.toContain('@opentelemetry/sdk-trace');
    const client = new Client({ connectionString: database.url });
    await client.connect();
    const { rows } = await client.query(
      `select id from event where traceparent like '%${'9'.repeat(32)}%'`,
    );
    await client.end();
    expect(rows).toEqual([]);
  });

  test('with a token in a file sends it to the receiver of traces', async () => {
    const folder = await makeFolder('traces');
    const file = join(folder, 'headers');
    await writeFile(file, 'authorization=Bearer%20of-the-collector,x-tenant=a\n');
    const traces = await startTraceReceiver();
    const api = await startApiProcess(database.url, {
      ...ALLOWED,
      OTEL_EXPORTER_OTLP_ENDPOINT: traces.url,
      OTEL_EXPORTER_OTLP_HEADERS_FILE: file,
    });
    expect((await createCall(api.url)(key, 'GET', '/me')).status).toBe(200);
    await untilSent(traces, 'GET /me');
    expect(await api.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    const [sent] = traces.headers();
    expect(sent).toMatchObject({ authorization: 'Bearer of-the-collector', 'x-tenant': 'a' });
    expect(api.output()).not.toContain('of-the-collector');
  });

  test('with an address that nobody has serves and stops as ever', async () => {
    const endpoint = `http://127.0.0.1:${await findFreePort()}`;
    const env = { ...ALLOWED, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint };
    const api = await startApiProcess(database.url, env);
    const call = createCall(api.url);
    for (let count = 0; count < 20; count += 1)
      expect((await call(key, 'GET', '/users')).status).toBe(200);
    expect(await api.kill('SIGTERM')).toEqual({ code: 0, signal: null });
    expect(api.output()).toContain('traces could not be sent');
  });
});
