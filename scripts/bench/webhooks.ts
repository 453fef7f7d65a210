// Compares the worker with the floor: deliveries of events that were written all at once, to many
// webhook endpoints of one receiver. Then measures how long a single delivery takes when the worker
// is idle.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import type { SeedFileInput } from '../../src/seed/schema.ts';
import { seedFile } from './data.ts';
import { atLeast, atMost, median, printFigures, printHeading } from './report.ts';
import type { FloorJob } from './webhook-floor.ts';
import { readCpuMs, type ServerProcess, type World } from './world.ts';

type TeamSeed = NonNullable<SeedFileInput['teams']>[number];

const CONCURRENCY = 50;
const TEAMS = 20;
const ENDPOINTS_PER_TEAM = 5;
const PATIENCE_MS = 120_000;

interface Run {
  readonly perSecond: number;
  readonly cpuUs: number;
}

interface Turn {
  readonly floor: Run;
  readonly worker: Run;
}

interface Receiver {
  readonly url: string;
  /** Milliseconds from the creation of each event until its request was received. */
  readonly latenciesMs: number[];
}

/** Prints both measurements. Seeds its own teams and starts its own worker, floor and receiver. */
export async function benchWebhooks(
  world: World,
  api: ServerProcess,
  options: { stack: AsyncDisposableStack; runs: number; deliveries: number; rounds: number },
): Promise<void> {
  const { stack, runs, deliveries, rounds } = options;
  const receiver = await startReceiver(stack);
  const keys = await seed(world, receiver.url);
  const floor = await world.start(new URL('./webhook-floor.ts', import.meta.url), '/');
  const worker = await startWorker(world);
  const measure = async ({ pid }: ServerProcess, begin: () => Promise<unknown>): Promise<Run> => {
    const [cpuMs, startedAt, before] = [
      await readCpuMs(pid),
      performance.now(),
      receiver.latenciesMs.length,
    ];
    await begin();
    while (receiver.latenciesMs.length < before + deliveries) {
      if (performance.now() - startedAt > PATIENCE_MS) throw new Error('deliveries are missing');
      await delay(5);
    }
    const perSecond = deliveries / ((performance.now() - startedAt) / 1000);
    // The worker still has to write the results of the last deliveries.
    await delay(200);
    return {
      perSecond,
      cpuUs: (((await readCpuMs(pid)) ?? NaN) - (cpuMs ?? NaN)) * (1000 / deliveries),
    };
  };
  const job: FloorJob = {
    url: `${receiver.url}/floor`,
    count: deliveries,
    concurrency: CONCURRENCY,
  };
  const ofFloor = (): Promise<Run> =>
    measure(floor, () =>
      fetch(`http://127.0.0.1:${floor.port}/`, { method: 'POST', body: JSON.stringify(job) }),
    );
  const ofWorker = (): Promise<Run> =>
    measure(worker, () => raiseEvents(world, deliveries / ENDPOINTS_PER_TEAM));
  await ofFloor();
  await ofWorker();
  const turns: Turn[] = [];
  for (let turn = 0; turn < runs; turn += 1)
    turns.push({ floor: await ofFloor(), worker: await ofWorker() });
  printTurns(turns);
  await benchIdleDelivery(api, receiver, { keys: [...keys.values()], rounds });
}

function startWorker(world: World): Promise<ServerProcess> {
  return world.start(new URL('../../src/worker.ts', import.meta.url), '/metrics', (port) => ({
    METRICS_PORT: String(port),
    WORKER_CONCURRENCY: String(CONCURRENCY),
    // The receiver is on this machine. In production, the worker refuses to deliver to it.
    NODE_ENV: 'development',
    WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
  }));
}

function printTurns(turns: readonly Turn[]): void {
  const middle = (who: 'floor' | 'worker', what: keyof Run): number =>
    median(turns.map((turn) => turn[who][what]));
  const ratio = (what: keyof Run): number =>
    median(turns.map((turn) => turn.worker[what] / turn.floor[what]));

  printHeading(`Webhooks, ${TEAMS * ENDPOINTS_PER_TEAM} endpoints, ${CONCURRENCY} in flight`, [
    'floor',
    'worker',
    'ratio',
  ]);
  const figures = (what: keyof Run): string[] => [
    middle('floor', what).toFixed(0),
    middle('worker', what).toFixed(0),
    ratio(what).toFixed(2),
  ];
  printFigures('  deliveries/s', figures('perSecond'), {
    value: ratio('perSecond'),
    target: atLeast(0.6),
  });
  printFigures('  processor, µs/delivery', figures('cpuUs'), {
    value: ratio('cpuUs'),
    target: atMost(2),
  });
}

async function benchIdleDelivery(
  api: ServerProcess,
  receiver: Receiver,
  { keys, rounds }: { keys: readonly string[]; rounds: number },
): Promise<void> {
  receiver.latenciesMs.length = 0;
  for (let round = 0; round < rounds; round += 1)
    await invite(api, keys[round % keys.length] ?? '', round);
  await delay(1000);
  const value = median(receiver.latenciesMs);
  const slowest = Math.max(...receiver.latenciesMs);
  printFigures(
    '  idle, POST /users to request received, ms (median, max)',
    ['', value.toFixed(0), slowest.toFixed(0)],
    { value, target: atMost(50, ' ms') },
  );
}

/** Runs in this process, so that its cost is counted neither as the floor's nor as the worker's. */
async function startReceiver(stack: AsyncDisposableStack): Promise<Receiver> {
  const latenciesMs: number[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      latenciesMs.push(
        Date.now() - Date.parse((JSON.parse(body) as { created_at: string }).created_at),
      );
      response.end();
    });
  });
  server.listen(0, '127.0.0.1');
  await new Promise((done) => server.once('listening', done));
  stack.defer(() => server.closeAllConnections());
  stack.defer(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, latenciesMs };
}

function seed(world: World, url: string): Promise<Map<string, string>> {
  const file = seedFile(
    Array.from({ length: TEAMS }, (_, n) => ({ id: `team_hooks_${n}`, generate: undefined })),
  );
  const endpoints = (teamId = ''): NonNullable<TeamSeed['webhook_endpoints']> =>
    Array.from({ length: ENDPOINTS_PER_TEAM }, (_, n) => ({
      id: `whe_${teamId}_${n}`,
      url: `${url}/${n}`,
      events: ['evaluation.completed', 'member.joined'],
    }));
  return world.seed({
    teams: (file.teams ?? []).map((team) => ({ ...team, webhook_endpoints: endpoints(team.id) })),
  });
}

async function raiseEvents({ pool }: World, count: number): Promise<void> {
  await pool.query(
    `insert into event (team_id, id, type, data, created_at)
     select team, 'evt_' || gen_random_uuid(), 'evaluation.completed',
       json_build_object('team_id', team, 'training_id', 'trn_0', 'user_id', 'usr_0', 'score', 77),
       clock_timestamp()
     from generate_series(1, $1::int) n
     cross join lateral (select 'team_hooks_' || (n % $2::int) as team) t`,
    [count, TEAMS],
  );
  await pool.query(`select pg_notify('wake_deliveries', '')`);
}

async function invite({ port }: ServerProcess, key: string, round: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}${BASE_PATH}/users`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ email: `hook-${round}@invited.example` }),
  });
  if (response.status !== 201)
    throw new Error(`POST /users → ${response.status}: ${await response.text()}`);
  await delay(50);
}
