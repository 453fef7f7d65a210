// Attacks by the size of what one team, or many together, have waiting for delivery.
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { makeFullTeam, makeTeam } from '../../support/seed.ts';
import { fill, percentile, type Attack, type World } from '../world.ts';

type Seeded = Pick<World, 'pool'>;

const TARGET = 'https://127.0.0.1:9/';
/** A retry must be attempted within this time after it has become due. */
const RETRY_LATE_MAX_MS = 1_000;

const attackerWith = (id: string) =>
  makeFullTeam('attacker', { webhook_endpoints: [{ id, url: TARGET, events: ['member.joined'] }] });

/** Inserts deliveries of `whe_huge` of `team_attacker`, each with an event. */
function insertDeliveries({ pool }: Seeded, count: number): Promise<void> {
  return fill(pool, [
    `insert into event (team_id, id, type, data, created_at, fanned_out_at)
     select 'team_attacker', 'evt_h' || n, 'member.joined', '{}',
       now() - interval '1 day' + n * interval '1 millisecond', now()
     from generate_series(1, ${count}) n`,
    `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at,
        last_attempt_at)
     select team_id, 'whd_' || id, 'whe_huge', id, type, 'gave_up', 8, created_at, now()
     from event
     where team_id = 'team_attacker'`,
  ]);
}

/** Inserts teams with 50 webhook endpoints each. Each endpoint has a retry that is due in a day. */
async function insertEndpoints({ pool }: Seeded, count: number): Promise<void> {
  await pool.query(
    `insert into team (id, name, created_at)
     select 'team_z' || n, 'Z', now()
     from generate_series(1, $1::int / 50) n`,
    [count],
  );
  await pool.query(
    `insert into webhook_endpoint
       (team_id, id, url, events, api_version, secret_encrypted, created_at)
     select t.id, 'whe_' || n, w.url, w.events, w.api_version, w.secret_encrypted, now()
     from team t
     cross join generate_series(1, 50) n
     join webhook_endpoint w on w.id = 'whe_retry'
     where t.id like 'team_z%'`,
  );
  await pool.query(
    `insert into event (team_id, id, type, data, created_at, fanned_out_at)
     select id, 'evt_far', 'member.joined', '{}', now(), now()
     from team
     where id like 'team_z%'`,
  );
  await pool.query(
    `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at, next_try_at)
     select team_id, 'whd_' || id, id, 'evt_far', 'member.joined', 'retrying', 1, now(),
       now() + interval '1 day'
     from webhook_endpoint
     where team_id like 'team_z%'`,
  );
  await pool.query('vacuum analyze');
}

/** Starts a receiver. It is not `startReceiver`, which keeps all that it has received. */
export async function receive(
  answer: RequestListener,
): Promise<{ url: string; close: () => void }> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Lets a retry become due each second. Resolves with the latest's share of what is allowed. */
async function watchRetries({ pool, end }: World): Promise<number> {
  const arrivedAt = new Map<string, number>();
  const { url, close } = await receive((request, response) => {
    arrivedAt.set(String(request.headers['svc-event-id']), Date.now());
    response.end('ok');
  });
  await pool.query(`update webhook_endpoint set url = $1 where id = 'whe_retry'`, [`${url}/`]);
  const dueAt = new Map<string, number>();
  for (let n = 0; !end.aborted; n += 1) {
    const at = new Date(Date.now() + 1_000);
    dueAt.set(`evt_r${n}`, at.getTime());
    await pool.query(
      `with e as (
         insert into event (team_id, id, type, data, created_at, fanned_out_at)
         values ('team_attacker', $1, 'member.joined', '{}', now(), now())
         returning team_id, id, type
       )
       insert into webhook_delivery
         (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at, next_try_at)
       select team_id, 'whd_' || id, 'whe_retry', id, type, 'retrying', 1, now(), $2
       from e`,
      [`evt_r${n}`, at],
    );
    await delay(1_000);
  }
  await delay(2 * RETRY_LATE_MAX_MS);
  close();
  const lateMs = [...dueAt].map(([id, at]) => (arrivedAt.get(id) ?? Infinity) - at);
  const latest = Math.max(...lateMs);
  console.log(`the latest of ${lateMs.length} retries was attempted ${latest} ms late`);
  return latest / RETRY_LATE_MAX_MS;
}

/** How late the deliveries beside 200 bad endpoints may be. On a fast machine: 50 and 75 ms. */
const HEALTHY = { p99Ms: 150, slowestMs: 400 };
/**
 * The same as shares of the time that the first attempts at the bad ones take: 2.5 s on a fast
 * machine, 7.5 s on a slow one. What the healthy ones wait for takes as many times longer there.
 */
