// oxlint-disable vitest/valid-expect -- the second argument names the failing case of a loop
// Whole teams are erased: nothing of them is left in any table, and nothing of others is touched.
import { Client } from 'pg';
import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { movePendingJobs } from '../../src/db/jobs/job-intake.ts';
import { TENANT_TABLE_NAMES } from '../../src/db/tenant-tables.ts';
import { announce } from '../../src/features/announcements/service.ts';
import { eraseTeams } from '../../src/features/team-lifecycle/erasure-service.ts';
import { ERASE_TEAMS } from '../../src/features/team-lifecycle/jobs.ts';
import { TEAM_CRON, teamTasks } from '../../src/features/team-lifecycle/tasks.ts';
import { loadTestSeed, startTestApi, type TestApi } from '../support/api.ts';
import { appAs, codeOf, tokenOf } from '../support/app.ts';
import { startDeliveries } from '../support/deliveries.ts';
import { runJobsOnce } from '../support/jobs.ts';
import { changeWhileWaiting, holdLock, lockWhole } from '../support/locks.ts';
import { platformOf, type Platform } from '../support/platform.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';
import { putSeedBack } from '../support/seeded-rows.ts';
import { changeTriggers } from '../support/shards.ts';
import { addTwinRows, teamIdOf, twinSeed } from '../support/twins.ts';
import { until } from '../support/until.ts';

const TEAM = teamIdOf('a');
/** One round of small batches, as if the worker were killed after it. */
const SMALL = { runMs: 0, batch: 10 };
const TO_THE_END = { runMs: 100_000 };

let api: TestApi;
let platform: Platform;
let otherKey: string;
beforeAll(async () => {
  api = await startTestApi({ seed: twinSeed(['a']), allowPrivateTargets: true });
  platform = await platformOf(api);
  await addTwinRows(api.db, 'https://crm.example.com', ['a']);
  const other = makeSeed([makeFullTeam('other')]);
  const { teams } = await loadTestSeed({ url: api.databaseUrl }, other);
  otherKey = teams['team_other']?.api_keys['full'] ?? '';
});
beforeEach(() => putSeedBack(api));

/** Calls the API of both teams in many ways, so that more than the seeds is stored. */
async function useTeams(): Promise<void> {
  for (const key of [api.key(TEAM), otherKey]) {
    const post = (path: string, body: object) =>
      api.call(key, 'POST', path, { body, headers: { 'idempotency-key': path } });
    expect((await post('/users', { email: `${key.slice(-9)}@kim.test` })).status).toBe(201);
    const endpoint = { url: 'https://198.51.100.1/hook', events: ['member.joined'] };
    expect((await post('/webhook-endpoints', endpoint)).status).toBe(201);
  }
  const owner = { kind: 'user', userId: 'usr_owner', teamId: TEAM } as const;
  await appAs(api, await tokenOf(owner)).admin.apiKeys.list.query({});
  // Jobs that graphile-worker has, and one that no worker has handed to it yet.
  await movePendingJobs(api.db);
  await api.db.pool.query(
    `insert into pending_job (team_id, id, task, payload)
     values ($1, 'job_1', 'send_invitation', json_build_object('teamId', $1::text))`,
    [TEAM],
  );
  await platform.teams.update.mutate({ team_id: TEAM, status: 'ended' });
}

interface Rows {
  /** Rows of the team to erase. Tables without a team have none. */
  readonly own: readonly string[];
  readonly others: readonly string[];
}

