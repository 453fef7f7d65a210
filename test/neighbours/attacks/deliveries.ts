// Attacks by the size of what one team, or many together, have waiting for delivery.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { makeFullTeam } from '../../support/seed.ts';
import { fill, type Attack, type World } from '../world.ts';

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

/** Lets a retry become due each second, and throws if one of them is attempted late. */
async function watchRetries({ pool, end }: World): Promise<void> {
  const arrivedAt = new Map<string, number>();
  const receiver = createServer((request, response) => {
    arrivedAt.set(String(request.headers['svc-event-id']), Date.now());
    response.end('ok');
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const { port } = receiver.address() as AddressInfo;
  await pool.query(`update webhook_endpoint set url = $1 where id = 'whe_retry'`, [
    `http://127.0.0.1:${port}/`,
  ]);
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
  receiver.close();
  receiver.closeAllConnections();
  const lateMs = [...dueAt].map(([id, at]) => (arrivedAt.get(id) ?? Infinity) - at);
  const latest = Math.max(...lateMs);
  console.log(`the latest of ${lateMs.length} retries was attempted ${latest} ms late`);
  if (latest > RETRY_LATE_MAX_MS) throw new Error(`a retry was attempted ${latest} ms late`);
}

export const byDeliveries: readonly Attack[] = [
  {
    name: 'the deletion of a webhook endpoint with 1,000,000 deliveries',
    teams: [attackerWith('whe_huge')],
    prepare: (world) => insertDeliveries(world, 1_000_000),
    run: async ({ call, key, end }) => {
      const { status } = await call(key(), 'DELETE', '/webhook-endpoints/whe_huge');
      if (status !== 200) throw new Error(`the deletion was answered with ${status}`);
      while (!end.aborted) await delay(100);
    },
  },
  {
    name: '100,000 webhook endpoints with retries that are not due yet',
    teams: [attackerWith('whe_retry')],
    prepare: (world) => insertEndpoints(world, 100_000),
    run: watchRetries,
  },
];
