// TLS to a real Postgres, with an authority that the runbook's own commands have made.
import { appendFile, chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { cancelStatement } from '../../src/db/wire/cancel.ts';
import { PrimaryClient } from '../../src/db/wire/primary-client.ts';
import { asPostgres, whyNoPostgres } from '../availability/postgres.ts';
import { runEntry, runScript, startWorkerProcess } from '../support/processes.ts';
import { because, isInstalled } from '../support/debian.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/ports.ts';
import { until } from '../support/until.ts';
import { readBlocks, runBlock } from './runbook.ts';

/** The name in the certificate. It leads to 127.0.0.1, which is not in it. */
const SERVER = 'localhost';
const EXPORTER = 'prometheus-node-exporter';

describe.skipIf(whyNoPostgres !== null)(
  `TLS to Postgres${because(whyNoPostgres)}`,
  { timeout: 300_000 },
  () => {
    let folder: string;
    let port: number;
    let ca: string;
    let otherCa: string;

    const urlOf = (host: string, query: string): string =>
      `postgres://postgres@${host}:${port}/app?${query}`;

    /** Makes an authority, and a certificate of it for the server. */
    async function certify(name: string): Promise<string> {
      const place = join(folder, name);
      await mkdir(place);
      await chmod(place, 0o777);
      const [authority, certificate] = await readBlocks('TLS to Postgres');
      await runBlock(authority, {}, place);
      await runBlock(certificate, { SERVER }, place);
      return place;
    }

    beforeAll(async () => {
      folder = await makeFolder('database-tls');
      await chmod(folder, 0o777);
      port = await findFreePort();
      const own = await certify('own');
      ca = join(own, 'ca.crt');
      otherCa = join(await certify('other'), 'ca.crt');
      const data = join(folder, 'data');
      await asPostgres('initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '-N');
      const settings = [
        `listen_addresses = '127.0.0.1'`,
        `unix_socket_directories = '${folder}'`,
        'fsync = off',
        'ssl = on',
        `ssl_cert_file = '${own}/server.crt'`,
        `ssl_key_file = '${own}/server.key'`,
      ];
      await appendFile(join(data, 'postgresql.conf'), `${settings.join('\n')}\n`);
      const rules = 'local all all trust\nhostssl all all 127.0.0.1/32 trust\n';
      await writeFile(join(data, 'pg_hba.conf'), rules);
      await asPostgres(
        'pg_ctl',
        'start',
        '-w',
        '-D',
        data,
        '-o',
        `-p ${port}`,
        '-l',
        `${data}.log`,
      );
      await asPostgres('createdb', '-h', folder, '-p', String(port), 'app');
      const migrating = runScript(urlOf(SERVER, `sslmode=verify-full&sslrootcert=${ca}`), [
        'migrate',
      ]);
      const { code } = await migrating.exited;
      if (code !== 0) throw new Error(migrating.output());
    }, 300_000);

    afterAll(async () => {
      if (!folder) return;
      await asPostgres('pg_ctl', 'stop', '-m', 'immediate', '-D', join(folder, 'data'));
    });

    /** Starts an API process, and resolves with the reason when `/readyz` tells it. */
    async function startUntil(url: string, reason: string, env = {}): Promise<string> {
      const apiPort = await findFreePort();
      const api = runEntry('src/api.ts', { DATABASE_URL: url, PORT: String(apiPort), ...env });
      onTestFinished(async () => void (await api.kill('SIGKILL')));
      return until(async () => {
        const answer = await fetch(`http://127.0.0.1:${apiPort}/readyz`).catch(() => null);
        const { status, reason: told = status } = ((await answer?.json()) ?? {}) as {
          status?: string;
          reason?: string;
        };
        return told === reason ? told : null;
      });
    }

    test('is refused with an authority that nobody named', async () => {
      expect(await startUntil(urlOf(SERVER, 'sslmode=verify-full'), 'database_certificate')).toBe(
        'database_certificate',
      );
    });

    test('is refused with the wrong authority, even if another file is right', async () => {
      expect(
        await startUntil(
          urlOf(SERVER, `sslmode=verify-full&sslrootcert=${otherCa}`),
          'database_certificate',
          {
            NODE_EXTRA_CA_CERTS: ca,
          },
        ),
      ).toBe('database_certificate');
    });

    test('is refused for another host', async () => {
      expect(
        await startUntil(
          urlOf('127.0.0.1', `sslmode=verify-full&sslrootcert=${ca}`),
          'database_certificate',
        ),
      ).toBe('database_certificate');
    });

    test('is demanded by the server', async () => {
      expect(await startUntil(urlOf(SERVER, 'sslmode=disable'), 'database_login_refused')).toBe(
        'database_login_refused',
      );
    });

    test('is there with the right authority, and all connections are encrypted', async () => {
      const url = urlOf(SERVER, `sslmode=verify-full&sslrootcert=${ca}`);
      await startUntil(url, 'ready');
      const worker = await startWorkerProcess(url);
      const client = new Client({ host: folder, port, user: 'postgres', database: 'app' });
      await client.connect();
      const { rows } = await client.query<{ ssl: boolean; count: number }>(
        `select ssl, count(*)::int from pg_stat_ssl join pg_stat_activity using (pid)
         where client_addr is not null group by ssl`,
      );
      await client.end();
      await worker.kill('SIGTERM');
      expect(rows.map(({ ssl }) => ssl)).toEqual([true]);
      expect(rows[0]?.count).toBeGreaterThan(3);
    });

    test('is used to cancel a statement', async () => {
      const url = urlOf(SERVER, `sslmode=verify-full&sslrootcert=${ca}`);
      const client = new PrimaryClient({ connectionString: url });
      await client.connect();
      const sleeping = client.query('select pg_sleep(600)').catch((error: Error) => error);
      let end: unknown = null;
      void sleeping.then((error) => (end = error));
      // A request that arrives before the statement has no effect.
      await until(async () => {
        expect(await cancelStatement(client, systemClock)).toBe(true);
        return end;
      });
      expect(end).toMatchObject({ code: '57014' });
      await client.end();
    });

    test('is there with the right authority beside the public ones', async () => {
      expect(
        await startUntil(urlOf(SERVER, 'sslmode=verify-full'), 'ready', {
          NODE_EXTRA_CA_CERTS: ca,
        }),
      ).toBe('ready');
    });

    test.skipIf(!isInstalled(EXPORTER))('tells Prometheus when its certificate ends', async () => {
      const texts = join(folder, 'texts');
      await mkdir(texts);
      await chmod(texts, 0o777);
      const [backup, certificate] = await readBlocks('Watching Postgres');
      await runBlock(backup, { TEXTFILES: texts });
      await runBlock(certificate, { TEXTFILES: texts, PGHOST: SERVER, PGPORT: String(port) });
      const told = await readFile(join(texts, 'tls.prom'), 'utf8');
      expect(told).toMatch(/^certificate_not_after/);
      // Postgres does not answer: what is known stays, and nothing is made up.
      const nobody = { TEXTFILES: texts, PGHOST: SERVER, PGPORT: String(await findFreePort()) };
      await expect(runBlock(certificate, nobody)).rejects.toThrow('failed');
      expect(await readFile(join(texts, 'tls.prom'), 'utf8')).toBe(told);
      const listen = `127.0.0.1:${await findFreePort()}`;
      const exporter = spawn(
        EXPORTER,
        [`--web.listen-address=${listen}`, `--collector.textfile.directory=${texts}`],
        { stdio: 'ignore' },
      );
      onTestFinished(async () => {
        exporter.kill('SIGKILL');
        await once(exporter, 'exit');
      });
      let served = '';
      await until(async () => {
        const answer = await fetch(`http://${listen}/metrics`).catch(() => null);
        served = (await answer?.text()) ?? '';
        return served !== '';
      });
      const secondsOf = (name: string): number =>
        Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(served)?.[1]);
      const yearS = 365 * 86_400;
      const leftS = secondsOf('certificate_not_after_timestamp_seconds') - Date.now() / 1000;
      expect(Math.abs(leftS - yearS)).toBeLessThan(3_600);
      const ageS = Date.now() / 1000 - secondsOf('backup_last_success_timestamp_seconds');
      expect(ageS).toBeLessThan(600);
    });
  },
);