/** Reads every table of every schema, so that a new one cannot be forgotten. */
async function dump(): Promise<Map<string, Rows>> {
  const { rows: tables } = await api.db.pool.query<{ name: string; team: string | null }>(
    `select format('%I.%I', t.table_schema, t.table_name) as name,
       case when t.table_name = 'team' then 'id' else min(c.column_name) end as team
     from information_schema.tables t
     left join information_schema.columns c
       on c.table_schema = t.table_schema and c.table_name = t.table_name
         and c.column_name = 'team_id'
     where t.table_type = 'BASE TABLE'
       and t.table_schema not in ('pg_catalog', 'information_schema', 'backup')
     group by t.table_schema, t.table_name
     order by 1`,
  );
  const dumped = new Map<string, Rows>();
  for (const { name, team } of tables) {
    const { rows } = await api.db.pool.query<{ row: string; is_own: boolean }>(
      `select t::text as row, ${team === null ? 'false' : `t.${team} = '${TEAM}'`} as is_own
       from ${name} t
       order by 1`,
    );
    const select = (isOwn: boolean) =>
      rows.filter(({ is_own }) => is_own === isOwn).map(({ row }) => row);
    dumped.set(name, { own: select(true), others: select(false) });
  }
  return dumped;
}

/** The words in rows: ids, names, addresses, hosts, prefixes of keys. */
const wordsIn = (rows: readonly string[]): Set<string> =>
  new Set(rows.flatMap((row) => row.match(/[\w.@-]{4,}/g) ?? []));

/** The words that only the team to erase has, besides its jobs and rate counters. */
function ownWords(tables: ReadonlyMap<string, Rows>): string[] {
  const others = [...tables].flatMap(([name, rows]) =>
    name === 'public.rate_counter' ? [] : rows.others.filter((row) => !row.includes(TEAM)),
  );
  const known = wordsIn(others);
  const own = wordsIn([...tables.values()].flatMap((rows) => rows.own));
  return [...own].filter((word) => !known.has(word));
}

test('leaves nothing of a team in any table, and nothing else changes', async () => {
  await useTeams();
  const before = await dump();
  const words = ownWords(before);
  expect(words).toEqual(
    expect.arrayContaining([TEAM, 'usr_owner', 'mem_1', 'mem_1@twin.test', 'key_full']),
  );
  const without = [...before].filter(([, { own }]) => own.length === 0).map(([name]) => name);
  expect(without.filter((name) => name.startsWith('public.'))).toEqual([
    'public._prisma_migrations',
    'public.app_secret_canary',
    'public.catalog_entry',
    'public.catalog_rule',
    'public.rate_counter',
    // Of its sandbox, which is erased as a team of its own.
    'public.sandbox',
  ]);

  await platform.teams.erase.mutate({ team_id: TEAM });
  let rounds = 1;
  while (await eraseTeams(api.db, SMALL)) rounds += 1;
  expect(rounds).toBeGreaterThan(40);

  const after = await dump();
  for (const [name, rows] of after) {
    expect(rows.own, name).toEqual([]);
    if (without.includes(name)) continue;
    expect(rows.others, name).toEqual(before.get(name)?.others);
  }
  const left = wordsIn(without.flatMap((name) => after.get(name)?.others ?? []));
  expect(words.filter((word) => left.has(word))).toEqual([]);
  expect(left).toContain('team_other');
  expect(await codeOf(platform.teams.erase.mutate({ team_id: TEAM }))).toBe('not_found');
});

test('is refused unless the team has ended; then it is unknown at once', async () => {
  const me = () => api.call(api.key(TEAM), 'GET', '/me');
  for (const status of ['active', 'suspended'] as const) {
    await platform.teams.update.mutate({ team_id: TEAM, status });
    expect(await codeOf(platform.teams.erase.mutate({ team_id: TEAM }))).toBe('conflict');
  }
  await platform.teams.update.mutate({ team_id: TEAM, status: 'ended' });
  expect(await platform.teams.erase.mutate({ team_id: TEAM })).toEqual({ ok: true });
  const { rows } = await api.db.pool.query('select * from audit_log where team_id = $1', [TEAM]);
  expect(await platform.teams.erase.mutate({ team_id: TEAM })).toEqual({ ok: true });
  expect(
    (await api.db.pool.query('select * from audit_log where team_id = $1', [TEAM])).rows,
  ).toEqual(rows);
  expect(await codeOf(platform.teams.update.mutate({ team_id: TEAM, status: 'active' }))).toBe(
    'not_found',
  );
  expect((await me()).body).toMatchObject({ code: 'api_disabled' });
  const codes = new Set<string>();
  while (await eraseTeams(api.db, { runMs: 0 })) {
    codes.add(((await me()).body as { code: string }).code);
    codes.add(await codeOf(platform.teams.update.mutate({ team_id: TEAM, seats: 1 })));
  }
  expect(codes).toEqual(new Set(['api_disabled', 'not_found', 'unauthorized']));
  expect((await me()).status).toBe(401);
});

