// How the figures change as the service grows: more API processes, more teams, more rows of one
// team, more webhook endpoints, more workers. Each curve ends with its last figure beside its first
// one. The processes share one processor, so it is their work for each request that must not grow.
import { setTimeout as delay } from 'node:timers/promises';
import {
  measureDeliveries,
  prepareEvents,
  seedSubscribers,
  startReceiver,
  startWorker,
  type Subscribers,
} from './deliveries.ts';
import type { Outcome } from './load.ts';
import { PATH } from './list.ts';
import { cpuMsOf } from './processes.ts';
import { atMost, median, printCurve, type Point } from './report.ts';
import {
  API,
  COMBINATION,
  httpRequest,
  seedFile,
  type ServerProcess,
  type World,
} from './world.ts';

/** How far each curve goes. */
export interface Growth {
  readonly teams: readonly number[];
  readonly rows: readonly number[];
  readonly endpoints: readonly number[];
  readonly deliveries: number;
}

const PROCESSES = [1, 2, 3, 4];
const WORKERS = [1, 2, 4, 8];
/** Connections to each process. */
const CONCURRENCY = 16;
const TEMPLATE = 'team_seed';
/** Six letters: the prefixes of the copies' keys begin with them. */
const PREFIX = 'growth';
/** Rows for one statement. */
const STEP = 1_000_000;
const ENDPOINTS_PER_TEAM_MAX = 50;
const IDLE_MS = 5_000;
/** Of each number of deliveries. In one of them Postgres may be busy with a vacuum. */
const RUNS = 3;
/** Work for one request may become so much more over a whole curve. */
const FLAT = atMost(1.3);

interface Options {
  readonly stack: AsyncDisposableStack;
  readonly growth: Growth;
  readonly seconds: number;
}

/** Prints all curves. Seeds its own teams and starts its own servers. */
export async function benchGrowth(
  world: World,
  { stack, growth, seconds }: Options,
): Promise<void> {
  const api = await world.start(API, '/readyz');
  const keys = await world.seed(
    seedFile([{ id: TEMPLATE, generate: { members: 1, assignments: 60 } }]),
  );
  const key = keys.get(TEMPLATE) ?? '';
  await growRows(world, api, { key, rows: growth.rows });
  const teamKeys = await growTeams(world, api, { key, teams: growth.teams, seconds });
  await growProcesses(world, api, { keys: teamKeys, seconds });
  await growEndpoints(world, { stack, growth });
}

/** One team with more and more assignments. */
async function growRows(
  world: World,
  api: ServerProcess,
  { key, rows }: { readonly key: string; readonly rows: readonly number[] },
): Promise<void> {
  const { rows: members } = await world.pool.query<{ id: string; member_id: string }>(
    'select id, member_id from assignment where team_id = $1 limit 1',
    [TEMPLATE],
  );
  const [first] = members;
  if (!first) throw new Error('the first team has no assignment');
  const body = { ...COMBINATION, member_id: first.member_id, title: 'Practise objections' };
  const asked = {
    'first page': httpRequest('GET', key, PATH),
    'one assignment': httpRequest('GET', key, `/assignments/${first.id}`),
    'new assignment': httpRequest('POST', key, '/assignments', { body }),
  };
  const points: Point[][] = Object.keys(asked).map(() => []);
  let has = 60;
  for (const count of rows) {
    await copyAssignments(world, { from: has, to: count });
    has = count;
    const job = { ports: [api.port], requests: Object.values(asked), concurrency: 1 };
    await world.load({ ...job, until: { rounds: 30 } });
    const { mediansMs } = await world.load({ ...job, until: { rounds: 200 } });
    mediansMs.forEach((ms, place) => points[place]?.push([count, ms]));
  }
  Object.keys(asked).forEach((name, place) =>
    printCurve(`${name}, ms`, 'rows of one team', points[place] ?? [], FLAT),
  );
}

