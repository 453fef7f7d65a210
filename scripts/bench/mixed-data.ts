// The data of the mixed load: teams that write and have webhook endpoints, one of them with very
// many assignments; very many teams that only read; very many deliveries of the last 41 days.
import { copyAssignments, copyTeams, idOfCopy, keyOfCopy } from './copies.ts';
import { seedFile } from './data.ts';
import { seedSubscribers, type Subscribers } from './deliveries.ts';
import type { World } from './world.ts';

/** How much there is. */
export interface MixedSize {
  /** Teams that only read. */
  readonly teams: number;
  /** Assignments of the big team. */
  readonly assignments: number;
  /** Deliveries, all of which have ended. */
  readonly deliveries: number;
}

/** What was made. */
export interface MixedTeams {
  /** Team → key, of the teams that write. The big one is the first. */
  readonly writers: ReadonlyMap<string, string>;
  /** Team → key, of some of the teams that only read. */
  readonly readers: ReadonlyMap<string, string>;
  /** When the first delivery ended. The others follow in time. */
  readonly since: Date;
}

export const DAY_MS = 86_400_000;
/** How long ago the first delivery ended, and the last one. Removals keep 30 days. */
const OLDEST_MS = 41 * DAY_MS;
const NEWEST_MS = DAY_MS;

export const SUBSCRIBERS = {
  prefix: 'team_mixed_',
  teams: 20,
  perTeam: 5,
  events: ['assignment.created'],
  generate: { members: 1000, assignments: 60 },
} satisfies Subscribers;
export const BIG_TEAM = `${SUBSCRIBERS.prefix}0`;

const COPIES = { template: 'team_mixed_seed', prefix: 'mixing' };
/** More keys than a process knows by heart would measure its first sight of a key. */
const READERS = 1_000;
/** Events of one statement. */
const STEP = 200_000;

/** Fills the database, and says how long each part took. `url`: of the receiver. */
export async function fillMixed(world: World, url: string, size: MixedSize): Promise<MixedTeams> {
  const { teams, assignments, deliveries } = size;
  const [ofWriters, ofTemplate] = await timed('teams that write', async () => {
    const file = seedFile([{ id: COPIES.template, generate: { members: 1, assignments: 60 } }]);
    return [await seedSubscribers(world, SUBSCRIBERS, url), await world.seed(file)] as const;
  });
  await timed(`${count(teams)} teams`, () => copyTeams(world, COPIES, { from: 0, to: teams }));
  const { generate } = SUBSCRIBERS;
  await timed(`${count(assignments)} assignments of one team`, () =>
    copyAssignments(world, BIG_TEAM, { from: generate.assignments, to: assignments }),
  );
  const since = new Date(Date.now() - OLDEST_MS);
  await timed(`${count(deliveries)} deliveries`, () => addDeliveries(world, since, deliveries));
  const key = ofTemplate.get(COPIES.template) ?? '';
  const each = Math.max(1, Math.floor(teams / READERS));
  const numbers = Array.from({ length: Math.min(teams, READERS) }, (_, n) => n * each);
  return {
    writers: new Map(ofWriters.map((one, n) => [`${SUBSCRIBERS.prefix}${n}`, one])),
    readers: new Map(numbers.map((n) => [idOfCopy(COPIES, n), keyOfCopy(COPIES, key, n)])),
    since,
  };
}

/** Does a part of the filling, and prints how long it took. */
export async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now();
  const result = await work();
  console.log(`  ${what}: ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
  return result;
}

const count = (number: number): string => number.toLocaleString('en');

// $1 and $2: the first and the last number; $3: the beginning of the teams' ids; $4: how many
// teams; $5: when the first event happened; $6: milliseconds between two. A hash, because the
// number itself tells the team.
const OLD_EVENTS = `generate_series($1::int, $2::int) n
  cross join lateral (
    select $3::text || n % $4::int as team_id,
      'evt_0' || lpad(n::text, 9, '0') as id,
      (array['assignment.created', 'evaluation.completed'])[1 + (hashint4(n) >> 8 & 1)] as type,
      $5::timestamptz + n * $6::float8 * interval '1 millisecond' as at
  ) e`;

const ADD_EVENTS = `
  insert into event (team_id, id, type, data, created_at, fanned_out_at, place)
  select team_id, id, type,
    json_build_object('team_id', team_id, 'assignment_id', 'asg_' || n, 'status', 'open',
      'title', 'Practise objections', 'member_id', 'mem_gen_0000001',
      'user_id', 'usr_gen_0000001', 'due_date', '2099-12-31', 'completed_training_id', null),
    at, at, n
  from ${OLD_EVENTS}`;

// One in 50 was given up after six hours.
const ADD_DELIVERIES = `
  insert into webhook_delivery (team_id, id, endpoint_id, event_id, event_type, status, attempt,
    created_at, response_code, response_excerpt, response_ms, last_attempt_at)
  select team_id, 'whd_0' || lpad(n::text, 9, '0') || k, 'whe_' || team_id || '_' || k, id, type,
    case when failed then 'gave_up' else 'ok' end,
    case when failed then 8 else 1 end,
    at,
    case when failed then 500 else 200 end,
    case when failed then 'Internal Server Error' else '' end,
    20 + n % 80,
    at + case when failed then interval '6 hours' else interval '100 milliseconds' end
  from ${OLD_EVENTS}
  cross join generate_series(0, $7::int - 1) k
  cross join lateral (select hashint4(n * $7::int + k) % 50 = 0 as failed) f`;

async function addDeliveries({ pool }: World, since: Date, deliveries: number): Promise<void> {
  const { prefix, teams, perTeam } = SUBSCRIBERS;
  const events = Math.ceil(deliveries / perTeam);
  const betweenMs = (OLDEST_MS - NEWEST_MS) / events;
  const client = await pool.connect();
  try {
    // What they refer to was made above: their foreign keys need no checks.
    await client.query('set session_replication_role = replica');
    for (let start = 0; start < events; start += STEP) {
      const last = Math.min(events, start + STEP) - 1;
      const values = [start, last, prefix, teams, since, betweenMs];
      await client.query(ADD_EVENTS, values);
      await client.query(ADD_DELIVERIES, [...values, perTeam]);
    }
    await client.query('vacuum (analyze) event, webhook_delivery');
  } finally {
    client.release(true);
  }
}