test('the host application records nothing more for it, from the first moment', async () => {
  const person = { team_id: TEAM, user_id: 'usr_owner' };
  const record = async (id: string) => [
    await codeOf(
      platform.trainings.start.mutate({
        ...person,
        training_id: `trn_${id}`,
        created_at: '2026-11-17T09:00:00.000Z',
      }),
    ),
    await codeOf(platform.cases.create.mutate({ ...person, case_id: `cas_${id}` })),
    await codeOf(
      platform.catalog.saveTeamEntries.mutate({
        team_id: TEAM,
        entries: [{ kind: 'role', id: `rol_${id}`, name: { en: id }, icon: null }],
      }),
    ),
  ];
  await platform.teams.update.mutate({ team_id: TEAM, status: 'ended' });
  expect(await record('early')).toEqual(['ok', 'ok', 'ok']);
  await platform.teams.erase.mutate({ team_id: TEAM });
  expect(await record('late')).toEqual(['not_found', 'not_found', 'not_found']);
  expect(await codeOf(platform.members.deletePerson.mutate(person))).toBe('not_found');
});

test('nothing is sent for it from then on, not even an attempt that was requested', async () => {
  const attempts = async (where: string): Promise<number> => {
    const { rows } = await api.db.pool.query<{ n: number }>(
      `select coalesce(sum(attempt), 0)::int as n from webhook_delivery where ${where}`,
    );
    return rows[0]?.n ?? -1;
  };
  const isOther = `id = 'whd_of_other'`;
  await api.db.pool.query(
    `insert into event (team_id, id, type, data, created_at, fanned_out_at)
     values ('team_other', 'evt_of_other', 'member.joined', '{}', now(), now())`,
  );
  await api.db.pool.query(
    `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, created_at, next_try_at)
     select team_id, 'whd_of_other', id, 'evt_of_other', 'member.joined', now(), now()
     from webhook_endpoint
     where team_id = 'team_other'
     limit 1`,
  );
  await api.db.pool.query(
    `update webhook_delivery
     set status = 'retrying', next_try_at = now(), urgent = true, claimed_by = null`,
  );
  const before = await attempts(`team_id = '${TEAM}'`);
  await platform.teams.update.mutate({ team_id: TEAM, status: 'ended' });
  await platform.teams.erase.mutate({ team_id: TEAM });
  const deliveries = await startDeliveries(api, {
    clock: systemClock,
    timeoutMs: 1,
    allowPrivateTargets: false,
  });
  await until(async () => (await attempts(isOther)) > 0);
  await deliveries.stop();
  expect(await attempts(`team_id = '${TEAM}'`)).toBe(before);
});

test('frees the id of the team for another one', async () => {
  await platform.teams.update.mutate({ team_id: TEAM, status: 'ended' });
  const creation = {
    team_id: TEAM,
    name: 'Next',
    owner: { member_id: 'mem_1', user_id: 'usr_1', email: 'next@next.test' },
  };
  await platform.teams.erase.mutate({ team_id: TEAM });
  expect(await codeOf(platform.teams.create.mutate(creation))).toBe('conflict');
  // It may wait for another team: a run that takes no more says that there are more.
  await api.db.pool.query(
    `insert into team (id, name, plan, seats, status, created_at, erasing_since)
     values ('team_first', 'First', 'team', 1, 'ended', now(), '2020-01-01')`,
  );
  while (await eraseTeams(api.db, { ...TO_THE_END, teamsMax: 1 }));
  expect(await platform.teams.create.mutate(creation)).toEqual({
    team_id: TEAM,
    owner_member_id: 'mem_1',
  });
});

