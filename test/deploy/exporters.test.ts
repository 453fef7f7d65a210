// The figures that postgres.yml asks for, of real exporters of Postgres and of a machine.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { startServers, whyNoPostgres } from '../availability/postgres.ts';
import { because, whyNot } from '../support/debian.ts';
import { findFreePort } from '../support/ports.ts';
import { until } from '../support/until.ts';

const RULES = new URL('../../scripts/deploy/prometheus/postgres.yml', import.meta.url);
const POSTGRES = 'prometheus-postgres-exporter';
const MACHINE = 'prometheus-node-exporter';
const reason = whyNoPostgres ?? whyNot([POSTGRES, MACHINE]);

/** Debian 12's exporter of Postgres is older than 0.15, which brought these. */
const NEWER = ['pg_replication_is_replica', 'pg_replication_lag_seconds'];
/** Of blackbox_exporter; of the files that the runbook tells to write; of Prometheus. */
const OTHERS = [
  'probe_success',
  'probe_ssl_earliest_cert_expiry',
  'certificate_not_after_timestamp_seconds',
  'backup_last_success_timestamp_seconds',
];

/** Starts an exporter and resolves with what it serves. */
async function readMetrics(program: string, env: Record<string, string>): Promise<string> {
  const address = `127.0.0.1:${await findFreePort()}`;
  const exporter = spawn(program, [`--web.listen-address=${address}`], {
    stdio: 'ignore',
    env: { ...process.env, ...env },
  });
  onTestFinished(async () => {
    exporter.kill('SIGKILL');
    await once(exporter, 'exit');
  });
  let text = '';
  await until(async () => {
    text = (await (await fetch(`http://${address}/metrics`).catch(() => null))?.text()) ?? '';
    return text !== '';
  });
  return text;
}

test.skipIf(reason !== null)(
  `the alerts on Postgres ask for figures that exporters serve${because(reason)}`,
  async () => {
    const servers = await startServers();
    onTestFinished(() => servers.stop());
    await servers.addStandby();
    const client = new Client({ connectionString: servers.primary.url });
    await client.connect();
    await client.query(`select pg_create_physical_replication_slot('of_a_standby', true)`);
    await client.end();
    const url = `${servers.primary.url}?sslmode=disable`;
    const served = [
      await readMetrics(POSTGRES, { DATA_SOURCE_NAME: url }),
      await readMetrics(MACHINE, {}),
    ].join('\n');
    // Comments name exporters.
    const rules = (await readFile(RULES, 'utf8')).replaceAll(/^ *#.*$/gm, '');
    const asked = new Set(rules.match(/\b(?:pg|node|probe|backup|certificate)_\w+/g));
    expect(asked.size).toBeGreaterThan(12);
    const missing = [...asked].filter((name) => !new RegExp(`^${name}[ {]`, 'm').test(served));
    expect(missing.toSorted()).toEqual([...NEWER, ...OTHERS].toSorted());
  },
);
