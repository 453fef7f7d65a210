// The runbook speaks of every alert and every metric of ours.
import { readFile } from 'node:fs/promises';
import type { AnyProcedure } from '@trpc/server';
import { Client, Pool } from 'pg';
import { describe, expect, onTestFinished, test } from 'vitest';
import { LIMITS } from '../../src/core/limits.ts';
import { fewestToShare } from '../../src/db/connections/division.ts';
import { CHECKS } from '../../src/doctor/checks.ts';
import { ENDPOINTS } from '../../src/routers/endpoints.ts';
import { appRouter } from '../../src/routers/routers.ts';
import { WAITING_MAX } from '../../src/runtime/arrivals.ts';
import { CONNECTION_LIMITS } from '../../src/runtime/connections.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import { NOT_READY } from '../../src/runtime/readiness.ts';
import {
  JOBS_POOL_MAX,
  RUNNER_POOL_MAX,
  WORKER_CONNECTIONS_MAX,
} from '../../src/runtime/worker-connections.ts';
import { createWorkerMetrics } from '../../src/runtime/worker-metrics.ts';
import { createTestDatabase } from '../support/database.ts';
import { jobIdOf } from '../support/jobs.ts';

const MUTATIONS = Object.entries(
  appRouter._def.procedures as unknown as Record<string, AnyProcedure>,
).flatMap(([name, { _def }]) => (_def.type === 'mutation' ? [name] : []));

const folder = new URL('../../scripts/deploy/', import.meta.url);
const read = (name: string): Promise<string> => readFile(new URL(name, folder), 'utf8');

