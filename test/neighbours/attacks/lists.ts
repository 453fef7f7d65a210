// Attacks by lists that hide most of what a team has.
import { makeFullTeam } from '../../support/seed.ts';
import type { Attack } from '../world.ts';

export const byLists: readonly Attack[] = [
  {
    name: 'lists of 500,000 deals of a paused connection',
    teams: [makeFullTeam('attacker', { crm_connections: [{ id: 'paused', status: 'paused' }] })],
    prepare: async ({ pool }) => {
      await pool.query(
        `insert into crm_deal (team_id, id, connection_id, external_id, outcome, created_at)
         select 'team_attacker', 'deal_x' || n, 'paused', 'x' || n, 'open',
           now() - n * interval '1 second'
         from generate_series(1, 500000) n`,
      );
      await pool.query('vacuum analyze crm_deal');
    },
    run: async ({ call, key, end }) => {
      const send = async (): Promise<void> => {
        while (!end.aborted) await call(key(), 'GET', '/crm/deals?limit=200');
      };
      await Promise.all(Array.from({ length: 64 }, send));
    },
  },
];