/** More and more teams, each of which is asked for its page in turn. Returns their keys. */
async function growTeams(
  world: World,
  api: ServerProcess,
  { key, teams, seconds }: { key: string; teams: readonly number[]; seconds: number },
): Promise<string[]> {
  const keys: string[] = [];
  const points: { readonly cpu: Point[]; readonly ms: Point[] } = { cpu: [], ms: [] };
  for (const count of teams) {
    await copyTeams(world, { from: keys.length, to: count });
    for (let n = keys.length; n < count; n += 1) keys.push(keyOfCopy(key, n));
    // The first request of a key costs more. It comes once in the life of a process.
    const requests = keys.map((each) => httpRequest('GET', each, PATH));
    const all = { ports: [api.port], requests, concurrency: CONCURRENCY };
    await world.load({ ...all, until: { rounds: 1 } });
    const { cpuUs, outcome } = await ask(world, [api], { keys, seconds });
    points.cpu.push([count, cpuUs]);
    points.ms.push([count, outcome.medianMs]);
  }
  printCurve('list of 50, server CPU, µs/request', 'teams', points.cpu, FLAT);
  printCurve('list of 50, median ms at 16', 'teams', points.ms, FLAT);
  return keys;
}

/** The same load on more and more processes. */
async function growProcesses(
  world: World,
  api: ServerProcess,
  { keys, seconds }: { readonly keys: readonly string[]; readonly seconds: number },
): Promise<void> {
  const some = keys.slice(0, 200);
  const servers = [api];
  const points: Point[] = [];
  for (const count of PROCESSES) {
    while (servers.length < count) servers.push(await world.start(API, '/readyz'));
    // Compiled code is compared, so each process is warmed up alone.
    for (const server of servers.slice(1)) await ask(world, [server], { keys: some, seconds });
    points.push([count, (await ask(world, servers, { keys: some, seconds })).cpuUs]);
  }
  printCurve('list of 50, server CPU, µs/request', 'API processes', points, FLAT);
}

async function ask(
  world: World,
  servers: readonly ServerProcess[],
  { keys, seconds }: { readonly keys: readonly string[]; readonly seconds: number },
): Promise<{ cpuUs: number; outcome: Outcome }> {
  const requests = keys.map((key) => httpRequest('GET', key, PATH));
  const ports = servers.map(({ port }) => port);
  const job = { ports, requests, concurrency: CONCURRENCY * ports.length };
  await world.load({ ...job, until: { seconds } });
  const before = await cpuMsOf(servers);
  const outcome = await world.load({ ...job, until: { seconds: 2 * seconds } });
  return { cpuUs: (1000 * ((await cpuMsOf(servers)) - before)) / outcome.count, outcome };
}

/** Deliveries to more and more webhook endpoints, then by more and more workers. */
async function growEndpoints(
  world: World,
  { stack, growth }: Pick<Options, 'stack' | 'growth'>,
): Promise<void> {
  const { endpoints, deliveries } = growth;
  const receiver = await startReceiver(stack);
  const workers = [await startWorker(world)];
  const deliverOnce = async (to: Subscribers): Promise<{ cpuUs: number; postgresUs: number }> => {
    const begin = await prepareEvents(world, to, deliveries);
    const before = await world.postgresMs();
    const { cpuUs } = await measureDeliveries(receiver, workers, { deliveries, begin });
    return { cpuUs, postgresUs: (1000 * ((await world.postgresMs()) - before)) / deliveries };
  };
  const deliver = async (to: Subscribers): Promise<{ cpuUs: number; postgresUs: number }> => {
    // Compiled code is compared, so each worker warms up as long.
    for (const _ of workers) await deliverOnce(to);
    const runs: { cpuUs: number; postgresUs: number }[] = [];
    while (runs.length < RUNS) runs.push(await deliverOnce(to));
    return {
      cpuUs: median(runs.map((run) => run.cpuUs)),
      postgresUs: median(runs.map((run) => run.postgresUs)),
    };
  };
  const busy: Point[] = [];
  const idle: Point[] = [];
  const steps = endpoints.map((count): Subscribers => {
    const perTeam = Math.min(count, ENDPOINTS_PER_TEAM_MAX);
    return { prefix: `team_of_${count}_`, teams: Math.ceil(count / perTeam), perTeam };
  });
  for (const [place, step] of steps.entries()) {
    const count = endpoints[place] ?? NaN;
    await seedSubscribers(world, step, receiver.url);
    busy.push([count, (await deliver(step)).cpuUs]);
    idle.push([count, await idleMs(workers)]);
  }
  printCurve('worker CPU, µs/delivery', 'webhook endpoints', busy, FLAT);
  printCurve('idle worker CPU, ms/s', 'webhook endpoints', idle, FLAT);
  const [middle] = steps.slice(steps.length >> 1);
  if (!middle) throw new Error('no number of endpoints');
  const byWorkers: Point[] = [];
  const postgres: Point[] = [];
  for (const count of WORKERS) {
    while (workers.length < count) workers.push(await startWorker(world));
    const { cpuUs, postgresUs } = await deliver(middle);
    byWorkers.push([count, cpuUs]);
    postgres.push([count, postgresUs]);
  }
  printCurve('CPU of all workers, µs/delivery', 'workers', byWorkers, FLAT);
  printCurve('CPU of Postgres, µs/delivery', 'workers', postgres, FLAT);
}

