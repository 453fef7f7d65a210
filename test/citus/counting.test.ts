// What requests and deliveries cost with 1, 2 and 4 nodes, by counting: on two cores, time would
// say nothing about growth. Each request stays in one shard, so its cost does not grow with them.
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { loadTestSeed, startTestApi } from '../support/api.ts';
import { startWorkerProcess } from '../support/processes.ts';
import {
  createDistributed,
  runSql,
  startCitus,
  urlOf,
  whyNoCitus,
  type CitusCluster,
} from '../support/citus.ts';
import { because } from '../support/debian.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { makeSeed, makeTeam, memberId } from '../support/seed.ts';
import { until } from '../support/until.ts';

const skipped = whyNoCitus();
const DATABASE = 'counting';
const SHARDS = 8;
const NAMES = Array.from({ length: 16 }, (_, n) => `c${n}`);
const ROUNDS = 20;
const CALLS = ROUNDS * NAMES.length;
const IDLE_MS = 5_000;
/** What more nodes may do more, by chance: other teams come together in a batch. */
const most = (first: number): number => 1.5 * first + 1;

/** What one call cost, on average. */
interface Cost {
  readonly what: string;
  readonly nodes: number;
  /** That the coordinator got, and that the nodes got: each is a round trip. */
  readonly atCoordinator: number;
  readonly atNodes: number;
  /** That the nodes read from the tables of teams. */
  readonly rows: number;
  /** Statements of all calls that went to more than one shard. */
  readonly multiShard: number;
}

/** Counters of all servers, the coordinator first. */
interface Counters {
  readonly statements: readonly number[];
  readonly multiShard: number;
}

const costs: Cost[] = [];

describe.skipIf(skipped !== null)(`the cost of a call on Citus${because(skipped)}`, () => {
  test.each([1, 2, 4])('is counted with %i nodes', async (workers) => {
    const world = await makeWorld(workers);
    costs.push(
      await countRequests(world, 'GET /users', (name) => ({ path: '/users', name })),
      await countRequests(world, 'POST /assignments', (name, key) => ({
        path: '/assignments',
        name,
        key,
      })),
      await countDeliveries(world),
    );
    await world.cluster.stop();
    expect(costs.filter(({ nodes }) => nodes === workers)).toHaveLength(3);
  });

  test('does not grow with the nodes', () => {
    for (const cost of costs) console.log(describeCost(cost));
    const least = costs.filter(({ nodes }) => nodes === 1);
    expect(least).toHaveLength(3);
    for (const first of least) {
      for (const cost of costs.filter(({ what }) => what === first.what)) {
        expect(cost.atCoordinator).toBeLessThanOrEqual(most(first.atCoordinator));
        expect(cost.atNodes).toBeLessThanOrEqual(most(first.atNodes));
        expect(cost.rows).toBeLessThanOrEqual(most(first.rows));
        expect(cost.multiShard).toBe(0);
      }
    }
  });
});

interface World {
  readonly cluster: CitusCluster;
  readonly url: string;
  /** As another role, so that what the test does itself is not counted. */
  readonly testUrl: string;
  readonly receiver: Receiver;
  readonly keys: ReadonlyMap<string, string>;
}

async function makeWorld(workers: number): Promise<World> {
  const receiver = await startReceiver();
  const cluster = await startCitus({
    workers,
    shards: SHARDS,
    settings: {
      shared_preload_libraries: 'citus,pg_stat_statements',
      'citus.enable_stat_counters': 'on',
    },
  });
  const url = await createDistributed(cluster, DATABASE);
  // Citus creates it on the other nodes, too.
  await runSql(url, 'create extension pg_stat_statements');
  const seed = makeSeed(
    NAMES.map((name) =>
      makeTeam(name, {
        webhook_endpoints: [
          { id: 'whe_1', url: `${receiver.url}/${name}`, events: ['assignment.completed'] },
        ],
      }),
    ),
  );
  const { teams } = await loadTestSeed({ url }, seed);
  await runSql(url, 'create role tester superuser login');
  const testUrl = url.replace('postgres@', 'tester@');
  const keys = NAMES.map((name) => [name, teams[`team_${name}`]?.api_keys['full'] ?? ''] as const);
  return { cluster, url, testUrl, receiver, keys: new Map(keys) };
}

/**
 * Counts the calls of all teams. Those without a key are reads. The process writes no log of
 * requests, and no usage: those are written for many requests at once.
 */
async function countRequests(
  world: World,
  what: string,
  describeCall: (name: string, key: string) => { path: string; name: string; key?: string },
): Promise<Cost> {
  const database = { url: world.url, drop: async () => undefined };
  const api = await startTestApi({ seed: makeSeed([]), database });
  const rowsBefore = await readRows(world);
  const callAll = async (rounds: readonly number[]): Promise<void> => {
    for (const round of rounds) {
      for (const team of NAMES) {
        const { path, name, key } = describeCall(team, `${team} ${round}`);
        const secret = world.keys.get(name) ?? '';
        const response = await (key === undefined
          ? api.call(secret, 'GET', path)
          : api.call(secret, 'POST', path, {
              body: assignmentOf(name, key),
              headers: { 'idempotency-key': key },
            }));
        expect(response.status).toBe(key === undefined ? 200 : 201);
      }
    }
  };
  // A key's first call costs more, and so does each connection's first statement.
  await callAll([-1]);
  const counted = await count(world, () => callAll(range(ROUNDS)));
  await api.stop();
  return costOf(world, what, { counted, rowsBefore, calls: CALLS + NAMES.length });
}

