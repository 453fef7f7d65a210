// The disaster recovery of the runbook: the primary's disk is lost while customers write, and
// another machine takes over from the base backup and the archive, by the runbook's own commands.
import { appendFile, chmod, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { migrate } from '../../src/db/operator/migrate.ts';
import { startCluster, whyNoCluster } from '../availability/cluster.ts';
import { asPostgres, whyNoPostgres } from '../availability/postgres.ts';
import { createCall, loadTestSeed } from '../support/api.ts';
import { startApiProcess, send } from '../support/processes.ts';
import { because } from '../support/debian.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';
import { readBlocks, runBlock } from './runbook.ts';
import { ASSIGNMENT } from './world.ts';

/** The runbook has a minute. */
const ARCHIVE_TIMEOUT_S = 3;
/** Segments that are archived before the disk is lost. */
const SEGMENTS = 4;
const isSegment = (name: string): boolean => /^[0-9A-F]{24}$/.test(name);

/** A change that a customer was told to be done. */
interface Write {
  readonly id: string;
  readonly at: number;
  /** The segment of the WAL that it is in, or a later one. */
  readonly segment: string;
}

async function query(url: string, text: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

async function segmentsIn(archive: string): Promise<string[]> {
  return (await readdir(archive)).filter(isSegment).toSorted();
}

test.skipIf(whyNoPostgres !== null)(
  `what was archived survives the loss of the primary's disk${because(whyNoPostgres)}`,
  { timeout: 600_000 },
  async () => {
    const folder = await makeFolder('disaster');
    await chmod(folder, 0o777);
    const [archive, backups] = [join(folder, 'archive'), join(folder, 'backups')];
    const [data, restoredData] = [join(folder, 'primary'), join(folder, 'restored')];
    for (const one of [archive, backups]) {
      await mkdir(one);
      await chmod(one, 0o777);
    }
    const [port, restoredPort] = [await findFreePort(), await findFreePort()];
    const urlOf = (...ports: number[]): string =>
      `postgres://postgres@${ports.map((one) => `127.0.0.1:${one}`).join(',')}/app`;
    const [primary, restored] = [urlOf(port), urlOf(restoredPort)];
    const env = {
      ARCHIVE: archive,
      BACKUPS: backups,
      KEEP: '1',
      PGDATA: restoredData,
      PGPORT: String(restoredPort),
      PRIMARY: primary,
      RESTORED: restored,
      SERVER: primary,
    };
    const [, configure, backUp, removeOld, restore] = await readBlocks('Disaster recovery');
    onTestFinished(async () => {
      for (const one of [data, restoredData])
        await asPostgres('pg_ctl', 'stop', '-m', 'immediate', '-D', one).catch(() => undefined);
    });

    // Before.
    await asPostgres('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-N');
    const network = `listen_addresses = '127.0.0.1'\nunix_socket_directories = '${folder}'\n`;
    await appendFile(join(data, 'postgresql.conf'), `${network}fsync = off\n`);
    const start = ['-w', '-D', data, '-o', `-p ${port}`, '-l', `${data}.log`];
    await asPostgres('pg_ctl', 'start', ...start);
    await asPostgres('createdb', '-h', '127.0.0.1', '-p', String(port), 'app');
    await runBlock(configure?.replace("'60s'", `'${ARCHIVE_TIMEOUT_S}s'`), env);
    await asPostgres('pg_ctl', 'restart', ...start);
    await migrate(primary);
    const { teams } = await loadTestSeed(
      { url: primary },
      makeSeed([makeTeam('a', { rate_limit_per_min: 1_000_000 })]),
    );
    const key = teams['team_a']?.api_keys['full'] ?? '';
    await runBlock(backUp, env);
    const api = await startApiProcess(urlOf(port, restoredPort));
    // Another one on the same day. What comes after it is in the archive only.
    await runBlock(backUp, env);
    const taken = (await readdir(backups)).toSorted();
    expect(taken).toHaveLength(2);
    const label = await readFile(join(backups, taken.at(-1) ?? '', 'backup_label'), 'utf8');

    // As after a loss of power: Postgres has forgotten that it has archived a segment.
    const states = join(data, 'pg_wal', 'archive_status');
    const done = (await readdir(states)).filter((name) => isSegment(name.replace('.done', '')));
    const again = join(states, done.toSorted().at(-1)?.replace('.done', '') ?? '');
    await rename(`${again}.done`, `${again}.ready`);

    // Customers write.
    const call = createCall(api.url);
    const client = new Client({ connectionString: primary });
    client.on('error', () => undefined);
    await client.connect();
    const writes: Write[] = [];
    const write = async (): Promise<void> => {
      const { status, body } = await call(key, 'POST', '/assignments', { body: ASSIGNMENT });
      expect(status).toBe(201);
      const { id } = body as { id: string };
      const at = performance.now();
      const { rows } = await client.query<{ segment: string }>(
        'select pg_walfile_name(pg_current_wal_insert_lsn()) as segment',
      );
      writes.push({ id, at, segment: rows[0]?.segment ?? '' });
    };
    const archived = (): Promise<string[]> => segmentsIn(archive);
    const before = (await archived()).length;
    await until(async () => {
      await write();
      await delay(20);
      return (await archived()).length >= before + SEGMENTS;
    });
    expect(await readdir(states)).not.toContain(`${basename(again)}.ready`);
    await runBlock(removeOld, env);
    expect(await readdir(backups)).toEqual(taken.slice(-1));
    expect(label).toContain(`(file ${(await archived())[0]})`);
    // Of the segment that is never archived.
    for (let number = 0; number < 5; number += 1) await write();

    // The disk is lost.
    const [pid] = (await readFile(join(data, 'postmaster.pid'), 'utf8')).split('\n');
    send(Number(pid), 'SIGKILL');
    const lostAt = performance.now();
    await until(() =>
      query(primary, 'select').then(
        () => false,
        () => true,
      ),
    );
    await rm(data, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    const last = (await archived()).at(-1) ?? '';

    // Another machine. The API process has had its address from the start.
    await runBlock(restore, env);
    await until(async () => {
      const { status } = await call(key, 'POST', '/assignments', { body: ASSIGNMENT });
      return status === 201;
    });
    expect(await readFile(join(restoredData, 'backup_label.old'), 'utf8')).toBe(label);
    const rtoS = (performance.now() - lostAt) / 1000;

    const rows = await query(restored, 'select id from assignment');
    const there = new Set(rows.map(({ id }) => id));
    const safe = writes.filter(({ segment }) => segment <= last);
    const lost = writes.filter(({ id }) => !there.has(id));
    const [oldestLost] = lost;
    const rpoS = oldestLost === undefined ? 0 : (lostAt - oldestLost.at) / 1000;
    console.log(
      `RTO ${rtoS.toFixed(1)} s; RPO ${rpoS.toFixed(1)} s with archive_timeout = ` +
        `${ARCHIVE_TIMEOUT_S} s: ${lost.length} of ${writes.length} acknowledged writes lost`,
    );
    expect(safe.length).toBeGreaterThan(0);
    expect(safe.filter(({ id }) => !there.has(id))).toEqual([]);
    expect(there.size).toBeGreaterThan(writes.length - lost.length);
    // A busy machine copies slowly; a minute would mean that the setting does nothing.
    expect(rpoS).toBeLessThan(ARCHIVE_TIMEOUT_S + 30);

    // The runbook's last step: it archives on, and can be backed up.
    await query(restored, 'select pg_switch_wal()');
    await until(async () => (await archived()).some((name) => name.startsWith('00000002')));
  },
);

const noCluster = whyNoCluster();

test.skipIf(noCluster !== null)(
  `a standby of Patroni that takes over archives on${because(noCluster)}`,
  async () => {
    const archive = await makeFolder('archive');
    await chmod(archive, 0o777);
    const cluster = await startCluster();
    onTestFinished(() => cluster.stop());
    const [configure] = await readBlocks('Disaster recovery');
    await runBlock(configure, { ...cluster.environment, ARCHIVE: archive, CLUSTER: 'app' });
    await cluster.whole();
    await cluster.switchOver();
    await cluster.whole();
    const { port } = await cluster.primary();
    const url = `postgres://postgres@127.0.0.1:${port}/app`;
    await query(url, 'select pg_logical_emit_message(false, $$test$$, $$one$$), pg_switch_wal()');
    // Each promotion begins a timeline. On a slow machine there may be more than ours.
    const later = async () => (await segmentsIn(archive)).find((one) => one >= '00000002');
    expect(await until(later)).toMatch(/^0000000[2-9]/);
  },
);
