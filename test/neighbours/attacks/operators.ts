// What the operator does to one team, or for all: the others go on with their work.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeFolder } from '../../support/folder.ts';
import { CATALOG, makeSeed, makeTeam, memberId, type TeamSeed } from '../../support/seed.ts';
import { runScript } from '../../support/processes.ts';
import { appAsPlatform } from '../../support/app.ts';
import { until } from '../../support/until.ts';
import { REMOVE_OLD } from '../../../src/features/retention/tasks.ts';
import { fill, type Attack, type World } from '../world.ts';

/** A team of this many members, and twice as many of everything else. */
const largeTeam = (members: number): TeamSeed =>
  makeTeam('attacker', {
    seats: 4 * members,
    crm_connections: [{ id: 'crm_attacker' }],
    // Nobody listens there, so its results are failures.
    webhook_endpoints: [
      { id: 'whe_attacker', url: 'http://127.0.0.1:9/', events: ['assignment.created'] },
    ],
    generate: {
      members,
      trainings: 2 * members,
      assignments: 2 * members,
      cases: 2 * members,
      crm_deals: 2 * members,
      from: '2025-01-01',
      to: '2026-11-01',
      random_seed: 7,
    },
  });

/** Runs `npm run seed -- FILE --replace` with these teams. */
async function replace({ databaseUrl }: World, teams: TeamSeed[]): Promise<void> {
  const folder = await makeFolder('replace');
  const file = join(folder, 'seed.json');
  await writeFile(file, JSON.stringify(makeSeed(teams)));
  const seeding = runScript(databaseUrl, ['seed', file, '--replace']);
  const { code } = await seeding.exited;
  if (code !== 0) throw new Error(seeding.output());
}

/** Works on as the team until `isOver`: requests, changes and their webhooks. */
async function workOn({ call, key }: World, isOver: () => boolean): Promise<void> {
  const repeat = async (once: () => Promise<unknown>): Promise<void> => {
    while (!isOver()) {
      await once();
      await delay(20);
    }
  };
  const create = () =>
    call(key(), 'POST', '/assignments', {
      body: {
        member_id: memberId('attacker', 'member'),
        title: 'Meanwhile',
        situation_id: CATALOG[0].id,
        personality_id: CATALOG[2].id,
        industry_id: CATALOG[4].id,
      },
    });
  await Promise.all([
    ...Array.from({ length: 4 }, () => repeat(() => call(key(), 'GET', '/me'))),
    ...Array.from({ length: 4 }, () => repeat(create)),
  ]);
}

export const byOperators: readonly Attack[] = [
  {
    name: 'seed --replace of a team of 4,000 members and 8,000 deals that works meanwhile',
    teams: [largeTeam(4_000)],
    run: async (world) => {
      let isOver = false;
      const working = workOn(world, () => isOver);
      await delay(1_000);
      await replace(world, [largeTeam(4_000)]).finally(() => {
        isOver = true;
      });
      await working;
    },
  },
  {
    name: 'the hourly removal over 100,000 old events that wait for a paused endpoint',
    teams: [
      makeTeam('attacker', {
        webhook_endpoints: [{ id: 'whe_paused', url: 'http://127.0.0.1:9/', status: 'disabled' }],
      }),
    ],
    prepare: async ({ pool }) => {
      await pool.query(
        `insert into event (team_id, id, type, data, created_at, fanned_out_at)
         select 'team_attacker', 'evt_p' || n, 'member.joined', '{}',
           now() - interval '60 days' + n * interval '1 millisecond', now()
         from generate_series(1, 100000) n`,
      );
      await pool.query(
        `insert into webhook_delivery
           (team_id, id, endpoint_id, event_id, event_type, created_at, next_try_at)
         select team_id, 'whd_' || id, 'whe_paused', id, type, created_at, created_at
         from event`,
      );
      await pool.query('analyze');
    },
    run: async ({ pool, end }) => {
      await pool.query(`select graphile_worker.add_job('${REMOVE_OLD}')`);
      while (!end.aborted) await delay(100);
    },
  },
  {
    name: 'the erasure of a team with 240,000 rows',
    teams: [makeTeam('attacker', { status: 'suspended' })],
    prepare: ({ pool }) =>
      fill(pool, [
        `insert into training (team_id, id, user_id, status, created_at)
         select 'team_attacker', 'trn_' || n, 'usr_attacker_member', 'scored', now()
         from generate_series(1, 80000) n`,
        `insert into evaluation (team_id, training_id, user_id, saved_at, stored_at)
         select team_id, id, user_id, created_at, created_at
         from training
         where team_id = 'team_attacker'`,
        `insert into audit_log
           (team_id, id, created_at, actor_kind, actor_id, action, target_id, request_id)
         select 'team_attacker', 'aud_n' || n, now(), 'api_key', 'key', 'case.created', n, 'req'
         from generate_series(1, 80000) n`,
      ]),
    run: async (world) => {
      const platform = (await appAsPlatform(world)).platform.teams;
      await platform.update.mutate({ team_id: 'team_attacker', status: 'ended' });
      await platform.erase.mutate({ team_id: 'team_attacker' });
      const countEntries = async (): Promise<number> => {
        const { rows } = await world.pool.query<{ left: number }>(
          `select count(*)::int as left from audit_log where team_id = 'team_attacker'`,
        );
        return rows[0]?.left ?? 0;
      };
      while (!world.end.aborted) await delay(100);
      // On a busy machine the job begins when the attack is over.
      await until(async () => (await countEntries()) < 75_000);
    },
  },
];