/** Milliseconds that the servers compute in a second without work. */
async function idleMs(servers: readonly ServerProcess[]): Promise<number> {
  const [before, startedAt] = [await cpuMsOf(servers), performance.now()];
  await delay(IDLE_MS);
  return (1000 * ((await cpuMsOf(servers)) - before)) / (performance.now() - startedAt);
}

// Copies of what the seed has loaded, made in Postgres: the seed would take hours for them.

/** The numbers of the copies, without `to`. */
interface Numbers {
  readonly from: number;
  readonly to: number;
}

/** Makes copies of the 60 assignments of the team `TEMPLATE`. */
async function copyAssignments({ pool }: World, { from, to }: Numbers): Promise<void> {
  const client = await pool.connect();
  try {
    // Copies of good rows: their foreign keys need no checks.
    await client.query('set session_replication_role = replica');
    for (let start = from; start < to; start += STEP)
      await client.query(
        `insert into assignment
         select made.*
         from generate_series($2::int, $3::int) n
         join (
           select a, row_number() over () - 1 as place
           from assignment a
           where team_id = $1 and id not like 'asg_copy_%'
           limit 60
         ) template on place = n % 60
         cross join lateral jsonb_populate_record(a, jsonb_build_object(
           'id', 'asg_copy_' || n,
           'created_at', timestamptz '2020-01-01' + n * interval '10 seconds'
         )) made`,
        [TEMPLATE, start, Math.min(to, start + STEP) - 1],
      );
    await client.query('vacuum (analyze) assignment');
  } finally {
    client.release(true);
  }
}

/** Makes copies of the team `TEMPLATE`: its people, its newest 50 assignments, its keys. */
async function copyTeams({ pool }: World, { from, to }: Numbers): Promise<void> {
  const client = await pool.connect();
  const id = `'team_${PREFIX}_' || n`;
  const copy = (table: string, changes: string): Promise<unknown> =>
    client.query(
      `insert into ${table}
       select made.*
       from (select r from ${table} r where ${table === 'team' ? 'id' : 'team_id'} = $1
         ${table === 'assignment' ? `order by id desc limit 50` : ''}) t
       cross join generate_series($2::int, $3::int) n
       cross join lateral jsonb_populate_record(r, jsonb_build_object(${changes})) made`,
      [TEMPLATE, from, to - 1],
    );
  try {
    await client.query('set session_replication_role = replica');
    await copy('team', `'id', ${id}, 'name', 'Copy ' || n`);
    for (const table of ['person', 'member', 'catalog_release', 'assignment'])
      await copy(table, `'team_id', ${id}`);
    for (const table of ['api_key', 'key_directory'])
      await copy(table, `'team_id', ${id}, 'prefix', '${PREFIX}' || lpad(n::text, 8, '0')`);
    await client.query('vacuum (analyze)');
  } finally {
    client.release(true);
  }
}

/** The key of copy number `n`, made from the key of the team `TEMPLATE`. */
function keyOfCopy(key: string, n: number): string {
  const secret = key.slice(key.lastIndexOf('_') + 1);
  return `svck_live_${PREFIX}${String(n).padStart(8, '0')}_${secret}`;
}