test('a run that comes late touches nothing of a new team with the same id', async () => {
  await platform.teams.update.mutate({ team_id: TEAM, status: 'ended' });
  await platform.teams.erase.mutate({ team_id: TEAM });
  // Meanwhile another run comes to the end, and the host application creates the team anew.
  const removals = TENANT_TABLE_NAMES.map(
    (name) => `delete from ${name} where team_id = '${TEAM}'`,
  );
  const change = `
    ${removals.join(';')};
    delete from team where id = '${TEAM}';
    insert into team (id, name, created_at) values ('${TEAM}', 'Next', now());
    insert into person (team_id, id) values ('${TEAM}', 'usr_next');
    insert into audit_log (team_id, id, created_at, actor_kind, actor_id, action, request_id)
    values ('${TEAM}', 'aud_next', now(), 'platform', 'x', 'team.created', 'x');
    select graphile_worker.add_job('send_invitation', '{"teamId": "${TEAM}"}')`;
  const lock = lockWhole('audit_log');
  const erase = () => eraseTeams(api.db, TO_THE_END);
  expect(await changeWhileWaiting(api, { lock, change }, erase)).toBe(false);
  const { rows } = await api.db.pool.query(
    `select id from person where team_id = $1
     union all
     select id from audit_log where team_id = $1
     union all
     select task_identifier from graphile_worker.jobs`,
    [TEAM],
  );
  expect(rows.map(({ id }) => id as string)).toEqual(['usr_next', 'aud_next', 'send_invitation']);
});

test('waits for a change that began before, and for a job of the team that runs', async () => {
  await platform.teams.update.mutate({ team_id: TEAM, status: 'ended' });
  await api.db.pool.query(
    `select graphile_worker.add_job('remove_connection', json_build_object('teamId', $1::text))`,
    [TEAM],
  );
  await api.db.pool.query(
    `update graphile_worker._private_jobs set locked_at = now(), locked_by = 'somebody'`,
  );
  const persons = async () =>
    (await api.db.pool.query('select id from person where team_id = $1', [TEAM])).rows;
  /** Erases until no person is left that can be seen, and then once more. */
  const erase = async () => {
    while ((await persons()).length > 0) await eraseTeams(api.db, { runMs: 0 });
    expect(await eraseTeams(api.db, { runMs: 0 })).toBe(true);
  };
  // Those of the pool may be idle in a transaction for 15 s only.
  const client = new Client({ connectionString: api.databaseUrl });
  onTestFinished(() => client.end());
  await client.connect();
  await client.query('begin');
  await client.query(`insert into person (team_id, id) values ($1, 'usr_late')`, [TEAM]);
  await platform.teams.erase.mutate({ team_id: TEAM });
  await erase();
  await client.query('commit');
  await client.end();
  expect(await persons()).toEqual([{ id: 'usr_late' }]);
  await erase();
  await api.db.pool.query(
    `update graphile_worker._private_jobs set locked_at = null, locked_by = null`,
  );
  expect(await eraseTeams(api.db, TO_THE_END)).toBe(false);
  expect((await api.db.pool.query('select from team where id = $1', [TEAM])).rowCount).toBe(0);
});

/** From now on these rows cannot be removed. */
function refuseRemoval(table: string, condition: string): Promise<void> {
  return changeTriggers(
    api,
    `create function refuse() returns trigger language plpgsql as $$
     begin
       raise 'the row cannot be removed';
     end $$`,
    `create trigger refuse before delete on ${table}
     for each row when (${condition}) execute function refuse()`,
  );
}