/** Counts the deliveries of events, from the fan-out to the result. */
async function countDeliveries(world: World): Promise<Cost> {
  const rowsBefore = await readRows(world);
  const worker = await startWorkerProcess(world.url, { WEBHOOK_ALLOW_PRIVATE_TARGETS: '1' });
  let raised = 0;
  const raise = async (): Promise<void> => {
    raised += 1;
    const id = `evt_${String(raised).padStart(6, '0')}`;
    for (const name of NAMES)
      await runSql(
        world.testUrl,
        `insert into event (team_id, id, type, data, created_at)
         values ('team_${name}', '${id}', 'assignment.completed', '{}', now())`,
      );
    await runSql(world.testUrl, `select pg_notify('wake_deliveries', '')`);
    await until(() => world.receiver.requests.length >= raised * NAMES.length);
    const isDone = async (): Promise<boolean> =>
      (
        await runSql(
          world.testUrl,
          'select from webhook_delivery where claimed_by is not null limit 1',
        )
      ).length === 0;
    await until(isDone);
  };
  await raise();
  const startedAt = performance.now();
  const busy = await count(world, async () => {
    for (let round = 0; round < ROUNDS; round += 1) await raise();
  });
  const ms = performance.now() - startedAt;
  // What a worker asks by itself depends on the time.
  const idle = await count(world, () => delay(IDLE_MS));
  const counted = {
    statements: busy.statements.map(
      (number, index) => number - ((idle.statements[index] ?? 0) * ms) / IDLE_MS,
    ),
    // The test itself asks all shards whether the deliveries are done.
    multiShard: 0,
  };
  const calls = raised * NAMES.length;
  await worker.kill('SIGTERM');
  return costOf(world, 'a delivery', { counted, rowsBefore, calls });
}

async function count(world: World, work: () => Promise<void>): Promise<Counters> {
  const before = await readCounters(world);
  await work();
  const after = await readCounters(world);
  return {
    statements: after.statements.map((count, index) => count - (before.statements[index] ?? 0)),
    multiShard: after.multiShard - before.multiShard,
  };
}

/** Call it when the process has ended: sessions tell at their end how many rows they read. */
async function costOf(
  world: World,
  what: string,
  {
    counted,
    rowsBefore,
    calls,
  }: { readonly counted: Counters; readonly rowsBefore: number; readonly calls: number },
): Promise<Cost> {
  const rows = (await readRows(world)) - rowsBefore;
  const [atCoordinator = 0, ...atNodes] = counted.statements;
  return {
    what,
    nodes: atNodes.length,
    atCoordinator: atCoordinator / CALLS,
    atNodes: atNodes.reduce((sum, count) => sum + count, 0) / CALLS,
    rows: rows / calls,
    multiShard: counted.multiShard,
  };
}

/** What processes and nodes do by themselves each second, and how the counters are read. */
const OTHERS = [
  'transaction_read_only',
  '_prisma_migrations',
  'pg_extension',
  'pg_dist_',
  'pg_stat_',
  'pg_prepared_xacts',
  'dump_local_wait_edges',
  'graphile_worker',
];

async function readCounters({ cluster }: World): Promise<Counters> {
  const statements: number[] = [];
  let multiShard = 0;
  for (const { url } of cluster.nodes) {
    const [row] = await runSql<{ statements: number; multi: number }>(
      urlOf(url, DATABASE),
      `select
         (
           select coalesce(sum(calls), 0)::int
           from pg_stat_statements s
           join pg_database d on d.oid = s.dbid
           join pg_roles r on r.oid = s.userid
           where d.datname = current_database()
             and r.rolname = 'postgres'
             and not (
               regexp_replace(query, '[[:space:]]+', ' ', 'g')
                 like any (array[${OTHERS.map((text) => `'%${text}%'`).join(', ')}])
             )
         ) as statements,
         (
           select coalesce(sum(query_execution_multi_shard), 0)::int
           from citus_stat_counters
           where name = current_database()
         ) as multi`,
    );
    statements.push(row?.statements ?? 0);
    multiShard += row?.multi ?? 0;
  }
  return { statements, multiShard };
}

async function readRows({ cluster }: World): Promise<number> {
  let sum = 0;
  for (const { url } of cluster.nodes.slice(1)) {
    const [row] = await runSql<{ rows: number }>(
      `${urlOf(url, DATABASE)}?options=-c%20citus.override_table_visibility%3Doff`,
      `select sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as rows
       from pg_stat_all_tables
       where relname ~ '_[0-9]{6}$' and relname !~ '^(catalog|key_directory)'`,
    );
    sum += row?.rows ?? 0;
  }
  return sum;
}

function assignmentOf(name: string, title: string): object {
  return {
    member_id: memberId(name, 'member'),
    title,
    situation_id: 'sit_cold',
    personality_id: 'per_calm',
    industry_id: 'ind_saas',
  };
}

function describeCost({ what, nodes, atCoordinator, atNodes, rows, multiShard }: Cost): string {
  const each = (number: number): string => number.toFixed(1);
  return (
    `${what}, ${nodes} nodes: ${each(atCoordinator)} statements at the coordinator, ` +
    `${each(atNodes)} at all nodes, ${each(rows)} rows read, ${multiShard} at several shards`
  );
}

function range(length: number): number[] {
  return Array.from({ length }, (_, number) => number);
}
