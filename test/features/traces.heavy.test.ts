// Traces of calls that nobody may begin, and where processes send them: real processes, a real
// receiver of OTLP. `traces.smoke` follows the traces of callers.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { createCall } from '../support/api.ts';
import { startApiProcess } from '../support/processes.ts';
import { SOURCES } from '../support/sources.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { startTraceReceiver, untilSent, type ExportedSpan } from '../support/trace-receiver.ts';
import {
  ALLOWED,
  database,
  invite,
  key,
  traceparentOf,
  useTracedTeam,
} from '../support/traced-team.ts';

useTracedTeam();

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