test('several teams are erased in turn; one that fails does not hold up the others', async () => {
  const more = ['b', 'c'].map((name) => makeFullTeam(name));
  await loadTestSeed({ url: api.databaseUrl }, makeSeed(more));
  for (const team of [TEAM, 'team_b', 'team_c']) {
    await platform.teams.update.mutate({ team_id: team, status: 'ended' });
    await platform.teams.erase.mutate({ team_id: team });
  }
  await refuseRemoval('member', "old.team_id = 'team_b'");
  await expect(eraseTeams(api.db, TO_THE_END)).rejects.toThrow('A team could not be erased yet.');
  const { rows } = await api.db.pool.query(`select id from team order by id`);
  expect(rows).toEqual([{ id: 'team_b' }, { id: 'team_other' }]);
  await api.db.pool.query('drop function refuse cascade');
  expect(await eraseTeams(api.db, TO_THE_END)).toBe(false);
});

test('teams that cannot be erased keep no other from being erased', async () => {
  await platform.teams.update.mutate({ team_id: TEAM, status: 'ended' });
  await platform.teams.erase.mutate({ team_id: TEAM });
  const release = await holdLock(api, `select from audit_log where team_id = '${TEAM}' for update`);
  await api.db.pool.query(
    `insert into team (id, name, status, created_at, erasing_since)
     values ('team_refused', 'Refused', 'ended', now(), '2020-01-01'),
       ('team_last', 'Last', 'ended', now(), '2100-01-01')`,
  );
  await refuseRemoval('team', "old.id = 'team_refused'");
  const isLeft = async () =>
    (await api.db.pool.query(`select from team where id = 'team_last'`)).rowCount === 1;
  let runs = 0;
  for (; runs < 200 && (await isLeft()); runs += 1)
    await eraseTeams(api.db, { runMs: 0, teamsMax: 1 }).catch(() => undefined);
  await release();
  expect(runs).toBeLessThan(200);
});

test('an announcement goes on if a team is erased while its admins are mailed', async () => {
  const announcement = { version: 'v1', since: '2027-01-01', sunset: '2028-01-01' };
  const mailed: string[] = [];
  const mailer = async (teamId: string) => {
    mailed.push(teamId);
    if (teamId !== TEAM) return;
    await platform.teams.update.mutate({ team_id: TEAM, status: 'ended' });
    await platform.teams.erase.mutate({ team_id: TEAM });
    while (await eraseTeams(api.db, TO_THE_END));
  };
  await api.db.pool.query('delete from announcement_mail');
  await api.db.pool.query(
    `update api_key set created_by = 'mem_owner', revoked_at = null, expires_at = null
     where team_id = $1`,
    [TEAM],
  );
  const onFailure = (): never => expect.fail('a mail or a team failed');
  const failures = { onFailure, onTeamFailure: onFailure };
  const shared = { db: api.db, clock: systemClock, mailer, publicUrl: api.url, ...failures };
  expect(await announce(shared, announcement)).toEqual({ sent: mailed.length, failed: 0 });
  expect(new Set(mailed)).toEqual(new Set([TEAM, 'team_other']));
  const { rows } = await api.db.pool.query('select distinct team_id from announcement_mail');
  expect(rows).toEqual([{ team_id: 'team_other' }]);
});

test('the job erases the team, and the next one goes on where one was stopped', async () => {
  expect(TEAM_CRON).toMatchObject([{ task: ERASE_TEAMS, match: '* * * * *' }]);
  await useTeams();
  await platform.teams.erase.mutate({ team_id: TEAM });
  const tasks = teamTasks(api.db, systemClock);
  const added: string[] = [];
  await tasks[ERASE_TEAMS]?.({}, {
    abortSignal: AbortSignal.abort(),
    addJob: async (task: string) => void added.push(task),
  } as never);
  expect(added).toEqual([ERASE_TEAMS]);
  const left = () => api.db.pool.query('select from team where id = $1', [TEAM]);
  expect((await left()).rowCount).toBe(1);
  await runJobsOnce(api, tasks);
  expect((await left()).rowCount).toBe(0);
  expect((await api.call(otherKey, 'GET', '/users')).status).toBe(200);
});
