// Units, containers, balancers and Prometheus speak of the same ports, and of the same processes.
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';

const read = (name: string): Promise<string> =>
  readFile(new URL(`../../scripts/deploy/${name}`, import.meta.url), 'utf8');

/** All matches of the first group, in order, each once. */
function all(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map(([, found = '']) => found))];
}

/** The targets of a job in a file of Prometheus, also if a comment holds it. */
function targetsOf(text: string, job: string): string[] {
  const [, after = ''] = text.split(`job_name: ${job}\n`);
  return all(after.split('job_name:')[0] ?? '', /'([\w.]+:\d+)'/g);
}

const portOf = (address: string): string => address.replace(/.*:/, '');

/** What a template of systemd sets for an instance. */
async function unitSetting(unit: string, name: string, instance: string): Promise<string> {
  const [value = ''] = all(
    await read(`systemd/${unit}@.service`),
    new RegExp(`\\b${name}=(\\S+)`, 'g'),
  );
  return value.replace('%i', instance);
}

describe('the ports of', () => {
  test('containers: image, compose.yaml, nginx and Prometheus', async () => {
    const [image, compose, servers, prometheus, health] = await Promise.all([
      read('Dockerfile'),
      read('compose.yaml'),
      read('nginx-servers.conf'),
      read('prometheus/prometheus.yml'),
      read('health.js'),
    ]);
    const [port] = all(image, /\bPORT=(\d+)/g);
    const [metrics] = all(image, /METRICS_PORT=(\d+)/g);
    expect(all(image, /^EXPOSE (.+)$/gm)).toEqual([`${port} ${metrics}`]);
    expect(all(health, /\bPORT \|\| '(\d+)'/g)).toEqual([port]);
    const apis = all(compose, /^ {2}(api\d):$/gm);
    const workers = all(compose, /^ {2}(worker\d): /gm);
    expect(all(servers, /^server (\S+) /gm)).toEqual(apis.map((name) => `${name}:${port}`));
    expect(targetsOf(prometheus, 'api')).toEqual(apis.map((name) => `${name}:${metrics}`));
    expect(targetsOf(prometheus, 'worker')).toEqual(workers.map((name) => `${name}:${metrics}`));
  });

  test('units: the templates, HAProxy, Prometheus and the runbook', async () => {
    const [haproxy, prometheus, runbook, template] = await Promise.all([
      read('haproxy.cfg'),
      read('prometheus/prometheus.units.yml'),
      read('README.md'),
      read('systemd/team-customer-api@.service'),
    ]);
    const servers = all(haproxy, /server api\d ([\d.]+:\d+)/g);
    expect(servers.length).toBeGreaterThan(1);
    // The instances of the runbook; the first of them is the one that each machine has.
    const instances = all(runbook, /team-customer-api@(\d+)/g);
    expect(all(template, /team-customer-api@(\d+)/g)).toEqual(instances);
    const [first = ''] = instances;
    expect(await unitSetting('team-customer-api', 'PORT', first)).toBe(first);
    expect(new Set(servers.map(portOf))).toEqual(new Set([first]));
    const metrics = await unitSetting('team-customer-api', 'METRICS_PORT', first);
    expect(runbook).toContain(`An API on port ${first} serves its metrics on ${metrics}`);
    const machines = servers.map((server) => server.replace(/:.*/, ''));
    expect(targetsOf(prometheus, 'api')).toEqual(machines.map((host) => `${host}:${metrics}`));
    const worker = await unitSetting('team-customer-api-worker', 'METRICS_PORT', '1');
    expect(targetsOf(prometheus, 'worker')).toEqual(machines.map((host) => `${host}:${worker}`));
    const databases = all(haproxy, /server pg\d ([\d.]+):/g);
    expect(targetsOf(prometheus, 'postgres').map((one) => one.replace(/:.*/, ''))).toEqual(
      databases,
    );
  });

  test('what stands between: HAProxy, nginx, PgBouncer, Alertmanager', async () => {
    const [haproxy, nginx, pgbouncer, compose, runbook] = await Promise.all(
      ['haproxy.cfg', 'nginx.conf', 'pgbouncer.ini', 'compose.yaml', 'README.md'].map(read),
    );
    const [metrics = '', open = '', postgres = ''] = all(haproxy ?? '', /bind :(\d+)/g);
    for (const file of ['prometheus/prometheus.yml', 'prometheus/prometheus.units.yml'])
      expect(targetsOf(await read(file), 'balancer').map(portOf)).toEqual([metrics]);
    expect(all(nginx ?? '', /^ +listen (\d+)/gm)).toEqual([open]);
    const [pooler] = all(pgbouncer ?? '', /^listen_port = (\d+)/gm);
    expect(all(compose ?? '', /@pgbouncer:(\d+)/g)).toEqual([pooler]);
    expect(all(compose ?? '', /@postgres:(\d+)/g)).toEqual([postgres]);
    const [table = ''] = (runbook ?? '').split('## Ports')[1]?.split('## ') ?? [];
    for (const port of [metrics, open, postgres, pooler]) expect(table).toContain(port);
  });
});
