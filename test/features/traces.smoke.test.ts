// Traces, from the call that raises an event to the receiver of its delivery: real processes, a
// real receiver of OTLP. Processes send their last spans when they end, so the file makes its calls
// first, ends the processes, and then looks at what has come.
// @module-tag never-repeated
import { beforeAll, describe, expect, test } from 'vitest';
import { createCall, type Call } from '../support/api.ts';
import { startApiProcess, startWorkerProcess } from '../support/processes.ts';
import { appWith, tokenOf } from '../support/app.ts';
import { describeTraining } from '../support/platform.ts';
import { startReceiver, status, type Received, type Receiver } from '../support/receiver.ts';
import { userId } from '../support/seed.ts';
import {
  startTraceReceiver,
  untilSent,
  type ExportedSpan,
  type TraceReceiver,
} from '../support/trace-receiver.ts';
import {
  ALLOWED,
  database,
  invite,
  key,
  traceparentOf,
  useTracedTeam,
} from '../support/traced-team.ts';

const SECRET_EMAIL = 'very.private@a.test';

let receiver: Receiver;

useTracedTeam();

beforeAll(async () => {
  receiver = await startReceiver();
});

function parsed(traceparent: unknown): { traceId: string; spanId: string; flags: string } {
  const [, traceId = '', spanId = '', flags = ''] = String(traceparent).split('-');
  return { traceId, spanId, flags };
}

async function subscribe(call: Call, path: string, type: string): Promise<void> {
  const body = { url: receiver.url + path, events: [type] };
  const made = await call(key, 'POST', '/webhook-endpoints', { body });
  expect(made.status).toBe(201);
}

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
