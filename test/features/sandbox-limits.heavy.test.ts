// How many rows a sandbox may have: what a reset removes is bounded, so it is always in time.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import {
  COUNTED_TABLES,
  mostRows,
  REMOVED_BY_RESET,
  SANDBOX_ROWS,
  type CountedTable,
} from '../../src/db/sandbox-rows.ts';
import { TENANT_TABLE_NAMES, type TenantTable } from '../../src/db/tenant-tables.ts';
import { simulatedAccount } from '../../src/features/crm/providers/simulated.ts';
import { simulatedRows } from '../../src/features/crm/sandbox-service.ts';
import { insertMail } from '../../src/features/sandbox/mail-store.ts';
import { SCENARIOS } from '../../src/core/vocabularies.ts';
import { contentOf } from '../../src/features/sandbox/scenario.ts';
import { setPolicyInput, setReleaseInput } from '../../src/features/team-settings/schema.ts';
import { ENDPOINTS } from '../../src/routers/endpoints.ts';
import { startTestApi, TEST_APP_SECRET, type TestApi } from '../support/api.ts';
import { appAsMember } from '../support/app.ts';
import { fillTables } from '../support/full-sandbox.ts';
import { holdLock, lockWhole } from '../support/locks.ts';
import { appInSandbox, openSandbox } from '../support/sandbox.ts';
import { makeSeed, makeTeam, memberId, userId } from '../support/seed.ts';
import { serviceStatements } from '../support/statements.ts';

const SANDBOX = 'team_a:sandbox';

let api: TestApi;
let key: string;
let app: Awaited<ReturnType<typeof appInSandbox>>;
beforeAll(async () => {
  api = await startTestApi({
    statementTimeoutMs: 60_000,
    seed: makeSeed([makeTeam('a'), makeTeam('b')]),
  });
  key = await openSandbox(api, 'a');
  app = await appInSandbox(api, 'a');
});

/** The operations that add rows. */
const FILLED: string[] = [];

/** How one row of a table is added: what came of it. */
type Add = (n: number) => Promise<{ readonly status: number; readonly detail: string }>;

const post = (path: string, body: (n: number) => object): Add => {
  FILLED.push(path);
  return async (n) => {
    const response = await api.call(key, 'POST', path, { body: body(n) });
    return { status: response.status, detail: String(response.body['detail'] ?? '') };
  };
};
const ask =
  (work: (n: number) => Promise<unknown>): Add =>
  (n) =>
    work(n).then(
      () => ({ status: 200, detail: '' }),
      (error: { data: { httpStatus: number }; message: string }) => ({
        status: error.data.httpStatus,
        detail: JSON.stringify(error),
      }),
    );

const COMBINATION = {
  situation_id: 'sit_sandbox_price',
  personality_id: 'per_sandbox_sceptic',
  industry_id: 'ind_sandbox_software',
};
const assignment = { member_id: 'mem_sandbox_clara', title: 'Full?', ...COMBINATION };

/** Whoever counts another table says here how it grows. */
const ADD: Readonly<Record<CountedTable, Add>> = {
  training: post('/sandbox/simulate', () => ({ play: 'training_completed', delay_s: 0 })),
  assignment: post('/assignments', () => assignment),
  training_case: post('/cases', () => ({ user_id: 'usr_sandbox_clara', title: 'Full?' })),
  member: post('/users', (n) => ({ email: `full-${n}@sandbox.example` })),
  invitation_resend: ask(() =>
    app.admin.invitations.resend.mutate({ member_id: 'mem_sandbox_lena' }),
  ),
  member_block: ask((n) =>
    app.admin.team.memberPolicy.set.mutate({
      member_id: 'mem_sandbox_clara',
      blocked: ['sit_sandbox_price', 'sit_sandbox_first_call'].slice(0, n + 1),
    }),
  ),
  crm_connection: ask(() =>
    app.admin.crm.connect.mutate({ provider: 'pipedrive', credentials: 'any' }),
  ),
};

const reset = () => api.call(key, 'POST', '/sandbox/reset', { body: { scenario: 'typical' } });

describe.each(COUNTED_TABLES)('%s', (table) => {
  it('one more is a conflict, until a reset', async () => {
    const add = ADD[table];
    expect((await reset()).status).toBe(200);
    await fillTables(api, SANDBOX, { tables: [table], free: 1 });
    // Of two at once one finds the place.
    const both = await Promise.all([add(0), add(1)]);
    expect(both.filter(({ status }) => status < 400)).toHaveLength(1);
    const refused = await add(1);
    expect(refused.status).toBe(409);
    expect(refused.detail).toContain(
      `A sandbox has at most ${mostRows(table)} ${SANDBOX_ROWS[table].called}. Reset it.`,
    );
    const { rows } = await api.db.pool.query(
      `select count(*)::int as count from ${table} where team_id = $1`,
      [SANDBOX],
    );
    expect(rows).toEqual([{ count: mostRows(table) }]);
    expect((await reset()).status).toBe(200);
    expect((await add(0)).status).toBeLessThan(300);
  });
});

