// The runbook speaks of every alert and every metric of ours.
import { readFile } from 'node:fs/promises';
import { Pool } from 'pg';
import { describe, expect, test } from 'vitest';
import { createMetrics } from '../../src/runtime/metrics.ts';
import { createWorkerMetrics } from '../../src/runtime/worker-metrics.ts';

const folder = new URL('../../scripts/deploy/', import.meta.url);
const read = (name: string): Promise<string> => readFile(new URL(name, folder), 'utf8');

describe('the runbook', () => {
  test('has a page for each alert, and no other', async () => {
    const alerts = [...(await read('prometheus/alerts.yml')).matchAll(/- alert: (\w+)/g)];
    const section = (await read('README.md')).split(/^## Alerts$/m)[1]?.split(/^## /m)[0] ?? '';
    const pages = [...section.matchAll(/^### (\w+)$/gm)];
    expect(alerts.length).toBeGreaterThan(10);
    expect(pages.map(([, name]) => name)).toEqual(alerts.map(([, name]) => name));
  });

  test('explains each metric of ours', async () => {
    const waiting = () => ({ statements: 0, slowStatements: 0, transactions: 0 });
    const api = createMetrics({ pool: new Pool(), waiting });
    const worker = createWorkerMetrics({ pool: new Pool() }, () =>
      Promise.reject(new Error('not asked')),
    );
    const names = [api, worker]
      .flatMap(({ registry }) => registry.getMetricsAsArray())
      .map(({ name }) => name)
      .filter((name) => !/^(?:nodejs|process)_/.test(name));
    const explained = [...(await read('README.md')).matchAll(/^\| `(\w+)` +\|/gm)];
    expect(explained.map(([, name]) => name)).toEqual(expect.arrayContaining(names));
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
