// The routes of alertmanager.yml, with a real Prometheus, a real Alertmanager and real receivers.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { because, run, whyNot } from '../support/debian.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { until } from '../support/until.ts';
import { startPrometheus, type Ending } from './prometheus.ts';

const FILE = fileURLToPath(
  new URL('../../scripts/deploy/prometheus/alertmanager.yml', import.meta.url),
);
const PROGRAM = 'prometheus-alertmanager';
const reason = whyNot([PROGRAM, 'amtool', 'prometheus']);

interface Alertmanager {
  readonly port: number;
  /** Tells it alerts, as Prometheus does. */
  readonly tell: (...alerts: readonly Readonly<Record<string, string>>[]) => Promise<void>;
}

/** Starts Alertmanager with the file, but our receiver gets all, and minutes are seconds. */
async function startAlertmanager(
  { onTestFinished }: Ending,
  receiver: Receiver,
): Promise<Alertmanager> {
  const text = (await readFile(FILE, 'utf8'))
    .replaceAll(/https:\/\/[\w.]+\//g, `${receiver.url}/`)
    .replaceAll(/: (\d+)s$/gm, (_, seconds) => `: ${Math.round(Number(seconds) / 0.06)}ms`)
    .replaceAll(/: (\d+)m$/gm, ': $1s');
  const folder = await makeFolder('alertmanager');
  await writeFile(join(folder, 'alertmanager.yml'), text);
  const port = await findFreePort();
  const child = spawn(
    PROGRAM,
    [
      `--config.file=${folder}/alertmanager.yml`,
      `--storage.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--cluster.listen-address=',
    ],
    { stdio: 'ignore' },
  );
  onTestFinished(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  const url = `http://127.0.0.1:${port}`;
  await until(async () => (await fetch(`${url}/-/ready`).catch(() => null))?.ok);
  return {
    port,
    tell: async (...alerts) => {
      const response = await fetch(`${url}/api/v2/alerts`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(alerts.map((labels) => ({ labels }))),
      });
      expect(response.status).toBe(200);
    },
  };
}

/** The names of the alerts that came to a path. */
function told(receiver: Receiver, path: string): string[] {
  const names = receiver.requestsTo(path).flatMap(({ body }) => {
    const { alerts } = JSON.parse(body.toString()) as {
      alerts: { labels: { alertname: string } }[];
    };
    return alerts.map(({ labels }) => labels.alertname);
  });
  return [...new Set(names)].toSorted();
}

describe.skipIf(reason !== null)(`Alertmanager${because(reason)}`, () => {
  test('finds no fault in the file', async () => {
    expect(await run('amtool', ['check-config', FILE])).toContain('SUCCESS');
  });

  test('inhibits only alerts that exist, by alerts that exist', async () => {
    const files = ['alerts.yml', 'slo.yml', 'postgres.yml'];
    const rules = await Promise.all(files.map((file) => readFile(join(FILE, '..', file), 'utf8')));
    const known = [...rules.join('\n').matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
    const patterns = [...(await readFile(FILE, 'utf8')).matchAll(/alertname =~? "?([^",\]\n]+)/g)];
    expect(patterns.length).toBeGreaterThan(10);
    for (const [, pattern = ''] of patterns)
      for (const name of pattern.split(/\|(?![^(]*\))/))
        expect(known.filter((one) => new RegExp(`^(?:${name})$`).test(one))).not.toEqual([]);
  });

  test('hears what is wrong, and the dead man hears that it works', async (context) => {
    const receiver = await startReceiver();
    const { port } = await startAlertmanager(context, receiver);
    // No process is there.
    await startPrometheus(context, {}, { alertmanager: port });
    await receiver.arrived('/ping');
    const startedAt = performance.now();
    await receiver.arrived('/ping', 11);
    // A ping each minute: the dead man's switch calls after two.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    expect(told(receiver, '/ping')).toEqual(['Watchdog']);
    await until(async () => told(receiver, '/page').length === 2);
    expect(told(receiver, '/page')).toEqual(['ApiGone', 'WorkersGone']);
  });

  test('pages once for a lost database, and knows what is none of it', async (context) => {
    const receiver = await startReceiver();
    const { tell } = await startAlertmanager(context, receiver);
    const page = { severity: 'page' };
    const ticket = { severity: 'ticket' };
    await tell(
      { alertname: 'PostgresHasNoPrimary', ...page },
      { alertname: 'ApiNotReady', ...page },
      { alertname: 'BalancerFaults', ...page },
      { alertname: 'PublicAddressFails', ...page },
      { alertname: 'ApiUnavailable', ...page },
      { alertname: 'WorkersGone', ...page },
      { alertname: 'DeliveriesLate', ...page },
      { alertname: 'ErrorBudgetBurnsFast', slo: 'availability', ...page },
      { alertname: 'ErrorBudgetBurnsFast', slo: 'webhooks', ...page },
      { alertname: 'ErrorBudgetBurns', slo: 'availability', ...ticket },
      { alertname: 'ApiProcessNotReady', instance: 'a', ...ticket },
      { alertname: 'WorkerProcessDown', instance: 'a', ...ticket },
      { alertname: 'CertificateExpires', instance: 'a', ...ticket },
    );
    await receiver.arrived('/page');
    await receiver.arrived('/new');
    // Several times as long as the others would wait.
    await delay(5_000);
    expect(told(receiver, '/page')).toEqual(['PostgresHasNoPrimary']);
    expect(told(receiver, '/new')).toEqual(['CertificateExpires']);
  });

  test('tells once that the last balancer is gone', async (context) => {
    const receiver = await startReceiver();
    const { tell } = await startAlertmanager(context, receiver);
    await tell(
      { alertname: 'BalancerGone', severity: 'page' },
      { alertname: 'BalancerProcessDown', instance: 'a', severity: 'ticket' },
      { alertname: 'CertificateExpires', instance: 'a', severity: 'ticket' },
    );
    await receiver.arrived('/page');
    await receiver.arrived('/new');
    await delay(5_000);
    expect(told(receiver, '/new')).toEqual(['CertificateExpires']);
  });

  test('pages for each outage that nothing else explains', async (context) => {
    const receiver = await startReceiver();
    const { tell } = await startAlertmanager(context, receiver);
    await tell(
      { alertname: 'ErrorBudgetBurnsFast', slo: 'latency', severity: 'page' },
      { alertname: 'DeliveriesLate', severity: 'page' },
      { alertname: 'ApiFaults', severity: 'page' },
      { alertname: 'PublicAddressFails', severity: 'page' },
    );
    await until(async () => told(receiver, '/page').length === 4);
    expect(told(receiver, '/new')).toEqual([]);
  });
});
