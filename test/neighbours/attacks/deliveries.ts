// Attacks by the size of what one team has waiting for delivery.
import { setTimeout as delay } from 'node:timers/promises';
import { makeFullTeam } from '../../support/seed.ts';
import type { Attack, World } from '../world.ts';

const TARGET = 'https://127.0.0.1:9/';

/** Inserts deliveries of the endpoint `whe_huge` of `team_attacker`, each with an event. */
async function insertDeliveries({ pool }: Pick<World, 'pool'>, count: number): Promise<void> {
  await pool.query(
    `insert into event (team_id, id, type, data, created_at, fanned_out_at)
     select 'team_attacker', 'evt_h' || n, 'member.joined', '{}',
       now() - interval '1 day' + n * interval '1 millisecond', now()
     from generate_series(1, $1::int) n`,
    [count],
  );
  await pool.query(
    `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at,
        last_attempt_at)
     select team_id, 'whd_' || id, 'whe_huge', id, type, 'gave_up', 8, created_at, now()
     from event
     where team_id = 'team_attacker'`,
  );
  await pool.query('vacuum analyze webhook_delivery, event');
}

export const byDeliveries: readonly Attack[] = [
  {
    name: 'the deletion of a webhook endpoint with 1,000,000 deliveries',
    teams: [
      makeFullTeam('attacker', {
        webhook_endpoints: [{ id: 'whe_huge', url: TARGET, events: ['member.joined'] }],
      }),
    ],
    prepare: (world) => insertDeliveries(world, 1_000_000),
    run: async ({ call, key, end }) => {
      const { status } = await call(key(), 'DELETE', '/webhook-endpoints/whe_huge');
      if (status !== 200) throw new Error(`the deletion was answered with ${status}`);
      while (!end.aborted) await delay(100);
    },
  },
];
