// DATABASE_URL with several hosts: commands, API and worker follow the primary.
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createCall, TEST_APP_SECRET } from '../support/api.ts';
import { runScript, startApiProcess, startWorkerProcess } from '../support/processes.ts';
import { because } from '../support/debian.ts';
import { makeFolder } from '../support/folder.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { makeSeed, makeTeam, memberId } from '../support/seed.ts';
import { until } from '../support/until.ts';
import { startServers, whyNoPostgres, type Node, type Servers } from './postgres.ts';

const why = because(whyNoPostgres);

/** The suite for a primary that is lost in this way. */
export function describeHosts(fault: 'is killed' | 'hangs'): void {
  describe.skipIf(whyNoPostgres !== null)(`several hosts in DATABASE_URL${why}`, () => {
    let servers: Servers;
    let standby: Node;
    let url: string;
    let receiver: Receiver;
    let folder: string;

    beforeEach(async () => {
      folder = await makeFolder('hosts');
      receiver = await startReceiver();
      servers = await startServers();
      standby = await servers.addStandby();
      const hosts = [standby, servers.primary].map(({ port }) => `127.0.0.1:${port}`);
      // Nothing listens on port 1.
      const list = ['127.0.0.1:1', ...hosts].join(',');
      url = `postgres://postgres@${list}/app?target_session_attrs=read-write`;
    }, 300_000);
    afterEach(async () => await servers?.stop());

    /** Runs a command to its end, and resolves with what it wrote. */
    async function command(args: string[], env: Record<string, string> = {}): Promise<string> {
      const running = runScript(url, args, env);
      expect([await running.exited, running.output()]).toEqual([
        { code: 0, signal: null },
        expect.any(String),
      ]);
      return running.output();
    }

    /**
     * Resolves when all deliveries are recorded, and the standby has all that the primary has,
     * also what is not on the primary's disk yet: results of deliveries do not wait for it.
     */
    async function replicated(): Promise<void> {
      const client = new Client({ connectionString: servers.primary.url });
      await client.connect();
      await until(async () => {
        const { rows } = await client.query<{ done: boolean }>(
          `select replay_lsn >= pg_current_wal_insert_lsn()
             and not exists (select from webhook_delivery where status <> 'ok') as done
           from pg_stat_replication`,
        );
        return rows[0]?.done;
      });
      await client.end();
    }

    test(`lead commands and processes to the primary, and to the next if it ${fault}`, async () => {
      await command(['migrate']);
      const webhook_endpoints = [
        { id: 'whe_a', url: `${receiver.url}/hook`, events: ['assignment.created' as const] },
      ];
      const file = join(folder, 'seed.json');
      const team = makeTeam('a', { webhook_endpoints, rate_limit_per_min: 1_000_000 });
      await writeFile(file, JSON.stringify(makeSeed([team])));
      const output = await command(['seed', file]);
      const { teams } = JSON.parse(output.slice(output.indexOf('{'), output.lastIndexOf('}') + 1));
      const key = teams.team_a.api_keys.full as string;
      await command(['rotate-secret'], { APP_SECRET_PREVIOUS: TEST_APP_SECRET });

      const api = await startApiProcess(url);
      onTestFinished(async () => void (await api.kill('SIGKILL')));
      const mails = join(folder, 'mails');
      const env = { WEBHOOK_ALLOW_PRIVATE_TARGETS: '1', MAIL_DIR: mails };
      const worker = await startWorkerProcess(url, env);
      onTestFinished(async () => void (await worker.kill('SIGKILL')));
      const call = createCall(api.url);
      const body = {
        member_id: memberId('a', 'member'),
        title: 'Practise',
        situation_id: 'sit_cold',
        personality_id: 'per_calm',
        industry_id: 'ind_saas',
      };
      /** Writes until it succeeds, and resolves when its event and its mail have arrived. */
      const write = async (round: number): Promise<void> => {
        await until(async () => {
          const { status } = await call(key, 'POST', '/assignments', { body });
          expect([201, 503]).toContain(status);
          return status === 201;
        });
        const invitation = { body: { email: `guest-${round}@a.test` } };
        await until(async () => (await call(key, 'POST', '/users', invitation)).status === 201);
        await receiver.arrived('/hook', round);
        await until(async () => (await readdir(mails).catch(() => [])).length === round);
      };
      await write(1);
      await replicated();
      await (fault === 'hangs' ? servers.primary.freeze() : servers.primary.kill());
      await standby.promote();
      await write(2);
      await write(3);
      await until(async () => (await fetch(`${api.url}/readyz`)).status === 200);
      const ids = receiver.requestsTo('/hook').map(({ headers }) => headers['svc-event-id']);
      expect(new Set(ids).size).toBe(3);
      expect(ids.length).toBe(3);
    });
  });
}