const ENTRIES = [
  'sit_sandbox_price',
  'sit_sandbox_first_call',
  'per_sandbox_sceptic',
  'ind_sandbox_software',
];
const block = (blocked: readonly string[]) =>
  ask(() =>
    app.admin.team.memberPolicy.set.mutate({
      member_id: 'mem_sandbox_clara',
      blocked: [...blocked],
    }),
  )(0);

/** How several rows of a table are added by one call. */
const ADD_SEVERAL: Readonly<Partial<Record<CountedTable, Add>>> = {
  assignment: post('/assignments/batch', (n) => ({
    assignments: Array.from({ length: n }, () => assignment),
  })),
  member_block: (n) => block(ENTRIES.slice(0, n)),
};

it.each(Object.entries(ADD_SEVERAL))(
  'a call that adds to %s counts each row',
  async (table, add) => {
    await reset();
    await fillTables(api, SANDBOX, { tables: [table as CountedTable], free: 2 });
    expect((await add(3)).status).toBe(409);
    expect((await add(2)).status).toBe(200);
    expect((await add(3)).status).toBe(409);
  },
);

it('a policy of a member may get other entries in a full sandbox, but no more', async () => {
  await reset();
  await fillTables(api, SANDBOX, { tables: ['member_block'], free: 2 });
  const [a = '', b = '', c = '', d = ''] = ENTRIES;
  const statuses: number[] = [];
  for (const blocked of [[a, b], [c, d], [c], [a, b, c]])
    statuses.push((await block(blocked)).status);
  expect(statuses).toEqual([200, 200, 200, 409]);
});

it('wrong entries of a batch take no room, and are named in a full sandbox, too', async () => {
  await reset();
  await fillTables(api, SANDBOX, { tables: ['assignment'], free: 1 });
  const wrong = { ...assignment, member_id: 'nobody' };
  const batch = (assignments: object[], mode = {}) =>
    api.call(key, 'POST', '/assignments/batch', { body: { assignments, ...mode } });
  const mixed = await batch([wrong, assignment, wrong]);
  expect(mixed).toMatchObject({ status: 200, body: { created: 1 } });
  expect(await batch([wrong, assignment])).toMatchObject({ status: 409 });
  expect(await batch([wrong])).toMatchObject({ status: 200, body: { created: 0 } });
  const whole = await batch([wrong, assignment], { all_or_none: true });
  expect(whole.body).toMatchObject({ code: 'batch_refused' });
  const single = await api.call(key, 'POST', '/assignments', { body: wrong });
  expect(single).toMatchObject({ status: 404, body: { field: 'member_id' } });
  const { rows } = await api.db.pool.query(
    `select count(*)::int as count from assignment where team_id = $1`,
    [SANDBOX],
  );
  expect(rows).toEqual([{ count: mostRows('assignment') }]);
});

it('the document tells of it at each operation that is refused, and at no other', () => {
  const telling = ENDPOINTS.filter(({ causes }) => /sandbox is full/.test(causes.conflict ?? ''));
  expect(telling.map(({ path }) => path).toSorted()).toEqual(FILLED.toSorted());
});

it('a live team has none of these limits', async () => {
  const live = api.key('team_b');
  await fillTables(api, 'team_b', { tables: ['training_case'] });
  await fillTables(api, 'team_b', { tables: ['assignment'] });
  const created = await api.call(live, 'POST', '/cases', {
    body: { user_id: userId('b', 'member'), title: 'One more' },
  });
  expect(created.status).toBe(201);
  const assigned = await api.call(live, 'POST', '/assignments', {
    body: {
      member_id: memberId('b', 'member'),
      title: 'One more',
      situation_id: 'sit_cold',
      personality_id: 'per_calm',
      industry_id: 'ind_saas',
    },
  });
  expect(assigned.status).toBe(201);
});

