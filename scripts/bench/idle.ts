// Measures how long the delivery of one event takes while nothing else happens.
import { setTimeout as delay } from 'node:timers/promises';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { seedSubscribers, startReceiver, startWorker } from './deliveries.ts';
import { atMost, median, printFigures, printHeading } from './report.ts';
import { API, type ServerProcess, type World } from './world.ts';

const SUBSCRIBERS = { prefix: 'team_idle_', teams: 20, perTeam: 5 };
/** Before each request, so that nothing is awake. */
const SILENCE_MS = 50;

/** Prints the times. Seeds its own teams and starts its own servers and receiver. */
export async function benchIdle(
  world: World,
  { stack, rounds }: { readonly stack: AsyncDisposableStack; readonly rounds: number },
): Promise<void> {
  const api = await world.start(API, '/readyz');
  const receiver = await startReceiver(stack);
  const keys = await seedSubscribers(world, SUBSCRIBERS, receiver.url);
  await startWorker(world);
  const emptyMs: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    await invite(api, keys[round % keys.length] ?? '', round);
    await delay(SILENCE_MS);
    const sentAt = performance.now();
    await world.pool.query('select');
    emptyMs.push(performance.now() - sentAt);
    await delay(SILENCE_MS);
  }
  await delay(1000);
  const committedAtMs = await readCommits(world.pool);
  const sinceCommit = receiver.arrivals.map(
    ({ atMs, memberId = '' }) => atMs - (committedAtMs.get(memberId) ?? NaN),
  );
  const sinceCreation = receiver.arrivals.map(({ atMs, createdAtMs }) => atMs - createdAtMs);
  const cells = (ms: readonly number[]): string[] => [
    median(ms).toFixed(1),
    Math.max(...ms).toFixed(0),
  ];
  printHeading('One event while nothing else happens', ['median ms', 'max ms']);
  printFigures('  from the commit to the request received', cells(sinceCommit), {
    value: median(sinceCommit),
    target: atMost(4, ' ms'),
  });
  printFigures("  since the event's created_at", cells(sinceCreation));
  // How fast this machine wakes a process tells what the figures above mean.
  printFigures('  an empty statement after as long a silence', cells(emptyMs));
}

/** When Postgres committed each member, in Unix time, by its entry in the audit log. */
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
