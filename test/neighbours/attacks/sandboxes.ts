// Attacks by a sandbox: beside a team that it is not of, and beside its own live team.
import { BASE_PATH } from '../../../src/http/api/exchange.ts';
import { asTestKey, makeSandbox } from '../../support/sandbox.ts';
import { makeTeam, memberId } from '../../support/seed.ts';
import { fill, fire, type Attack } from '../world.ts';
import { receive } from './deliveries.ts';

const ENDPOINTS = ['1', '2', '3', '4', '5'].map((n) => ({
  id: `whe_flood_${n}`,
  url: 'https://127.0.0.1:9/',
  events: ['assignment.created' as const],
}));

/** As many deliveries are due at once, of all its webhook endpoints. */
const DUE = 20_000;

/** Sends as many requests as it can, some of which raise events, to receivers that never answer. */
function flood(sandboxId: string): Pick<Attack, 'teams' | 'prepare' | 'run'> {
  return {
    teams: [makeTeam('attacker', { webhook_endpoints: ENDPOINTS })],
    prepare: async ({ pool }) => {
      await makeSandbox(pool, 'team_attacker', sandboxId);
      // What a sandbox has.
      await pool.query(`update team set rate_limit_per_min = 300 where id = $1`, [sandboxId]);
      await fill(pool, [
        `insert into event (team_id, id, type, data, created_at, fanned_out_at)
         select '${sandboxId}', 'evt_f' || n, 'assignment.created', '{}', now(), now()
         from generate_series(1, ${DUE}) n`,
        `insert into webhook_delivery
           (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at,
            next_try_at)
         select team_id, 'whd_' || id, 'whe_flood_' || 1 + substr(id, 6)::int % 5, id, type,
           'retrying', 1, created_at, now() + interval '3 s'
         from event
         where team_id = '${sandboxId}'`,
      ]);
    },
    run: async (world) => {
      const receiver = await receive(() => undefined);
      await world.pool.query(`update webhook_endpoint set url = $1 where team_id = $2`, [
        receiver.url,
        sandboxId,
      ]);
      const headers = {
        authorization: `Bearer ${asTestKey(world.key())}`,
        'content-type': 'application/json',
      };
      const assignment = JSON.stringify({
        member_id: memberId('attacker', 'member'),
        title: 'Flood',
        situation_id: 'sit_cold',
        personality_id: 'per_calm',
        industry_id: 'ind_saas',
      });
      const statuses = await fire(world, 32, [
        { path: `${BASE_PATH}/users?limit=100`, headers },
        { path: `${BASE_PATH}/assignments`, method: 'POST', headers, body: assignment },
      ]);
      receiver.close();
      if (!statuses[201]) throw new Error(`the sandbox did not flood: ${JSON.stringify(statuses)}`);
    },
  };
}

export const bySandboxes: readonly Attack[] = [
  { name: 'a sandbox that floods, of another team', ...flood('team_attacker:sandbox') },
  { name: "a sandbox that floods, of the victim's own team", ...flood('team_victim:sandbox') },
];
