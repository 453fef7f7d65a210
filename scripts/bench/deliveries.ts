// What the measurements of deliveries share: teams with webhook endpoints, a receiver, a worker,
// and how long a number of deliveries takes.
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import type { EventType } from '../../src/core/events.ts';
import { newId } from '../../src/core/ids.ts';
import { seedFile } from './data.ts';
import { listen } from './serve.ts';
import { cpuMsOf, type ServerProcess, type World } from './world.ts';

/** Attempts in flight at once. */
export const CONCURRENCY = 50;
const PATIENCE_MS = 120_000;

/** What the worker delivers to. */
export interface Receiver {
  readonly url: string;
  /** The requests that were received. */
  readonly arrivals: Arrival[];
}

/** A request that was received, in Unix time. */
interface Arrival {
  readonly atMs: number;
  readonly createdAtMs: number;
  /** Of the endpoint, as it was asked for. */
  readonly path: string;
  /** Of an event that concerns one. */
  readonly memberId: string | undefined;
  /** Of an event of an assignment. */
  readonly title: string | undefined;
}

/** Teams with webhook endpoints, and how many of both. */
export interface Subscribers {
  /** Before the number of each team. */
  readonly prefix: string;
  readonly teams: number;
  readonly perTeam: number;
  /** What all endpoints subscribe to. */
  readonly events?: readonly EventType[];
  /** What each team has. */
  readonly generate?: NonNullable<Parameters<typeof seedFile>[0][number]['generate']>;
}

/** How a number of deliveries went. */
export interface Run {
  readonly perSecond: number;
  readonly cpuUs: number;
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
        created_at: string;
        data: { member_id?: string; title?: string };
      };
      arrivals.push({
        atMs,
        createdAtMs: Date.parse(created_at),
        path: request.url ?? '',
        memberId: data.member_id,
        title: data.title,
      });
      response.end();
    });
  });
  return { url: await listen(stack, server), arrivals };
}

/** Starts a worker that may deliver to this machine. `settings`: its further ones. */
export function startWorker(
  world: World,
  settings: Readonly<Record<string, string>> = { WORKER_CONCURRENCY: String(CONCURRENCY) },
): Promise<ServerProcess> {
  return world.start(new URL('../../src/worker.ts', import.meta.url), '/metrics', (port) => ({
    METRICS_PORT: String(port),
    ...settings,
    // The receiver is on this machine. In production, the worker refuses to deliver to it.
    NODE_ENV: 'development',
    WEBHOOK_ALLOW_PRIVATE_TARGETS: 'true',
  }));
}

/** Loads the teams, all of whose endpoints subscribe to the same events. Returns their keys. */
export async function seedSubscribers(
  world: World,
  {
    prefix,
    teams,
    perTeam,
    generate,
    events = ['evaluation.completed', 'member.joined'],
  }: Subscribers,
  url: string,
): Promise<string[]> {
  const file = seedFile(
    Array.from({ length: teams }, (_, n) => ({ id: `${prefix}${n}`, generate })),
  );
  const keys = await world.seed({
    ...file,
    teams: (file.teams ?? []).map((team) => ({
      ...team,
      webhook_endpoints: Array.from({ length: perTeam }, (_, n) => ({
        id: `whe_${team.id}_${n}`,
        url: `${url}/${n}`,
        events: [...events],
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
