// `npm run migrate -- --distribute` while a process runs that should have been stopped: it answers
// 503 where it cannot work, never 500, and what it has acknowledged is kept.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { migrate } from '../../src/db/operator/migrate.ts';
import { ENDPOINTS } from '../../src/routers/endpoints.ts';
import { teamOf, validRequest } from '../contract/requests.ts';
import { createCall, loadTestSeed } from '../support/api.ts';
import { startApiProcess, startWorkerProcess } from '../support/processes.ts';
import { runSql, startCitus, whyNoCitus, type CitusCluster } from '../support/citus.ts';
import { because } from '../support/debian.ts';
import { makeFullTeam, makeSeed, makeTeam, memberId } from '../support/seed.ts';
import { until } from '../support/until.ts';

const skipped = whyNoCitus();
const DATABASE = 'distributing';
const READERS = 6;
const WRITERS = 3;
const OF_TEAMS = ENDPOINTS.filter(({ mode }) => mode === null);

describe.skipIf(skipped !== null)(`a database that is being distributed${because(skipped)}`, () => {
  let cluster: CitusCluster;
  let url: string;
  let keyOf: (team: string) => string;

  beforeAll(async () => {
    cluster = await startCitus({ shards: 4 });
    url = await cluster.createDatabase(DATABASE);
    await migrate(url);
    const teams = [
      ...OF_TEAMS.map((endpoint) => makeFullTeam(teamOf(endpoint))),
      ...Array.from({ length: WRITERS }, (_, index) => makeTeam(`w${index}`)),
    ];
    const seeded = await loadTestSeed({ url }, makeSeed(teams));
    keyOf = (team) => seeded.teams[`team_${team}`]?.api_keys['full'] ?? '';
    await cluster.join(DATABASE);
  });
  afterAll(() => cluster?.stop());

  test('answers 200 or 503, never 500, and loses no acknowledged write', async () => {
    const env = { WEBHOOK_ALLOW_PRIVATE_TARGETS: '1' };
    const api = await startApiProcess(url, env);
    await startWorkerProcess(url, env);
    let isDone = false;
    const faults: string[] = [];
    const statuses: Record<number, number> = {};
    const acknowledged: string[] = [];

    /** Sends one request. Returns null when the process has ended. */
    const send = async (...[key, method, path, options]: Parameters<typeof call>) => {
      try {
        const { status } = await call(key, method, path, options);
        statuses[status] = (statuses[status] ?? 0) + 1;
        return status;
      } catch (error) {
        if (error instanceof Error && error.message.includes('→ 500')) faults.push(error.message);
        else if ('code' in (error as object)) return null;
        else throw error;
        return 500;
      }
    };
    const call = createCall(api.url, { connections: READERS + WRITERS });
    const read = async (first: number): Promise<void> => {
      for (let turn = first * 7; !isDone; turn += 1) {
        const endpoint = OF_TEAMS[turn % OF_TEAMS.length];
        if (!endpoint) return;
        const { method, path, body } = validRequest(endpoint, teamOf(endpoint));
        const status = await send(keyOf(teamOf(endpoint)), method, path, body ? { body } : {});
        if (status === null) return;
      }
    };
    const write = async (index: number): Promise<void> => {
      const team = `w${index}`;
      for (let number = 0; !isDone; number += 1) {
        const email = `w${index}-${number}@w.test`;
        const status = await send(keyOf(team), 'POST', '/users', { body: { email } });
        if (status === 201) acknowledged.push(email);
        // A row that is on its way to its shard is not missing.
        const found = await send(keyOf(team), 'GET', `/users/${memberId(team, 'member')}`);
        if (found === null) return;
        if (![200, 500, 503].includes(found)) faults.push(`GET an existing member → ${found}`);
      }
    };
    const load = [
      ...Array.from({ length: READERS }, (_, index) => read(index)),
      ...Array.from({ length: WRITERS }, (_, index) => write(index)),
    ];
    await until(() => acknowledged.length > 50);
    await migrate(url, { distribute: true });
    await Promise.race([api.exited, delay(10_000)]);
    isDone = true;
    await Promise.all(load);
    expect(faults).toEqual([]);
    const rows = await runSql<{ email: string }>(
      url,
      `select email from member where team_id ~ '^team_w'`,
    );
    expect(rows.map(({ email }) => email)).toEqual(expect.arrayContaining(acknowledged));
    expect(statuses[503]).toBeGreaterThan(0);
    // The functions that nodes run are there, too.
    const planned = `select discard_plans() from team where id = 'team_w0'`;
    expect(await runSql(url, planned)).toHaveLength(1);
  });
});
