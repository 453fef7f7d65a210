// Compares the worker with the floor: deliveries of events that are committed all at once, to many
// webhook endpoints of one receiver. The other measurements of deliveries share its parts.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { newId } from '../../src/core/ids.ts';
import { cpuMsOf } from './processes.ts';
import { atLeast, atMost, median, printRatios, printSides } from './report.ts';
import type { FloorJob } from './webhook-floor.ts';
import { seedFile, type ServerProcess, type World } from './world.ts';

/** Attempts in flight at once. */
const CONCURRENCY = 50;
const PATIENCE_MS = 120_000;
const SUBSCRIBERS = { prefix: 'team_hooks_', teams: 20, perTeam: 5 };
const ENDPOINTS = SUBSCRIBERS.teams * SUBSCRIBERS.perTeam;

/** What the worker delivers to. */
export interface Receiver {
  readonly url: string;
  readonly arrivals: Arrival[];
}

/** A request that was received, in Unix time. */
interface Arrival {
  readonly atMs: number;
  readonly createdAtMs: number;
  readonly memberId: string | undefined;
}

/** Teams with webhook endpoints, and how many of both. */
export interface Subscribers {
  /** Before the number of each team. */
  readonly prefix: string;
  readonly teams: number;
  readonly perTeam: number;
}

/** How a number of deliveries went. */
interface Run {
  readonly perSecond: number;
  readonly cpuUs: number;
}

/** Prints the comparison. Seeds its own teams and starts its own workers, floor and receiver. */
export async function benchDeliveries(
  worlds: ReadonlyMap<string, World>,
  stack: AsyncDisposableStack,
  { runs, deliveries }: { readonly runs: number; readonly deliveries: number },
): Promise<void> {
  const receiver = await startReceiver(stack);
  const sides: { name: string; runs: Run[]; run: () => Promise<Run> }[] = [];
  for (const [name, world] of worlds) {
    await seedSubscribers(world, SUBSCRIBERS, receiver.url);
    if (sides.length === 0) {
      const floor = await world.start('scripts/bench/webhook-floor.ts', '/');
      const job: FloorJob = { url: receiver.url, count: deliveries, concurrency: CONCURRENCY };
      const body = JSON.stringify(job);
      const begin = () => fetch(`http://127.0.0.1:${floor.port}/`, { method: 'POST', body });
      const run = () => measureDeliveries(receiver, [floor], { deliveries, begin });
      sides.push({ name: 'floor', runs: [], run });
    }
    const worker = await startWorker(world);
    const run = async (): Promise<Run> => {
      const begin = await prepareEvents(world, SUBSCRIBERS, deliveries);
      return measureDeliveries(receiver, [worker], { deliveries, begin });
    };
    sides.push({ name, runs: [], run });
  }
  // Warm up all, so that compiled code is compared.
  for (const { run } of sides) await run();
  for (let turn = 0; turn < runs; turn += 1) {
    for (const side of turn % 2 === 0 ? sides : sides.toReversed())
      side.runs.push(await side.run());
  }
  const names = sides.map(({ name }) => name);
  printSides(`Deliveries, ${ENDPOINTS} endpoints, ${CONCURRENCY} in flight`, names);
  for (const [name, figure, target] of [
    ['deliveries/s', 'perSecond', atLeast(0.75)],
    ['processor, µs/delivery', 'cpuUs', atMost(2)],
  ] as const) {
    const medians = sides.map((side) => median(side.runs.map((run) => run[figure])));
    printRatios(`  ${name}`, medians, target);
  }
}

/** Waits until `deliveries` that `begin` causes are received. Counts what the servers compute. */
export async function measureDeliveries(
  { arrivals }: Receiver,
  servers: readonly ServerProcess[],
  { deliveries, begin }: { readonly deliveries: number; readonly begin: () => Promise<unknown> },
): Promise<Run> {
  const [cpuMs, startedAt, before] = [await cpuMsOf(servers), performance.now(), arrivals.length];
  await begin();
  while (arrivals.length < before + deliveries) {
    if (performance.now() - startedAt > PATIENCE_MS) throw new Error('deliveries are missing');
    await delay(5);
  }
  const perSecond = deliveries / ((performance.now() - startedAt) / 1000);
  // The results of the last deliveries still have to be written.
  await delay(200);
  return { perSecond, cpuUs: ((await cpuMsOf(servers)) - cpuMs) * (1000 / deliveries) };
}

/** Runs in this process, so that its cost is counted neither as the floor's nor as the worker's. */
export async function startReceiver(stack: AsyncDisposableStack): Promise<Receiver> {
  const arrivals: Arrival[] = [];
  const server = createServer((request, response) => {
    const atMs = performance.timeOrigin + performance.now();
    void text(request).then((body) => {
      const { created_at, data } = JSON.parse(body) as {
        readonly created_at: string;
        readonly data: { readonly member_id?: string };
      };
      arrivals.push({ atMs, createdAtMs: Date.parse(created_at), memberId: data.member_id });
      response.end();
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  stack.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, arrivals };
}

export function startWorker(world: World): Promise<ServerProcess> {
  return world.start('src/worker.ts', '/metrics', (port) => ({
    METRICS_PORT: String(port),
    WORKER_CONCURRENCY: String(CONCURRENCY),
    // The receiver is on this machine. In production, the worker refuses to deliver to it.
    NODE_ENV: 'development',
    WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
  }));
}

/** Loads the teams, all of whose endpoints subscribe to the same events. Returns their keys. */
export async function seedSubscribers(
  world: World,
  { prefix, teams, perTeam }: Subscribers,
  url: string,
): Promise<string[]> {
  const file = seedFile(Array.from({ length: teams }, (_, n) => ({ id: `${prefix}${n}` })));
  const keys = await world.seed({
    ...file,
    teams: (file.teams ?? []).map((team) => ({
      ...team,
      webhook_endpoints: Array.from({ length: perTeam }, (_, n) => ({
        id: `whe_${team.id}_${n}`,
        url: `${url}${n}`,
        events: ['evaluation.completed', 'member.joined'],
      })),
    })),
  });
  return [...keys.values()];
}

/**
 * Writes events that make `deliveries` deliveries, of the teams in turn. Resolves with a function
 * that commits them all at once, which wakes the workers.
 */
export async function prepareEvents(
  { pool }: World,
  { prefix, teams, perTeam }: Subscribers,
  deliveries: number,
): Promise<() => Promise<void>> {
  const ids = Array.from({ length: deliveries / perTeam }, () => newId('event'));
  const client = await pool.connect();
  await client.query('begin');
  await client.query(
    `insert into event (team_id, id, type, data, created_at)
     select team, id, 'evaluation.completed',
       json_build_object('team_id', team, 'training_id', 'trn_0', 'user_id', 'usr_0', 'score', 77),
       clock_timestamp()
     from unnest($1::text[]) with ordinality as n (id, place)
     cross join lateral (select $2 || (place % $3::int) as team) t`,
    [ids, prefix, teams],
  );
  await client.query(`select pg_notify('wake_deliveries', '')`);
  return async () => {
    await client.query('commit');
    client.release();
  };
}