describe('what a reset removes', () => {
  test('is what the statements remove, and all that a scenario writes', () => {
    const tablesOf = (start: string): string[] =>
      serviceStatements()
        .filter(({ name }) => name.startsWith(start))
        .map(({ name }) => name.slice(start.length));
    expect(tablesOf('sandbox.remove.').toSorted()).toEqual([...REMOVED_BY_RESET].toSorted());
    for (const table of tablesOf('sandbox.insert.')) expect(REMOVED_BY_RESET).toContain(table);
    expect(Object.keys(SANDBOX_ROWS)).toEqual([...TENANT_TABLE_NAMES]);
  });

  test('is bounded in each table, and no scenario has more', async () => {
    const tables = {
      entries: 'team_catalog_entry',
      blocks: 'team_block',
      people: 'person',
      members: 'member',
      memberBlocks: 'member_block',
      assignments: 'assignment',
      trainings: 'training',
      evaluations: 'evaluation',
      cases: 'training_case',
      connections: 'crm_connection',
      deals: 'crm_deal',
      objections: 'crm_objection',
    } as const;
    for (const table of REMOVED_BY_RESET) expect(mostRows(table)).toBeLessThanOrEqual(20_000);
    const at = new Date();
    const crm = await simulatedRows(SANDBOX, { at, appSecret: TEST_APP_SECRET });
    for (const scenario of SCENARIOS) {
      const content = contentOf(scenario, at, crm);
      for (const [name, table] of Object.entries(tables)) {
        const part = content[name as keyof typeof tables];
        const count = [...(typeof part === 'function' ? part() : part)].length;
        expect({ table, count, fits: count <= mostRows(table) }).toMatchObject({ fits: true });
      }
    }
  });

  test('is bounded where nothing is counted', async () => {
    const ids = (count: number) => Array.from({ length: count }, (_, n) => `ent_${n}`);
    for (const [count, isTaken] of [
      [mostRows('team_block'), true],
      [mostRows('team_block') + 1, false],
    ] as const) {
      expect(setPolicyInput.safeParse({ blocked: ids(count) }).success).toBe(isTaken);
      expect(setReleaseInput.safeParse({ released: ids(count) }).success).toBe(isTaken);
    }
    expect(mostRows('catalog_release')).toBe(mostRows('team_block'));
    // Whatever marks its objections, a connection reads this account and no more of it.
    const { deals, notes } = simulatedAccount(new Date());
    const objections =
      notes.flatMap(({ dealIds }) => dealIds).length +
      deals.filter(({ lostReason }) => lostReason !== null).length;
    expect(deals.length).toBeLessThanOrEqual(SANDBOX_ROWS.crm_deal.most);
    expect(objections).toBeLessThanOrEqual(SANDBOX_ROWS.crm_objection.most);
    // Of the mails the oldest go.
    await fillTables(api, SANDBOX, { tables: ['sandbox_mail'] });
    const mail = { recipient: 'x', subject: 'x', body: 'x', created_at: new Date().toISOString() };
    const ids3 = ['mail_new1', 'mail_new2', 'mail_new3'];
    const insert = (id: string) =>
      api.db.transaction(async (tx) => insertMail(tx, SANDBOX, { id, ...mail }));
    await Promise.all(ids3.map((id) => insert(id)));
    await insert('mail_new4');
    const { rows } = await api.db.pool.query(
      `select count(*)::int as count, count(*) filter (where id like 'mail_new%')::int as new
       from sandbox_mail
       where team_id = $1`,
      [SANDBOX],
    );
    expect(rows).toEqual([{ count: mostRows('sandbox_mail'), new: 4 }]);
  });

  test('takes no row of another table with it but those that only the owner has', async () => {
    const { rows } = await api.db.pool.query<{ parent: string; child: TenantTable }>(
      `select distinct confrelid::regclass::text as parent, conrelid::regclass::text as child
       from pg_constraint
       where contype = 'f' and confdeltype = 'c'`,
    );
    const taken = rows
      .filter(({ parent }) => REMOVED_BY_RESET.some((table) => table === parent))
      .map(({ child }) => child)
      .filter((child) => !REMOVED_BY_RESET.some((table) => table === child));
    expect(taken.toSorted()).toEqual(['alert_subscription', 'announcement_mail']);
  });
});

describe('a sandbox that is full', () => {
  const end = new AbortController();
  afterAll(() => end.abort());

  it('is reset in time, and nobody else waits for it', async () => {
    expect((await reset()).status).toBe(200);
    const tables = REMOVED_BY_RESET.toReversed();
    const filledAt = performance.now();
    await fillTables(api, SANDBOX, { tables, areLarge: true });
    const waits = watchWaits(api, end.signal);
    const [byLive, byOther] = (['a', 'b'] as const).map((team) => changeRoles(team, end.signal));
    const startedAt = performance.now();
    const fillMs = startedAt - filledAt;
    const done = await reset();
    const tookMs = performance.now() - startedAt;
    end.abort();
    expect(done).toMatchObject({ status: 200, body: { scenario: 'typical' } });
    expect(await waits).toEqual([]);
    for (const statuses of [await byLive, await byOther]) {
      expect(statuses?.length).toBeGreaterThan(0);
      expect(new Set(statuses)).toEqual(new Set([200]));
    }
    console.info(`a reset took ${Math.round(tookMs)} ms, the rows ${Math.round(fillMs)} ms`);
    // 0.4 to 0.7 were seen. Without an index, each row that goes would look at all others.
    expect(tookMs).toBeLessThan(3 * fillMs);
    for (const table of REMOVED_BY_RESET) {
      const { rows } = await api.db.pool.query<{ count: number }>(
        `select count(*)::int as count from ${table} where team_id = $1`,
        [SANDBOX],
      );
      expect({ table, count: rows[0]?.count }).toEqual({
        table,
        count: expect.toSatisfy((count: number) => count <= 200),
      });
    }
  });
});

