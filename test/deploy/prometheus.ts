// A real Prometheus over processes of ours, with the rules of scripts/deploy/prometheus. A minute
// of a rule takes a few seconds here, so that a test need not wait for half an hour.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { TestContext } from 'vitest';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

const RULES = fileURLToPath(new URL('../../scripts/deploy/prometheus/', import.meta.url));

/** A running Prometheus. It stops with the test. */
export interface Prometheus {
  readonly url: string;
  /** The names of all alerts. */
  readonly alerts: () => Promise<string[]>;
  /** The names of the alerts that fire now. */
  readonly firing: () => Promise<string[]>;
  /** Resolves with the number of series that the query returns. Rejects if it is not valid. */
  readonly count: (query: string) => Promise<number>;
}

/** What a world needs of the test that it ends with. Tests that run at once have one each. */
export type Ending = Pick<TestContext, 'onTestFinished'>;

/** What Prometheus does besides scraping. */
export interface PrometheusOptions {
  /** The files of rules; by default the alerts. */
  readonly rules?: readonly string[];
  /** The port of an Alertmanager. */
  readonly alertmanager?: number;
  /** How long a minute of a rule takes; by default 2 seconds. */
  readonly secondsPerMinute?: number;
}

/** Starts Prometheus over these metrics ports, by job. */
export async function startPrometheus(
  { onTestFinished }: Ending,
  jobs: Readonly<Record<string, readonly number[]>>,
  { rules = ['alerts.yml'], alertmanager, secondsPerMinute = 2 }: PrometheusOptions = {},
): Promise<Prometheus> {
  const folder = await makeFolder('prometheus');
  for (const file of rules) {
    const text = await readFile(join(RULES, file), 'utf8');
    await writeFile(join(folder, file), faster(text, secondsPerMinute));
  }
  const settings = {
    ...configuration(jobs),
    rule_files: rules,
    ...(alertmanager !== undefined && {
      alerting: {
        alertmanagers: [{ static_configs: [{ targets: [`127.0.0.1:${alertmanager}`] }] }],
      },
    }),
  };
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(settings));
  const port = await findFreePort();
  const child = spawn(
    'prometheus',
    [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  );
  onTestFinished(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  const ask = async (path: string): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}/${path}`);
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return ((await response.json()) as { data: unknown }).data;
  };
  await until(() =>
    fetch(`http://127.0.0.1:${port}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return {
    url: `http://127.0.0.1:${port}`,
    alerts: async () => {
      const { groups } = (await ask('api/v1/rules')) as { groups: { rules: { name: string }[] }[] };
      return groups.flatMap(({ rules }) => rules.map(({ name }) => name));
    },
    firing: async () => {
      const { alerts } = (await ask('api/v1/alerts')) as {
        alerts: { state: string; labels: { alertname: string } }[];
      };
      return alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname);
    },
    count: async (query) => {
      const { result } = (await ask(`api/v1/query?query=${encodeURIComponent(query)}`)) as {
        result: unknown[];
      };
      return result.length;
    },
  };
}

/** Does something over and over, until the alert fires. */
export async function untilFiring(
  { firing }: Prometheus,
  alert: string,
  provoke?: () => Promise<unknown>,
): Promise<void> {
  let isOver = false;
  const provoking = async (): Promise<void> => {
    while (provoke && !isOver) {
      await provoke();
      await delay(20);
    }
  };
  const done = provoking();
  try {
    await until(async () => {
      await delay(200);
      return (await firing()).includes(alert);
    });
  } finally {
    isOver = true;
    await done;
  }
}

/** YAML is a superset of JSON. */
function configuration(jobs: Readonly<Record<string, readonly number[]>>): object {
  return {
    global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
    scrape_configs: Object.entries(jobs).map(([job, ports]) => ({
      job_name: job,
      static_configs: [{ targets: ports.map((port) => `127.0.0.1:${port}`) }],
    })),
  };
}

const MINUTES: Readonly<Record<string, number>> = { m: 1, h: 60, d: 1440 };

/** Shortens the durations of the rules: `for: 5m`, `[15m]`, `[1h]`, `[3d]`, `offset 1m`. */
function faster(rules: string, secondsPerMinute: number): string {
  const seconds = (count: string, unit: string): string =>
    `${Number(count) * (MINUTES[unit] ?? 0) * secondsPerMinute}s`;
  return rules
    .replaceAll(/(for: )(\d+)([mh])$/gm, (_, start, count, unit) => start + seconds(count, unit))
    .replaceAll(
      /(\[|offset )(\d+)([mhd])\b/g,
      (_, start, count, unit) => start + seconds(count, unit),
    );
}