const HEALTHY_SHARE = { p99: 0.03, slowest: 0.06 };
const BAD = ['bad1', 'bad2', 'bad3', 'bad4'];
/** Longer than the time limit of an attempt, after which all that hang begin the next one. */
const BAD_MS = 14_000;

/**
 * Makes 20,000 deliveries for 100 endpoints that hang and 100 that fail, while another team has an
 * event each 50 ms. Resolves with the share that the latest of those take of what is allowed.
 */
async function watchHealthy({ pool }: World): Promise<number> {
  const arrivedAt = new Map<string, number>();
  let lastFailedAt = -Infinity;
  const { url, close } = await receive((request, response) => {
    if (request.url === '/hang') return;
    if (request.url === '/ok') {
      arrivedAt.set(String(request.headers['svc-event-id']), performance.now());
    } else {
      lastFailedAt = performance.now();
      response.statusCode = 500;
    }
    response.end();
  });
  await pool.query(
    `update webhook_endpoint
     set url = $1 || case
       when team_id = 'team_healthy' then '/ok'
       when id like '%even' then '/hang'
       else '/fail'
     end
     where url = $2`,
    [url, TARGET],
  );
  const raise = (teams: readonly string[], count: number, id: string) =>
    pool.query(
      `with raised as (
         insert into event (team_id, id, type, data, created_at)
         select team_id, $3 || '_' || n, 'member.joined', '{}', clock_timestamp()
         from unnest($1::text[]) as team_id, generate_series(1, $2) n
         returning id
       )
       select pg_notify('wake_deliveries', '') from raised limit 1`,
      [teams, count, id],
    );
  // The worker's sessions keep the plans that they make for tables with a few rows.
  for (let n = 0; n < 30; n += 1) {
    await raise(['team_bad1', 'team_healthy'], 1, `evt_early${n}`);
    await delay(50);
  }
  await raise(
    BAD.map((name) => `team_${name}`),
    100,
    'evt_bad',
  );
  const raisedAt: number[] = [];
  for (const end = performance.now() + BAD_MS; performance.now() < end; await delay(50)) {
    raisedAt.push(performance.now());
    await raise(['team_healthy'], 1, `evt_${raisedAt.length}`);
  }
  await delay(1_000);
  close();
  const lateMs = raisedAt
    .map((at, n) => (arrivedAt.get(`evt_${n + 1}_1`) ?? Infinity) - at)
    .toSorted((a, b) => a - b);
  const [p50, p99, slowest] = [0.5, 0.99, 1].map((share) =>
    Math.round(percentile(lateMs, share)),
  ) as [number, number, number];
  const burstMs = Math.round(lastFailedAt - (raisedAt[0] ?? NaN));
  const seen = `p50 ${p50} ms, p99 ${p99} ms, slowest ${slowest} ms in ${burstMs} ms`;
  console.log(`${lateMs.length} deliveries beside 200 bad endpoints: ${seen}`);
  const p99Max = Math.max(HEALTHY.p99Ms, HEALTHY_SHARE.p99 * burstMs);
  const slowestMax = Math.max(HEALTHY.slowestMs, HEALTHY_SHARE.slowest * burstMs);
  return Math.max(p99 / p99Max, slowest / slowestMax);
}

const badTeam = (name: string) =>
  makeTeam(name, {
    webhook_endpoints: Array.from({ length: 50 }, (_, n) => ({
      id: `whe_${name}_${n}_${n % 2 === 0 ? 'even' : 'odd'}`,
      url: TARGET,
      events: ['member.joined'],
    })),
  });

export const byDeliveries: readonly Attack[] = [
  {
    name: 'the deletion of a webhook endpoint with 300,000 deliveries',
    teams: [attackerWith('whe_huge')],
    prepare: (world) => insertDeliveries(world, 300_000),
    run: async ({ call, key, end }) => {
      const { status } = await call(key(), 'DELETE', '/webhook-endpoints/whe_huge');
      if (status !== 200) throw new Error(`the deletion was answered with ${status}`);
      while (!end.aborted) await delay(100);
    },
  },
  {
    name: '50,000 webhook endpoints with retries that are not due yet',
    teams: [attackerWith('whe_retry')],
    prepare: (world) => insertEndpoints(world, 50_000),
    run: watchRetries,
  },
  {
    name: '200 webhook endpoints that hang or fail, with 100 deliveries each',
    teams: [
      ...BAD.map(badTeam),
      makeTeam('healthy', {
        webhook_endpoints: [{ id: 'whe_healthy', url: TARGET, events: ['member.joined'] }],
      }),
    ],
    run: watchHealthy,
  },
];
