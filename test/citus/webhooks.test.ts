// Deliveries on a Citus cluster, by the real worker: events of all shards are delivered once and
// recorded, and nothing is lost when workers and nodes die or shards go elsewhere.
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { openDatabase } from '../../src/db/connections/database.ts';
import { isUnavailable } from '../../src/db/errors.ts';
import { pauseEndpoints } from '../../src/features/webhook-endpoints/pause.ts';
import { loadTestSeed } from '../support/api.ts';
import { startWorkerProcess, type RunningProcess } from '../support/processes.ts';
import {
  createDistributed,
  portsOf,
  runSql,
  startCitus,
  urlOf,
  whyNoCitus,
  type CitusCluster,
} from '../support/citus.ts';
import { because } from '../support/debian.ts';
import { held, inTurn, startReceiver, status, type Receiver } from '../support/receiver.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

const skipped = whyNoCitus();
const DATABASE = 'webhooks';
const TEAMS = Array.from({ length: 16 }, (_, n) => `team_t${n}`);
/** Its receiver fails the first attempt of each delivery. */
const FAILING = 'team_t0';

/** A look each half a second, and what a busy machine may add. */
const NOTICED_MS = 2_000;

describe.skipIf(skipped !== null)(`webhooks on Citus${because(skipped)}`, () => {
  let cluster: CitusCluster;
  let url: string;
  let client: Client;
  let receiver: Receiver;
  let workers: RunningProcess[] = [];
  let made = 0;

  beforeAll(async () => {
    receiver = await startReceiver();
    cluster = await startCitus({ shards: 4 });
    url = await createDistributed(cluster, DATABASE);
    const seed = makeSeed(
      TEAMS.map((id) =>
        makeTeam(id.slice('team_'.length), {
          webhook_endpoints: [
            { id: 'whe_1', url: `${receiver.url}/${id}`, events: ['member.joined'] },
          ],
        }),
      ),
    );
    await loadTestSeed({ url }, seed);
    client = new Client({ connectionString: url });
    await client.connect();
  });
  afterAll(async () => {
    await client.end();
    await cluster.stop();
  });
  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.kill('SIGKILL')));
    workers = [];
    for (const team of TEAMS) receiver.on(`/${team}`, status(200));
  });

  const query = async <Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> =>
    (await client.query<Row>(sql, values)).rows;
  const startWorker = async (): Promise<RunningProcess> => {
    const worker = await startWorkerProcess(url, {
      WEBHOOK_ALLOW_PRIVATE_TARGETS: '1',
      WEBHOOK_RETRY_DELAYS_S: '0,0,0,0,0,0,0,0,0,0,0,0',
      LOG_LEVEL: 'info',
    });
    workers.push(worker);
    return worker;
  };
  const refusedForNow = (error: unknown): null => {
    if (!isUnavailable(error)) throw error;
    return null;
  };
  /** Commits an event of each of the teams, as a change does. Returns their ids. */
  const raise = async (teams: readonly string[], each = 1): Promise<string[]> => {
    const ids: string[] = [];
    for (const team of teams) {
      const own = Array.from({ length: each }, () => `evt_${String((made += 1)).padStart(6, '0')}`);
      const insert = `insert into event (team_id, id, type, data, created_at)
        select $1, id, 'member.joined', '{}', now()
        from unnest($2::text[]) as id
        on conflict (team_id, id) do nothing`;
      // Citus refuses writes to a shard that is being split, and on connections that a node's
      // restart has broken. Callers try again.
      await until(() => client.query(insert, [team, own]).catch(refusedForNow));
      ids.push(...own);
    }
    await query(`select pg_notify('wake_deliveries', '')`);
    return ids;
  };
  /** Event → how many requests the receivers got for it. */
  const countArrived = (ids: readonly string[]): number[] => {
    const counts = new Map(ids.map((id) => [id, 0]));
    for (const { headers } of receiver.requests) {
      const id = String(headers['svc-event-id']);
      const count = counts.get(id);
      if (count !== undefined) counts.set(id, count + 1);
    }
    return [...counts.values()];
  };
  const haveArrived = (ids: readonly string[]): boolean =>
    countArrived(ids).every((count) => count > 0);
  /** Resolves when the deliveries of these events of these teams are recorded as successful. */
  const recorded = (ids: readonly string[], teams = TEAMS): Promise<boolean> =>
    until(async () => {
      const [first, ...others] = await query<{ status: string; count: number }>(
        `select status, count(*)::int as count
         from webhook_delivery
         where event_id = any ($1) and team_id = any ($2) and claimed_by is null
         group by status`,
        [ids, teams],
      );
      return others.length === 0 && first?.status === 'ok' && first.count === ids.length;
    });
  /** Port of a node → the teams whose rows are there. */
  const teamsByNode = async (): Promise<Map<number, string[]>> => {
    const ports = await portsOf(url, TEAMS);
    const found = Map.groupBy(ports, ([, port]) => port);
    return new Map([...found].map(([port, own]) => [port, own.map(([team]) => team)]));
  };

  test('two workers deliver events of all shards once, and record failed attempts', async () => {
    receiver.on(`/${FAILING}`, inTurn(status(500), status(200)));
    await Promise.all([startWorker(), startWorker()]);
    const ids = await raise(TEAMS, 3);
    await recorded(ids);
    expect(countArrived(ids).toSorted((a, b) => a - b)).toEqual([...ids.slice(1).map(() => 1), 2]);
    const attempts = await query(
      `select team_id, one ->> 'attempt' as number, one ->> 'response_code' as code
       from webhook_delivery
       cross join lateral jsonb_array_elements(failed_attempts) one`,
    );
    expect(attempts).toEqual([{ team_id: FAILING, number: '1', code: '500' }]);
    expect(await query(`select from event where fanned_out_at is null`)).toEqual([]);
    expect((await teamsByNode()).size).toBe(2);
  });

  test('every statement of the loops keeps to one shard', async () => {
    for (const { url: node } of cluster.nodes)
      await runSql(node, `alter system set citus.enable_stat_counters = on`);
    for (const { url: node } of cluster.nodes) await runSql(node, `select pg_reload_conf()`);
    await startWorker();
    const [busy = []] = (await teamsByNode()).values();
    const before = await counters();
    const ids = await raise(busy, 20);
    await recorded(ids);
    const after = await counters();
    // The test's own statements over all shards enter by the coordinator.
    expect(after.map(({ multi }, n) => multi - (before[n]?.multi ?? 0)).slice(1)).toEqual([0, 0]);
    expect(after.some(({ single }, n) => single > (before[n]?.single ?? 0))).toBe(true);
  });

  const counters = async (): Promise<{ single: number; multi: number }[]> => {
    const counts: { single: number; multi: number }[] = [];
    for (const { url: node } of cluster.nodes) {
      const [row] = await runSql<{ single: number; multi: number }>(
        urlOf(node, DATABASE),
        `select query_execution_single_shard::int as single,
           query_execution_multi_shard::int as multi
         from citus_stat_counters
         where name = current_database()`,
      );
      counts.push(row ?? { single: 0, multi: 0 });
    }
    return counts;
  };

  test('an endpoint that has failed for long is paused, and its admins are mailed', async () => {
    const team = 'team_t1';
    const now = new Date();
    const db = openDatabase({ url, poolMax: 4, onError: () => undefined });
    await query(
      `update webhook_endpoint
       set failing_since = $2, hourly_failures = array[$2::timestamptz]
       where team_id = $1`,
      [team, now],
    );
    const pause = {
      failingUntil: now,
      failedAfter: now,
      clock: systemClock,
      requestId: 'r',
    };
    expect(await pauseEndpoints(db, pause)).toBe(1);
    expect(await pauseEndpoints(db, pause)).toBe(0);
    await db.close();
    const found = await query(
      `select status,
         (
           select count(*)::int
           from audit_log
           where team_id = $1 and action = 'webhook_endpoint.paused'
         ) as entries,
         (
           select count(*)::int
           from pending_job
           where team_id = $1 and task = 'mail_pause_to_admins'
         ) as jobs
       from webhook_endpoint
       where team_id = $1`,
      [team],
    );
    expect(found).toEqual([{ status: 'disabled_failures', entries: 1, jobs: 1 }]);
    await query(
      `update webhook_endpoint
       set status = 'active', failing_since = null, hourly_failures = '{}'
       where team_id = $1`,
      [team],
    );
  });

  test('a killed worker loses nothing: another one attempts what it had in hand', async () => {
    const gate = held(status(200));
    for (const team of TEAMS) receiver.on(`/${team}`, gate.behaviour);
    const victim = await startWorker();
    const ids = await raise(TEAMS, 2);
    await until(() => countArrived(ids).filter((count) => count > 0).length >= TEAMS.length);
    const [owner] = await query<{ claimed_by: number }>(
      'select distinct claimed_by from webhook_delivery where claimed_by is not null',
    );
    await startWorker();
    await victim.kill('SIGKILL');
    const killedAt = performance.now();
    await until(
      async () =>
        (await query('select from webhook_delivery where claimed_by = $1', [owner?.claimed_by]))
          .length === 0,
    );
    const ms = Math.round(performance.now() - killedAt);
    console.log(`the claims of a killed worker were released on all nodes after ${ms} ms`);
    expect(ms).toBeLessThan(NOTICED_MS);
    gate.open();
    await recorded(ids);
    expect(haveArrived(ids)).toBe(true);
    expect(await query(`select from webhook_delivery where claimed_by is not null`)).toEqual([]);
  });

  test('a node that is away delays its own teams only', async () => {
    const byNode = await teamsByNode();
    const [, gone, stays] = cluster.nodes;
    const away = byNode.get(gone?.port ?? 0) ?? [];
    const here = byNode.get(stays?.port ?? 0) ?? [];
    expect(Math.min(away.length, here.length)).toBeGreaterThan(0);
    const first = await startWorker();
    await recorded(await raise(TEAMS));
    await gone?.kill();
    await recorded(await raise(here, 3), here);
    await gone?.start();
    await recorded(await raise(TEAMS));
    await first.kill('SIGTERM');
    const late = await raise(away);
    await gone?.kill();
    // This one starts without the node, and sees it come.
    await startWorker();
    await recorded(await raise(here, 3), here);
    expect(countArrived(late).every((count) => count === 0)).toBe(true);
    await gone?.start();
    await recorded(late, away);
  });

  /** Raises events all the time while `work` runs. Returns their ids. */
  const raisingDuring = async (work: () => Promise<unknown>): Promise<string[]> => {
    const ids: string[] = [];
    let isDone = false;
    const raising = (async () => {
      while (!isDone) {
        ids.push(...(await raise(TEAMS)));
        await delay(20);
      }
    })();
    await work();
    isDone = true;
    await raising;
    return ids;
  };

  test('a shard that moves under load loses nothing', async () => {
    await startWorker();
    await recorded(await raise(TEAMS));
    const [, from, to] = cluster.nodes;
    const before = (await teamsByNode()).get(from?.port ?? 0)?.length;
    const [shard] = await query<{ id: string }>(
      `select s.shardid as id
       from pg_dist_shard s
       join pg_dist_placement p using (shardid)
       join pg_dist_node n using (groupid)
       where logicalrelid = 'team'::regclass and n.nodeport = $1
       limit 1`,
      [from?.port],
    );
    const ids = await raisingDuring(() =>
      runSql(
        url,
        `select citus_move_shard_placement(${shard?.id}, '127.0.0.1', ${from?.port},
           '127.0.0.1', ${to?.port}, 'auto')`,
      ),
    );
    await recorded(ids);
    expect((await teamsByNode()).get(from?.port ?? 0)?.length ?? 0).toBeLessThan(before ?? 0);
    await recorded(await raise(TEAMS));
  });
});
