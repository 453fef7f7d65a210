// Mixed load on two API processes and two workers, for as long as it is told. What grows by the
// hour is found here: memory, response times, connections, jobs, deliveries that nobody sends.
import { readdir } from 'node:fs/promises';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { COMBINATION, seedFile } from './data.ts';
import { startWorker } from './deliveries.ts';
import { atMost, printFigures, printHeading } from './report.ts';
import { listen } from './serve.ts';
import { readMemoryMb, type ServerProcess, type World } from './world.ts';

const TEAMS = 20;
const CLIENTS = 8;
/** Each client rests this long after a request, so that the load stays the same all the time. */
const REST_MS = 60;
/** The heaps of an hour's soak reach their size after a quarter of it, and keep it. */
const WARM_UP_SHARE = 0.3;
const SETTLE_MS = 60_000;
const RETRIES = { WEBHOOK_RETRY_DELAYS_S: '1,2,4' };

/** What one minute looked like. */
interface Minute {
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** Megabytes of each process, in the order of `processes`. */
  readonly memoryMb: readonly number[];
  readonly files: readonly number[];
  readonly connections: number;
  readonly jobs: number;
}

interface Counts {
  requests: number;
  webhooks: number;
  /** Status → how often, of all that is not 2xx. */
  readonly refused: Record<string, number>;
}

/** Prints a line a minute, then how each figure changed over the time. */
export async function benchSoak(
  world: World,
  api: ServerProcess,
  { stack, minutes }: { readonly stack: AsyncDisposableStack; readonly minutes: number },
): Promise<void> {
  const counts: Counts = { requests: 0, webhooks: 0, refused: {} };
  const url = await startReceiver(stack, counts);
  const keys = await seed(world, url);
  const second = await world.start(new URL('../../src/api.ts', import.meta.url), '/readyz');
  const workers = [await startWorker(world, RETRIES), await startWorker(world, RETRIES)];
  const processes = [api, second, ...workers];
  const times: number[] = [];
  const endsAt = performance.now() + minutes * 60_000;
  const isOver = (): boolean => performance.now() > endsAt;
  const clients = Array.from({ length: CLIENTS }, (_, number) =>
    runClient({ port: (number % 2 === 0 ? api : second).port, keys, times, counts, isOver }),
  );
  printHeading(`Soak, ${minutes} min, 2 APIs, 2 workers`, [
    'p50, p95 ms',
    'MB in all',
    'conn., jobs',
  ]);
  const seen: Minute[] = [];
  while (!isOver()) {
    await delay(60_000);
    const minute = await look(world, processes, times.splice(0));
    seen.push(minute);
    printFigures(`  minute ${seen.length}, ${counts.requests} requests`, [
      `${minute.p50Ms.toFixed(1)} ${minute.p95Ms.toFixed(1)}`,
      minute.memoryMb.reduce((sum, mb) => sum + mb, 0).toFixed(0),
      `${minute.connections} ${minute.jobs}`,
    ]);
  }
  await Promise.all(clients);
  await judge(world, { seen, counts });
}

async function seed(world: World, url: string): Promise<string[]> {
  const teams = Array.from({ length: TEAMS }, (_, index) => ({
    id: `team_soak_${index}`,
    generate: { members: 20, trainings: 500, assignments: 500, random_seed: index + 1 },
  }));
  const file = seedFile(teams);
  const keys = await world.seed({
    ...file,
    teams: (file.teams ?? []).map((team) => ({
      ...team,
      webhook_endpoints: ['a', 'b'].map((name) => ({
        id: `whe_${team.id}_${name}`,
        url: `${url}/${name}`,
        events: ['assignment.created', 'assignment.completed'],
      })),
    })),
  });
  return [...keys.values()];
}

/** A receiver that refuses one request in fifty, so that retries are part of the load. */
function startReceiver(stack: AsyncDisposableStack, counts: Counts): Promise<string> {
  const server = createServer((request, response) => {
    request.resume();
    counts.webhooks += 1;
    response.writeHead(counts.webhooks % 50 === 0 ? 500 : 200).end();
  });
  return listen(stack, server);
}

