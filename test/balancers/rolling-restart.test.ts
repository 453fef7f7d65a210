// Two API processes behind a load balancer that repeats nothing, and two workers, are replaced by
// the next release, one after the other, after its migrations. No client and no receiver notices.
import { Client as Postgres } from 'pg';
import { Client } from 'undici';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { loadTestSeed } from '../support/api.ts';
import {
  runEntry,
  startApiProcess,
  startWorkerProcess,
  type RunningProcess,
} from '../support/processes.ts';
import { createTestDatabase } from '../support/database.ts';
import { findFreePort } from '../support/ports.ts';
import { startReceiver, type Receiver } from '../support/receiver.ts';
import { makeSeed, makeTeam, memberId } from '../support/seed.ts';
import { until } from '../support/until.ts';
import { isInstalled, startHaproxy, startNginx } from './balancers.ts';
import { makeNextRelease } from './next-release.ts';

/** Many times what the balancers need to notice, for a machine that is busy. */
const DRAIN_DELAY_MS = '4000';
const REQUESTS = 1500;
const CLIENTS = 8;
const STOPPED = { code: 0, signal: null };

let nextRelease: string;
let receiver: Receiver;
beforeAll(async () => {
  nextRelease = await makeNextRelease();
  receiver = await startReceiver();
});

type Api = Awaited<ReturnType<typeof startApiProcess>>;

/** A team with a webhook endpoint, in a database of its own. */
interface World {
  readonly databaseUrl: string;
  readonly key: string;
  /** Of the receiver. */
  readonly path: string;
}

async function makeWorld(name: string): Promise<World> {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const path = `/${name}`;
  const events = ['assignment.created'] as never;
  const endpoint = { id: `whe_${name}`, url: receiver.url + path, events };
  const seed = makeSeed([makeTeam('a', { webhook_endpoints: [endpoint] })]);
  const { teams } = await loadTestSeed(database, seed);
  return { databaseUrl: database.url, key: teams['team_a']?.api_keys['full'] ?? '', path };
}

function startApi({ databaseUrl }: World, port: number, folder?: string): Promise<Api> {
  const env = { PORT: String(port), DRAIN_DELAY_MS, LOG_LEVEL: 'info' };
  return startApiProcess(databaseUrl, env, folder);
}

function startWorker({ databaseUrl }: World, folder?: string): Promise<RunningProcess> {
  return startWorkerProcess(databaseUrl, { WEBHOOK_ALLOW_PRIVATE_TARGETS: '1' }, folder);
}

/** Resolves when the next release's process gets requests through the balancer. */
async function upgradeApi(world: World, api: Api, port: number): Promise<Api> {
  expect(await api.kill('SIGTERM')).toEqual(STOPPED);
  const next = await startApi(world, port, nextRelease);
  await until(() => next.output().includes('"msg":"request"'));
  return next;
}

async function migrateToNextRelease({ databaseUrl }: World): Promise<void> {
  const env = { DATABASE_URL: databaseUrl, LOG_LEVEL: 'info' };
  const migration = runEntry('scripts/migrate.ts', env, [], nextRelease);
  expect(await migration.exited).toEqual(STOPPED);
  expect(migration.output()).toContain('extend_webhook_delivery');
}

const REQUEST_KINDS = [
  { method: 'GET', path: '/me' },
  { method: 'PATCH', path: '/cases/unknown', body: { title: 'x' } },
  {
    method: 'POST',
    path: '/assignments',
    body: {
      member_id: memberId('a', 'member'),
      title: 'Upgrade',
      situation_id: 'sit_cold',
      personality_id: 'per_calm',
      industry_id: 'ind_saas',
    },
  },
] as const;

/**
 * Sends a request, each on a connection of its own: a balancer that reloads its configuration
 * closes the idle connections of its clients, whatever is behind it.
 */
async function ask(url: string, key: string, number: number): Promise<string> {
  const client = new Client(url);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const { method, path, ...rest } =
    REQUEST_KINDS[number % REQUEST_KINDS.length] ?? REQUEST_KINDS[0];
  const body = 'body' in rest ? JSON.stringify(rest.body) : null;
  try {
    const response = await client.request({
      path: `/api/public/v1${path}`,
      method,
      headers,
      body,
    });
    await response.body.text();
    return `${method} ${response.statusCode}`;
  } catch (error) {
    return String(error);
  } finally {
    await client.destroy();
  }
}

/** Sends requests until `stop` is called, and at least `REQUESTS`. Resolves with the outcomes. */
function startClients(
  url: string,
  { key }: World,
): { stop(): Promise<ReadonlyMap<string, number>> } {
  const outcomes = new Map<string, number>();
  let sent = 0;
  let isStopping = false;
  const send = async (): Promise<void> => {
    while (!isStopping || sent < REQUESTS) {
      sent += 1;
      const outcome = await ask(url, key, sent);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  const sending = Array.from({ length: CLIENTS }, send);
  return {
    stop: async () => {
      isStopping = true;
      await Promise.all(sending);
      return outcomes;
    },
  };
}

/** Returns the ids of all events. */
async function readEvents({ databaseUrl }: World): Promise<string[]> {
  const client = new Postgres({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ id: string }>('select id from event order by id');
    return rows.map(({ id }) => id);
  } finally {
    await client.end();
  }
}

/** Returns the ids of the events that the receiver got, each once. */
function received({ path }: World): string[] {
  const ids = receiver.requestsTo(path).map(({ headers }) => String(headers['svc-event-id']));
  return [...new Set(ids)].toSorted();
}

test.for([
  ['nginx', startNginx],
  ['haproxy', startHaproxy],
] as const)(
  'an upgrade with a migration behind %s loses no request and no event',
  async ([program, start], context) => {
    if (!(await isInstalled(program))) return context.skip(`${program} is not installed`);
    const world = await makeWorld(program);
    const ports = [await findFreePort(), await findFreePort()] as const;
    const processes: RunningProcess[] = [];
    onTestFinished(async () => {
      for (const running of processes) await running.kill('SIGKILL');
    });
    const apis = [await startApi(world, ports[0]), await startApi(world, ports[1])] as const;
    const workers = [await startWorker(world), await startWorker(world)] as const;
    processes.push(...apis, ...workers);
    const { url } = await start(ports);
    const clients = startClients(url, world);
    for (const api of apis) await until(() => api.output().includes('"msg":"request"'));
    await receiver.arrived(world.path);

    await migrateToNextRelease(world);
    processes.push(await upgradeApi(world, apis[0], ports[0]));
    processes.push(await upgradeApi(world, apis[1], ports[1]));
    for (const worker of workers) {
      expect(await worker.kill('SIGTERM')).toEqual(STOPPED);
      processes.push(await startWorker(world, nextRelease));
    }
    const outcomes = await clients.stop();

    const counts = Object.fromEntries(outcomes);
    expect(Object.keys(counts).toSorted()).toEqual(['GET 200', 'PATCH 404', 'POST 201']);
    const answered = [...outcomes.values()].reduce((sum, count) => sum + count, 0);
    expect(answered).toBeGreaterThanOrEqual(REQUESTS);
    const events = await readEvents(world);
    expect(events).toHaveLength(counts['POST 201'] ?? 0);
    await until(() => received(world).length >= events.length);
    expect(received(world)).toEqual(events);
    const again = receiver.requestsTo(world.path).length - events.length;
    console.log(`upgrade behind ${program}: ${JSON.stringify(counts)}, ${again} delivered again`);
  },
);