/** The queries of an alert's page, which stand in a line of it. */
async function readQueries(alert: string): Promise<string[]> {
  const page = (await read('README.md')).split(`\n### ${alert}\n`)[1]?.split('\n### ')[0] ?? '';
  return [...page.matchAll(/`(select [^`]+)`/g)].map(([, text = '']) => text);
}

/** A panel of the dashboard: what it says, and the first figure that it asks for. */
async function readPanel(title: string): Promise<{ description: string; expr: string }> {
  const { panels } = JSON.parse(await read('grafana/dashboard.json')) as {
    panels: { title: string; description?: string; targets?: { expr: string }[] }[];
  };
  const panel = panels.find((one) => one.title === title);
  return { description: panel?.description ?? '', expr: panel?.targets?.[0]?.expr ?? '' };
}

describe('the runbook', () => {
  test('has a page for each alert, and no other', async () => {
    const files = ['alerts.yml', 'slo.yml', 'postgres.yml'];
    const rules = await Promise.all(files.map((file) => read(`prometheus/${file}`)));
    const alerts = [...rules.join('\n').matchAll(/- alert: (\w+)/g)];
    const section = (await read('README.md')).split(/^## Alerts$/m)[1]?.split(/^## /m)[0] ?? '';
    const pages = [...section.matchAll(/^### (\w+)$/gm)];
    expect(alerts.length).toBeGreaterThan(10);
    expect(pages.map(([, name]) => name)).toEqual(alerts.map(([, name]) => name));
  });

  test('looks at each error budget in the same way, whatever the window', async () => {
    const rules = (await read('prometheus/slo.yml')).split('- record: ').slice(1);
    const texts = rules.flatMap((rule) => {
      const [name = '', window] = /^slo:errors:ratio(\w+)/.exec(rule) ?? [];
      if (window === undefined) return [];
      const [text = ''] = rule.slice(name.length).split('\n\n');
      return [text.trim().replaceAll(`[${window}]`, '[window]')];
    });
    const budgets = new Set(texts);
    expect([...budgets].map((text) => /slo: (\w+)/.exec(text)?.[1])).toEqual([
      'availability',
      'latency',
      'webhooks',
    ]);
    expect(texts).toHaveLength(7 * budgets.size);
  });

  test('explains each metric of ours', async () => {
    const waiting = () => ({ statements: 0, slowStatements: 0, transactions: 0 });
    const api = createMetrics(() => ({ pool: new Pool(), waiting }));
    const worker = createWorkerMetrics(
      () => ({ pool: new Pool() }),
      () => Promise.reject(new Error('not asked')),
    );
    const names = [api, worker]
      .flatMap(({ registry }) => registry.getMetricsAsArray())
      .map(({ name }) => name)
      .filter((name) => !/^(?:nodejs|process)_/.test(name));
    const explained = [...(await read('README.md')).matchAll(/^\| `(\w+)` +\|/gm)];
    expect(explained.map(([, name]) => name)).toEqual(expect.arrayContaining(names));
  });

  test('counts the connections of a worker, and so does the README', async () => {
    const [runbook, readme] = await Promise.all([read('README.md'), read('../../README.md')]);
    expect(runbook).toContain(`a worker as many and ${WORKER_CONNECTIONS_MAX} more`);
    expect(readme).toMatch(new RegExp(`up to ${WORKER_CONNECTIONS_MAX} connections\\s+besides`));
    expect(runbook).toContain(`\`jobs\` (at most ${JOBS_POOL_MAX})`);
    expect(runbook).toContain(`\`runner\` and \`mail_runner\` (${RUNNER_POOL_MAX} each)`);
  });

  test('the README counts the connections that a process holds for callers', async () => {
    const most = CONNECTION_LIMITS.openMax + WAITING_MAX;
    expect(await read('../../README.md')).toContain(`holds up to ${most} connections`);
  });

  test('says with how many connections no team waits, and so does the README', async () => {
    const [runbook, readme] = await Promise.all([read('README.md'), read('../../README.md')]);
    expect(runbook).toContain(`With fewer than ${fewestToShare()}, a team can hold all`);
    expect(readme).toContain(`from ${fewestToShare()} on no team waits for another`);
  });

  test('explains each limit that a refusal names', async () => {
    const [, rest = ''] = (await read('README.md')).split('\n### Which limit refuses\n');
    const rows = rest.split('\n## ')[0]?.matchAll(/^\| `(\w+)` +\| ([^|]+?) +\|$/gm) ?? [];
    expect(Object.fromEntries([...rows].map(([, name, is]) => [name, is]))).toEqual(LIMITS);
  });

  test('says what to do for each reason of /readyz, and the README lists them', async () => {
    const [runbook, readme] = await Promise.all([read('README.md'), read('../../README.md')]);
    const page = runbook.split('\n### ApiUnavailable\n')[1]?.split('\n### ')[0] ?? '';
    const rows = [...page.matchAll(/^\| `(\w+)` +\|/gm)].map(([, reason]) => reason);
    // A process that drains is well: ApiNotReady speaks of it.
    expect(new Set([...rows, 'draining'])).toEqual(new Set(NOT_READY));
    const list = /with a `reason`, which the log tells too:([^.]+)\./.exec(readme)?.[1] ?? '';
    const listed = [...list.matchAll(/`(\w+)`/g)].map(([, reason]) => reason);
    expect(new Set(listed)).toEqual(new Set(NOT_READY));
  });

  test('has a dashboard whose panels have ids and places of their own', async () => {
    const { panels } = JSON.parse(await read('grafana/dashboard.json')) as {
      panels: { id: number; gridPos: { h: number; w: number; x: number; y: number } }[];
    };
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { h, w, x, y } }) =>
      Array.from({ length: h * w }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });

  test('has a dashboard whose budget is that of the tests of the rules', async () => {
    const { expr } = await readPanel('Error budget left, 30 days');
    expect(expr).toContain('avg_over_time(slo:errors:ratio5m[30d])');
    expect(await read('../../test/deploy/slo.promtool.yml')).toContain(expr);
  });

  test('names the same normal event loop as the dashboard', async () => {
    const { description } = await readPanel('Event loop');
    const [, mostMs, apartMs] = /under (\d+) ms, of which (\d+) are/.exec(description) ?? [];
    const row = (await read('README.md')).match(/^\| `nodejs_eventloop_lag_p99_seconds`.*$/m)?.[0];
    expect(row).toContain(`with the ${apartMs} ms between two looks`);
    expect(row).toContain(`under ${Number(mostMs) / 1000} `);
  });

  test('has each check of the doctor, in its order, with its section', async () => {
    const section = (await read('README.md')).split(/^## Doctor$/m)[1]?.split(/^## /m)[0] ?? '';
    const rows = section.matchAll(/^\| `(\w+)` .*\| \[([^\]]+)\]\(#[\w-]+\) +\|$/gm);
    const checks = CHECKS.map(({ id, section: heading }) => `${id}: ${heading}`);
    expect([...rows].map(([, id, heading]) => `${id}: ${heading}`)).toEqual(checks);
    expect(new Set(CHECKS.map(({ id }) => id)).size).toBe(CHECKS.length);
  });

  test('promises what the rules count', async () => {
    const [slo, runbook] = await Promise.all([read('prometheus/slo.yml'), read('README.md')]);
    const budgets = [...slo.matchAll(/slo: (\w+) \}\n +expr: vector\((.+)\)/g)];
    expect(budgets.map(([, name]) => name)).toEqual(['availability', 'latency', 'webhooks']);
    for (const [, name, budget] of budgets)
      expect(runbook).toMatch(
        new RegExp(`^\\| \`${name}\` +\\| ${100 - Number(budget) * 100} % of`, 'm'),
      );
  });

  test('counts slow requests at a bound of the histogram', async () => {
    const { registry } = createMetrics(() => ({
      pool: new Pool(),
      waiting: () => ({ statements: 0, slowStatements: 0, transactions: 0 }),
    }));
    const found = registry.getSingleMetric('api_request_duration_seconds');
    const { buckets } = found as unknown as { buckets: number[] };
    const asked = [...(await read('prometheus/slo.yml')).matchAll(/bucket\{le="([\d.]+)"/g)];
    expect(asked.length).toBeGreaterThan(5);
    for (const [, le] of asked) expect(buckets).toContain(Number(le));
  });

  test('shows a job that the job runner refuses, where it tells why jobs are old', async () => {
    const database = await createTestDatabase();
    onTestFinished(() => database.drop());
    const client = new Client(database.url);
    await client.connect();
    onTestFinished(() => client.end());
    await client.query('set session_replication_role = replica');
    await client.query(
      `insert into pending_job (team_id, id, task, payload, refused_at)
       values ('team_1', $1, 'refused', '{}', now())`,
      [jobIdOf(Date.now())],
    );
    const rows = [];
    for (const text of await readQueries('JobsOld')) rows.push(...(await client.query(text)).rows);
    expect(rows).toContainEqual({ task: 'refused', count: '1', max: expect.any(Date) });
  });

  // The service itself has the address already, while it runs.
  test('starts no second container of a service with a fixed address', async () => {
    const [runbook, compose] = await Promise.all([read('README.md'), read('compose.yaml')]);
    const asked = [...runbook.matchAll(/docker compose run --rm (\w+)/g)];
    const services = asked.map(([, service = '']) => service);
    expect(services.length).toBeGreaterThan(1);
    for (const service of services) {
      const [, after] = compose.split(`\n  ${service}:`);
      expect(after?.split(/\n {2}\w/)[0]).not.toContain('ipv4_address');
    }
  });

  // Who adds a procedure decides whether a restore takes back what it has closed.
  test('finds in the log which changes a restore opens again', async () => {
    const section = (await read('README.md')).split('\n## Backup and restore\n')[1] ?? '';
    const [, parts = ''] = /test\(([^)]*"[^]*?")\)\)'/.exec(section) ?? [];
    const pattern = new RegExp([...parts.matchAll(/"([^"]*)"/g)].map(([, part]) => part).join(''));
    const routes = ENDPOINTS.map(({ method, path }) => `${method} ${path}`);
    const names = [...MUTATIONS, ...routes.filter((route) => !route.startsWith('GET '))];
    const found = names.filter((name) => pattern.test(name));
    expect(found).toContain('admin.apiKeys.revoke');
    const begins =
      /create|accept|save|start|test|simulate|confirm|grant|resend|retry|resume|reset/i;
    const others = names.filter((name) => !pattern.test(name) && !begins.test(name));
    expect(others.toSorted()).toEqual([
      'POST /assignments',
      'POST /assignments/batch',
      'POST /cases',
      'POST /users',
      'POST /webhook-endpoints',
      'admin.crm.connect',
      'admin.crm.syncNow',
      'platform.trainings.abort',
      'platform.trainings.end',
    ]);
  });

  // What is applied has its namespace from kustomization.yaml.
  test('says in which namespace each command of kubectl works', async () => {
    const texts = await Promise.all(['README.md', 'kubernetes/settings.yaml'].map(read));
    const commands = [...texts.join('\n').matchAll(/(?:`|^ *)kubectl\s+(\S+\s+\S+)/gm)];
    const asked = commands.map(([, words = '']) => words.replaceAll(/\s+/g, ' '));
    expect(asked.length).toBeGreaterThan(8);
    const named = /^(?:--namespace team-customer-api|apply (?:-f|--kustomize))$/;
    expect(asked.filter((words) => !named.test(words))).toEqual([]);
  });

  test('links only to pages that it has', async () => {
    const text = await read('README.md');
    const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\w -]/g, '')
        .replaceAll(' ', '-'),
    );
    const links = [...text.matchAll(/\]\(#([^)]+)\)/g)].map(([, link]) => link);
    expect(headings).toEqual(expect.arrayContaining(links));
  });
});

test.each([
  ['env.example', /^SERVICE_IMAGE=team-customer-api:(.*)$/m],
  ['kubernetes/kustomization.yaml', /^ +newTag: '(.*)'$/m],
])('%s names the image by this release', async (name, tag) => {
  const { version } = JSON.parse(await read('../../package.json')) as { readonly version: string };
  expect(tag.exec(await read(name))?.[1]).toBe(version);
});
