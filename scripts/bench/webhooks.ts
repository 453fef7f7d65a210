// Compares the worker with the floor: deliveries of events that were written all at once, to many
// webhook endpoints of one receiver. Then measures how long a single delivery takes when the worker
// is idle.
import { setTimeout as delay } from 'node:timers/promises';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import {
  CONCURRENCY,
  measureDeliveries,
  prepareEvents,
  seedSubscribers,
  startReceiver,
  startWorker,
  type Receiver,
  type Run,
} from './deliveries.ts';
import { atLeast, atMost, median, printFigures, printHeading } from './report.ts';
import type { FloorJob } from './webhook-floor.ts';
import type { ServerProcess, World } from './world.ts';

const SUBSCRIBERS = { prefix: 'team_hooks_', teams: 20, perTeam: 5 };
const ENDPOINTS = SUBSCRIBERS.teams * SUBSCRIBERS.perTeam;

/** Before each request, so that nothing is awake. */
const SILENCE_MS = 50;

interface Turn {
  readonly floor: Run;
  readonly worker: Run;
}

/** Prints both measurements. Seeds its own teams and starts its own worker, floor and receiver. */
export async function benchWebhooks(
  world: World,
  api: ServerProcess,
  options: { stack: AsyncDisposableStack; runs: number; deliveries: number; rounds: number },
): Promise<void> {
  const { stack, runs, deliveries, rounds } = options;
  const receiver = await startReceiver(stack);
  const keys = await seedSubscribers(world, SUBSCRIBERS, receiver.url);
  const floor = await world.start(new URL('./webhook-floor.ts', import.meta.url), '/');
  const worker = await startWorker(world);
  const job: FloorJob = {
    url: `${receiver.url}/floor`,
    count: deliveries,
    concurrency: CONCURRENCY,
  };
  const measure = (server: ServerProcess, begin: () => Promise<unknown>): Promise<Run> =>
    measureDeliveries(receiver, [server], { deliveries, begin });
  const ofFloor = (): Promise<Run> =>
    measure(floor, () =>
      fetch(`http://127.0.0.1:${floor.port}/`, { method: 'POST', body: JSON.stringify(job) }),
    );
  const ofWorker = async (): Promise<Run> =>
    measure(worker, await prepareEvents(world, SUBSCRIBERS, deliveries));
  await ofFloor();
  await ofWorker();
  const turns: Turn[] = [];
  for (let turn = 0; turn < runs; turn += 1)
    turns.push({ floor: await ofFloor(), worker: await ofWorker() });
  printTurns(turns);
  await benchIdleDelivery(world, api, receiver, { keys, rounds });
}

function printTurns(turns: readonly Turn[]): void {
  const middle = (who: 'floor' | 'worker', what: keyof Run): number =>
    median(turns.map((turn) => turn[who][what]));
  const ratio = (what: keyof Run): number =>
    median(turns.map((turn) => turn.worker[what] / turn.floor[what]));

  printHeading(`Webhooks, ${ENDPOINTS} endpoints, ${CONCURRENCY} in flight`, [
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
    target: atLeast(0.75),
  });
  printFigures('  processor, µs/delivery', figures('cpuUs'), {
    value: ratio('cpuUs'),
    target: atMost(2),
  });
}

async function benchIdleDelivery(
  { pool }: World,
  api: ServerProcess,
  receiver: Receiver,
  { keys, rounds }: { keys: readonly string[]; rounds: number },
): Promise<void> {
  receiver.arrivals.length = 0;
  const emptyMs: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await invite(api, keys[round % keys.length] ?? '', round);
    await delay(SILENCE_MS);
    const sentAt = performance.now();
    await pool.query('select');
    emptyMs.push(performance.now() - sentAt);
    await delay(SILENCE_MS);
  }
  await delay(1000);
  const committedAtMs = await readCommits(pool);
  const sinceCommit = receiver.arrivals.map(
    ({ atMs, memberId = '' }) => atMs - (committedAtMs.get(memberId) ?? NaN),
  );
  const sinceCreation = receiver.arrivals.map(({ atMs, createdAtMs }) => atMs - createdAtMs);
  const figuresOf = (ms: readonly number[]): string[] => [
    '',
    median(ms).toFixed(1),
    Math.max(...ms).toFixed(0),
  ];
  printFigures('  idle, commit to request received, ms (median, max)', figuresOf(sinceCommit), {
    value: median(sinceCommit),
    target: atMost(4, ' ms'),
  });
  printFigures("  … since the event's created_at", figuresOf(sinceCreation));
  // How fast this machine wakes a process tells what the figure above means.
  printFigures('  an empty statement after as long a silence, ms', figuresOf(emptyMs));
}

/** When Postgres committed each member, in Unix time, as its entry in the audit log knows. */
async function readCommits(pool: World['pool']): Promise<Map<string, number>> {
  const { rows } = await pool.query<{ id: string; ms: string }>(
    `select target_id as id, extract(epoch from pg_xact_commit_timestamp(xmin)) * 1000 as ms
     from audit_log where target_id is not null`,
  );
  return new Map(rows.map(({ id, ms }) => [id, Number(ms)]));
}

async function invite({ port }: ServerProcess, key: string, round: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}${BASE_PATH}/users`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ email: `hook-${round}@invited.example` }),
  });
  if (response.status !== 201)
    throw new Error(`POST /users → ${response.status}: ${await response.text()}`);
}