/** Reads three times, creates, changes what it created, and removes every other one. */
async function runClient(client: {
  readonly port: number;
  readonly keys: readonly string[];
  readonly times: number[];
  readonly counts: Counts;
  readonly isOver: () => boolean;
}): Promise<void> {
  const { port, keys, times, counts, isOver } = client;
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 1 });
  const send = async (
    key: string,
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    { body, headers = {} }: { body?: object; headers?: Record<string, string> } = {},
  ): Promise<{ id?: string }> => {
    const startedAt = performance.now();
    const { statusCode, body: given } = await pool.request({
      method,
      path: BASE_PATH + path,
      body: body === undefined ? null : JSON.stringify(body),
      headers: {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
    });
    const text = await given.text();
    times.push(performance.now() - startedAt);
    counts.requests += 1;
    if (statusCode >= 300) counts.refused[statusCode] = (counts.refused[statusCode] ?? 0) + 1;
    await delay(REST_MS);
    return text === '' ? {} : (JSON.parse(text) as { id?: string });
  };
  for (let round = 0; !isOver(); round += 1) {
    const key = keys[(round * CLIENTS + port) % keys.length] ?? '';
    await send(key, 'GET', '/me');
    await send(key, 'GET', '/assignments?limit=50');
    await send(key, 'GET', '/trainings?limit=50');
    await send(key, 'GET', '/analytics/team');
    const created = await send(key, 'POST', '/assignments', {
      body: { ...COMBINATION, member_id: 'mem_gen_0000001', title: `Round ${round}` },
      headers: { 'idempotency-key': crypto.randomUUID() },
    });
    if (created.id === undefined) continue;
    await send(key, 'PATCH', `/assignments/${created.id}`, { body: { status: 'done' } });
    if (round % 2 === 0) await send(key, 'DELETE', `/assignments/${created.id}`);
  }
  await pool.close();
}

async function look(
  { pool }: World,
  processes: readonly ServerProcess[],
  times: readonly number[],
): Promise<Minute> {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? NaN;
  const { rows } = await pool.query<{ connections: number; jobs: number }>(
    `select
       (select count(*)::int from pg_stat_activity
        where datname = current_database() and backend_type = 'client backend') as connections,
       (select count(*)::int from graphile_worker.jobs) as jobs`,
  );
  return {
    p50Ms: at(0.5),
    p95Ms: at(0.95),
    memoryMb: await Promise.all(processes.map(({ pid }) => readMemoryMb(pid))),
    files: await Promise.all(
      processes.map(async ({ pid }) => (await readdir(`/proc/${pid}/fd`)).length),
    ),
    connections: rows[0]?.connections ?? NaN,
    jobs: rows[0]?.jobs ?? NaN,
  };
}

async function judge(
  world: World,
  { seen, counts }: { readonly seen: readonly Minute[]; readonly counts: Counts },
): Promise<void> {
  const steady = seen.slice(Math.floor(seen.length * WARM_UP_SHARE));
  printHeading('Change from the first to the last steady minute', ['mean', 'change', '%']);
  const names = ['API 1', 'API 2', 'worker 1', 'worker 2'];
  const rows: [string, (minute: Minute) => number, number][] = [
    ['p50, ms', ({ p50Ms }) => p50Ms, 15],
    ['p95, ms', ({ p95Ms }) => p95Ms, 25],
    ...names.flatMap((name, place): typeof rows => [
      [`memory of ${name}, MB`, ({ memoryMb }) => memoryMb[place] ?? NaN, 10],
      [`open files of ${name}`, ({ files }) => files[place] ?? NaN, 10],
    ]),
    ['connections to Postgres', ({ connections }) => connections, 10],
  ];
  for (const [what, figure, limit] of rows) {
    const { mean, change } = trend(steady.map(figure));
    const percent = (100 * change) / mean;
    printFigures(`  ${what}`, [mean.toFixed(1), change.toFixed(1), percent.toFixed(1)], {
      value: percent,
      target: atMost(limit, ' %'),
    });
  }
  await delay(SETTLE_MS);
  const { rows: left } = await world.pool.query<{ deliveries: number; jobs: number }>(
    `select
       (select count(*)::int from webhook_delivery where status = 'pending') as deliveries,
       (select count(*)::int from graphile_worker.jobs where run_at < now()) as jobs`,
  );
  const refused = Object.values(counts.refused).reduce((sum, count) => sum + count, 0);
  for (const [what, value] of [
    ['  responses that are not 2xx', refused],
    ['  deliveries left', left[0]?.deliveries ?? NaN],
    ['  due jobs left', left[0]?.jobs ?? NaN],
  ] as const)
    printFigures(what, [String(value)], { value, target: atMost(0) });
  console.log(`  ${counts.requests} requests, ${counts.webhooks} webhooks`, counts.refused);
}

/** The line of least squares through the values: its mean, and how much it rises over all. */
function trend(values: readonly number[]): { mean: number; change: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const middle = (values.length - 1) / 2;
  const { up, across } = values.reduce(
    (sums, value, place) => ({
      up: sums.up + (place - middle) * (value - mean),
      across: sums.across + (place - middle) ** 2,
    }),
    { up: 0, across: 0 },
  );
  return { mean, change: (up / across) * (values.length - 1) };
}
