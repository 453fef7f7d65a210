// Attacks by what a team's own CRM answers.
import { setTimeout as delay } from 'node:timers/promises';
import { encrypt } from '../../../src/core/encryption.ts';
import { credentialsContext } from '../../../src/features/crm/connections/rules.ts';
import { TEST_APP_SECRET } from '../../support/api.ts';
import { startCrm, type FakeCrm } from '../../support/crm/fake.ts';
import type { Attack, World } from '../world.ts';

const CONNECTIONS = 5;

/** A team's CRM accounts, whose pages of `path` are `page` again and again. */
function withCrm(path: string, page: string): Pick<Attack, 'prepare' | 'run'> {
  let crm: FakeCrm;
  return {
    prepare: async (world) => {
      crm = await startCrm('pipedrive');
      crm.intercept = (request, response) => {
        if (request.path !== path) return false;
        response.writeHead(200, { 'content-type': 'application/json' }).end(page);
        return true;
      };
      await connect(world, crm);
    },
    run: async ({ pool, end }) => {
      await pool.query(`select graphile_worker.add_job('schedule_crm_syncs', '{}')`);
      while (!end.aborted) await delay(100);
      if (!crm.requests.some((request) => request.path === path))
        throw new Error('the CRM was not read');
    },
  };
}

async function connect({ pool }: Pick<World, 'pool'>, crm: FakeCrm): Promise<void> {
  for (let n = 0; n < CONNECTIONS; n += 1) {
    const id = `crm_attacker${n}`;
    const context = credentialsContext('team_attacker', id);
    await pool.query(
      `insert into crm_connection
         (team_id, id, provider, credentials_encrypted, objection_marker, base_url, created_at,
          next_sync_at)
       values ('team_attacker', $1, 'pipedrive', $2, 'Objection', $3, now(), now())`,
      [id, encrypt(crm.token, TEST_APP_SECRET, context), crm.url],
    );
  }
}

const notesPage = JSON.stringify({
  success: true,
  data: Array.from({ length: 100 }, (_, id) => ({
    id: id + 1,
    active_flag: true,
    deal_id: 1,
    content: '<'.repeat(65_536),
    update_time: '2026-11-01 09:00:00',
  })),
  additional_data: { pagination: { more_items_in_collection: true } },
});

const dealsPage = JSON.stringify({
  success: true,
  data: Array.from({ length: 500 }, (_, id) => ({
    id: id + 1,
    title: 'x'.repeat(40_000),
    status: 'lost',
    lost_reason: 'ab '.repeat(10_000),
    update_time: '2026-11-01T09:00:00Z',
    custom_fields: Array.from({ length: 1_000 }, (_field, n) => n),
  })),
  additional_data: { next_cursor: 'again' },
});

export const byCrms: readonly Attack[] = [
  { name: 'CRM notes of 65,536 times "<"', ...withCrm('/v1/notes', notesPage) },
  { name: 'CRM pages of 40 MB', ...withCrm('/api/v2/deals', dealsPage) },
];