describe('a sandbox above its limits', () => {
  const ABOVE = 200;
  const countOf = async (table: string, of = api): Promise<number> =>
    (
      await of.db.pool.query<{ count: number }>(
        `select count(*)::int as count from ${table} where team_id = $1`,
        [SANDBOX],
      )
    ).rows[0]?.count ?? 0;

  it('keeps what it has, takes no more, and a reset brings it below', async () => {
    expect((await reset()).status).toBe(200);
    await fillTables(api, SANDBOX, { tables: COUNTED_TABLES.toReversed(), free: -ABOVE });
    for (const table of COUNTED_TABLES) {
      const refused = await ADD[table](1);
      expect({ table, ...refused }).toMatchObject({ table, status: 409 });
      expect(refused.detail).toContain(SANDBOX_ROWS[table].called);
      expect({ table, count: await countOf(table) }).toEqual({
        table,
        count: mostRows(table) + ABOVE,
      });
    }
    const page = await api.call(key, 'GET', '/assignments?limit=1');
    const [{ id }] = page.body['data'] as [{ id: string }];
    expect((await api.call(key, 'DELETE', `/assignments/${id}`)).status).toBeLessThan(300);
    expect((await ADD.assignment(1)).status).toBe(409);
    expect((await reset()).status).toBe(200);
    for (const table of COUNTED_TABLES)
      expect({ table, below: (await countOf(table)) < mostRows(table) }).toMatchObject({
        below: true,
      });
    expect((await ADD.assignment(0)).status).toBe(201);
  });

  it('says what helps where a reset cannot remove all of it in time', async () => {
    const slow = await startTestApi({
      statementTimeoutMs: 3_000,
      seed: makeSeed([makeTeam('a')]),
    });
    const testKey = await openSandbox(slow, 'a');
    const resetWith = (headers: Record<string, string>) =>
      slow.call(testKey, 'POST', '/sandbox/reset', { headers });
    // A removal that takes too long. Within the limits it is worth another try.
    await fillTables(slow, SANDBOX, { tables: ['training_case'] });
    const release = await holdLock(slow, lockWhole('evaluation'));
    expect(await resetWith({})).toMatchObject({ status: 503 });
    await slow.db.pool.query(
      `insert into training_case (team_id, id, user_id, title, created_at)
       values ($1, 'cas_above', 'usr_sandbox_clara', 'Above', now())`,
      [SANDBOX],
    );
    for (const headers of [{}, { 'idempotency-key': 'too-much' }])
      expect(await resetWith(headers)).toMatchObject({
        status: 409,
        body: { code: 'conflict', detail: expect.stringContaining('Remove it in the app') },
      });
    await release();
    expect(await countOf('training_case', slow)).toBe(mostRows('training_case') + 1);
    expect((await resetWith({})).status).toBe(200);
    const app = await appAsMember(slow, 'a', 'owner');
    expect(await app.admin.sandbox.remove.mutate({})).toEqual({ ok: true });
  });
});

/** The statements of others that wait for a lock until `end`. */
async function watchWaits({ db }: TestApi, end: AbortSignal): Promise<string[]> {
  const seen = new Set<string>();
  while (!end.aborted) {
    const { rows } = await db.pool.query<{ query: string }>(
      `select query
       from pg_stat_activity
       where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`,
    );
    for (const { query } of rows) seen.add(query);
    await delay(5);
  }
  return [...seen];
}

/** What a live team's calls answer, which lock its team and members, until `end`. */
async function changeRoles(team: string, end: AbortSignal): Promise<number[]> {
  const statuses: number[] = [];
  const live = api.key(`team_${team}`);
  while (!end.aborted) {
    const path = `/users/${memberId(team, 'member')}`;
    const role = statuses.length % 2 === 0 ? 'admin' : 'member';
    statuses.push((await api.call(live, 'PATCH', path, { body: { role } })).status);
  }
  return statuses;
}
