// Attacks by lists that hide or filter away most of what a team has, and by their largest pages.
import { BASE_PATH } from '../../../src/http/api/exchange.ts';
import { tokenOf } from '../../support/app.ts';
import { makeFullTeam, makeMember, userId } from '../../support/seed.ts';
import { fill, fire, type Attack, type World } from '../world.ts';

const ROWS = 100_000;
/** As many calls of the tRPC API as one request may hold. */
const BATCH = 10;

/** SQL: 200 cases of 128 KB, which do not get smaller when they are stored. */
export const LARGE_CASES = `insert into training_case
     (team_id, id, user_id, fields, external_ref, created_at, json_bytes)
   select 'team_attacker', 'cas_n' || n, 'usr_attacker_member', json_build_object('n', text),
     json_build_object('n', text), now(), 2 * (length(text) + 9)
   from generate_series(1, 200) n
   cross join lateral (
     select string_agg(md5(n || '/' || k), '') as text
     from generate_series(1, 2000) k
   ) t`;

/** Sends these lists of the REST API in turn, over as many connections. */
async function list(world: World, connections: number, paths: readonly string[]): Promise<void> {
  const headers = { authorization: `Bearer ${world.key()}` };
  const shots = paths.map((path) => ({ path: BASE_PATH + path, headers }));
  const statuses = await fire(world, connections, shots);
  if (!statuses['200']) throw new Error(`no list was answered: ${JSON.stringify(statuses)}`);
}

/** Sends batches of one query of the tRPC API as an admin of the team. */
async function search(world: World, procedure: string, input: object): Promise<void> {
  const admin = { kind: 'user', userId: userId('attacker', 'owner') } as const;
  const token = await tokenOf({ ...admin, teamId: 'team_attacker' });
  const names = Array.from({ length: BATCH }, () => procedure).join(',');
  const inputs = Object.fromEntries(Array.from({ length: BATCH }, (_, n) => [n, input]));
  const path = `/trpc/${names}?batch=1&input=${encodeURIComponent(JSON.stringify(inputs))}`;
  const headers = { authorization: `Bearer ${token}` };
  const statuses = await fire(world, 32, [{ path, headers }], { reconnects: true });
  if (!statuses['200']) throw new Error(`no search was answered: ${JSON.stringify(statuses)}`);
}

export const byLists: readonly Attack[] = [
  {
    name: 'lists of 100,000 deals of a paused connection',
    teams: [makeFullTeam('attacker', { crm_connections: [{ id: 'paused', status: 'paused' }] })],
    prepare: ({ pool }) =>
      fill(pool, [
        `insert into crm_deal (team_id, id, connection_id, external_id, outcome, created_at)
         select 'team_attacker', 'deal_x' || n, 'paused', 'x' || n, 'open',
           now() - n * interval '1 second'
         from generate_series(1, ${ROWS}) n`,
      ]),
    run: (world) => list(world, 64, ['/crm/deals?limit=200', '/crm/objections?limit=200']),
  },
  {
    name: '200 lists at once of 100,000 trainings and evaluations of people who left',
    teams: [
      makeFullTeam('attacker', { members: [makeMember('attacker', 'gone', { status: 'ended' })] }),
    ],
    prepare: ({ pool }) =>
      fill(pool, [
        `insert into training (team_id, id, user_id, status, created_at)
         select 'team_attacker', 'trn_' || n, 'usr_attacker_gone', 'scored',
           now() - n * interval '1 second'
         from generate_series(1, ${ROWS}) n`,
        `insert into evaluation (team_id, training_id, user_id, saved_at, stored_at)
         select team_id, id, user_id, created_at, created_at
         from training
         where user_id = 'usr_attacker_gone'`,
      ]),
    run: (world) =>
      list(world, 200, [
        '/trainings?limit=200',
        '/evaluations?limit=200',
        '/trainings?limit=200&status=running',
      ]),
  },
  {
    name: 'searches of 100,000 audit entries for what never comes together',
    prepare: ({ pool }) =>
      fill(pool, [
        `insert into audit_log
           (team_id, id, created_at, actor_kind, actor_id, action, target_id, request_id)
         select 'team_attacker', 'aud_n' || n, now() - n * interval '1 second',
           'api_key', 'key_' || n % 2,
           case n % 2 when 0 then 'assignment.created' else 'case.created' end, 'asg_' || n, 'req'
         from generate_series(1, ${ROWS}) n`,
      ]),
    run: (world) =>
      search(world, 'admin.auditLog.list', { actor_id: 'key_0', action: 'case.created' }),
  },
  {
    name: 'searches of 100,000 deliveries for a rare type and status',
    teams: [
      makeFullTeam('attacker', {
        webhook_endpoints: [{ id: 'whe_many', url: 'https://127.0.0.1:9/', status: 'disabled' }],
      }),
    ],
    prepare: ({ pool }) =>
      fill(pool, [
        `insert into webhook_delivery
           (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at,
            last_attempt_at)
         select 'team_attacker', 'whd_n' || n, 'whe_many', 'evt_n' || n, 'member.joined', 'gave_up',
           8, now() - n * interval '1 second', now()
         from generate_series(1, ${ROWS}) n`,
      ]),
    run: (world) =>
      search(world, 'admin.deliveries.list', { status: 'retrying', event_type: 'member.removed' }),
  },
  {
    name: 'lists of cases of 128 KB',
    prepare: ({ pool }) => fill(pool, [LARGE_CASES]),
    run: (world) => list(world, 64, ['/cases?limit=200']),
  },
];
