// Workers as real processes on one database, and what they find to deliver there.
import { Client } from 'pg';
import { afterEach, beforeEach } from 'vitest';
import { loadTestSeed } from './api.ts';
import { startWorkerProcess, type RunningProcess } from './processes.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { startReceiver, type Receiver } from './receiver.ts';

export let database: TestDatabase;
export let client: Client;
export let receiver: Receiver;
let workers: RunningProcess[];

/** Gives each test of this file a database and a receiver. Its workers end with it. */
export function useWebhookWorkers(): void {
  beforeEach(async () => {
    workers = [];
    receiver = await startReceiver();
    database = await createTestDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
  });
  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.kill('SIGKILL')));
    await client.end();
    await database.drop();
    await receiver.stop();
  });
}

export async function startWorker(): Promise<RunningProcess> {
  const worker = await startWorkerProcess(database.url, {
    WEBHOOK_ALLOW_PRIVATE_TARGETS: '1',
    WORKER_CONCURRENCY: '20',
    // Longer than any test, so that an attempt hangs until its worker ends.
    WEBHOOK_TIMEOUT_MS: '600000',
  });
  workers.push(worker);
  return worker;
}

/** Makes endpoints `whe_0` … of one team, at the paths `/0` …. */
export async function seedEndpoints(count: number): Promise<string[]> {
  const paths = Array.from({ length: count }, (_, n) => `/${n}`);
  await loadTestSeed(database, {
    teams: [
      {
        id: 'team_a',
        name: 'A',
        plan: 'team',
        seats: 5,
        members: [{ email: 'owner@a.test', role: 'owner', user_id: 'usr_owner' }],
        webhook_endpoints: paths.map((path, n) => ({
          id: `whe_${n}`,
          url: receiver.url + path,
          events: ['member.joined'],
        })),
      },
    ],
  });
  return paths;
}

/** Writes events without waking a worker. With `isFannedOut` they do not wait for a fan-out. */
export async function writeEvents(count: number, isFannedOut = false): Promise<void> {
  await client.query(
    `insert into event (team_id, id, type, data, created_at, fanned_out_at)
     select 'team_a', 'evt_' || i, 'member.joined', '{"team_id":"team_a"}', clock_timestamp(),
       case when $2::boolean then now() end
     from generate_series(1, $1::int) i`,
    [count, isFannedOut],
  );
}

/** Writes this many waiting deliveries for each endpoint, without waking a worker. */
export async function writeDeliveries(
  count: number,
  fields = { status: 'pending', attempt: 0, claimedBy: null as number | null },
): Promise<void> {
  await writeEvents(count, true);
  await client.query(
    `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, attempt,
        created_at, next_try_at, claimed_by)
     select w.team_id, 'dlv_' || lpad(i::text, 6, '0') || w.id, w.id, 'evt_' || i,
       'member.joined', $2, $3, now(), now(), $4
     from webhook_endpoint w, generate_series(1, $1::int) i`,
    [count, fields.status, fields.attempt, fields.claimedBy],
  );
}

/** Writes a due delivery to the first endpoint, claimed by a worker that no longer exists. */
export async function writeAbandoned(id: string): Promise<void> {
  await client.query(
    `with e as (
       insert into event (team_id, id, type, data, created_at, fanned_out_at)
       values ('team_a', $1, 'member.joined', '{"team_id":"team_a"}', now(), now())
       returning team_id, id
     )
     insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, created_at, next_try_at, claimed_by)
     select team_id, 'dlv_' || id, 'whe_0', id, 'member.joined', now(), now(), 7
     from e`,
    [id],
  );
}

export async function countDeliveries(where: string): Promise<number> {
  const { rows } = await client.query(
    `select count(*)::int as count from webhook_delivery where ${where}`,
  );
  return rows[0].count;
}

export async function countListeners(): Promise<number> {
  const { rows } = await client.query(
    `select count(*)::int as count
     from pg_stat_activity
     where datname = current_database() and query ilike 'listen%'`,
  );
  return rows[0].count;
}

/** Returns whether each endpoint got each event once, and nothing else. */
export function cameOnce(paths: readonly string[], events: number): boolean {
  return paths.every((path) => {
    const ids = receiver.requestsTo(path).map(({ headers }) => headers['svc-event-id']);
    return ids.length === events && new Set(ids).size === events;
  });
}
