import { beforeAll, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { SCOPES } from '../../src/core/scopes.ts';
import { openDatabase, type Database } from '../../src/db/client.ts';
import {
  createCall,
  loadTestSeed,
  startApiProcess,
  startTestApi,
  type Call,
  type TestApi,
} from '../support/api.ts';
import { appAs, appAsMember, codeOf, tokenOf } from '../support/app.ts';
import { createTestDatabase } from '../support/database.ts';
import { makeMember, makeSeed, makeTeam, memberId, userId } from '../support/seed.ts';

type App = Awaited<ReturnType<typeof appAsMember>>;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const START = new Date('2040-11-20T10:00:30.000Z');
const HOLDER = { role: 'admin' as const, rights: ['schnittstellen'] };

/** The problem that a call was refused with. */
async function problemOf(call: Promise<unknown>): Promise<Record<string, unknown>> {
  try {
    await call;
  } catch (error) {
    return (error as { data: { problem: Record<string, unknown> } }).data.problem;
  }
  throw new Error('the call was not refused');
}

const auditOf = async (db: Database, team: string) =>
  (
    await db.pool.query(
      `select actor_id, action, target_id, details from audit_log where team_id = $1 order by created_at, id`,
      [team],
    )
  ).rows;

let names = 0;
const newName = () => `key ${(names += 1)}`;
const create = (
  app: App,
  fields: Partial<Parameters<App['admin']['apiKeys']['create']['mutate']>[0]> = {},
) => app.admin.apiKeys.create.mutate({ name: newName(), scopes: ['users:read'], ...fields });

describe('on one process, with a clock that stands still', () => {
  const clock = fixedClock(START);
  let api: TestApi;
  const as = async (team: string, name: string): Promise<App> =>
    appAs(
      api,
      await tokenOf(
        { kind: 'user', userId: userId(team, name), teamId: `team_${team}` },
        clock.now(),
      ),
    );
  const statusOf = async (key: string, path = '/users') =>
    (await api.call(key, 'GET', path)).status;

  beforeAll(async () => {
    api = await startTestApi({
      clock,
      seed: makeSeed([
        ...['a', 'b', 'room', 'audit', 'list'].map((name) =>
          makeTeam(name, { members: [makeMember(name, 'holder', HOLDER)] }),
        ),
        makeTeam('private', { privacy: { member_detail_enabled: false } }),
        ...['starter', 'enterprise'].map((plan) => makeTeam(plan, { plan: plan as 'starter' })),
      ]),
    });
  });

  describe('create', () => {
    test('answers with a key that works, has its scopes only, and is shown once', async () => {
      const app = await as('a', 'holder');
      const made = await create(app, { scopes: ['cases:read', 'users:read', 'cases:read'] });
      expect(made).toMatchObject({
        scopes: ['users:read', 'cases:read'],
        creator: { member_id: memberId('a', 'holder'), email: 'holder@a.test' },
        created_at: START.toISOString(),
        last_used_at: null,
        expires_at: null,
        revoked_at: null,
        allowed_ips: null,
        state: 'active',
      });
      expect(made.key.startsWith(`svck_live_${made.prefix}_`)).toBe(true);
      expect(await statusOf(made.key)).toBe(200);
      expect(await statusOf(made.key, '/assignments')).toBe(403);
      const { key, ...shown } = made;
      const got = await app.admin.apiKeys.get.query({ key_id: made.id });
      expect(got).toEqual({ ...shown, last_used_at: '2040-11-20T10:00:00.000Z' });
      const { rows } = await api.db.pool.query(`select * from api_key where id = $1`, [made.id]);
      expect(JSON.stringify([got, rows])).not.toContain(key.split('_').at(-1));
    });

    test('the rights of a key are those of whoever made it, as they are now', async () => {
      const { key } = await create(await as('a', 'holder'), {
        scopes: ['users:read', 'users:write'],
      });
      const promote = (role: string) =>
        api.call(key, 'PATCH', '/users/mem_a_member', { body: { role } });
      expect((await promote('admin')).status).toBe(200);
      expect((await promote('member')).status).toBe(200);
      await api.db.pool.query(
        `update member set role = 'member' where id = 'mem_a_holder' and team_id = 'team_a'`,
      );
      expect((await promote('admin')).body).toMatchObject({ code: 'insufficient_scope' });
      await api.db.pool.query(
        `update member set role = 'admin' where id = 'mem_a_holder' and team_id = 'team_a'`,
      );
    });

    test.each([
      { what: 'an empty name', fields: { name: ' ' }, path: 'input.name' },
      { what: 'no scope', fields: { scopes: [] }, path: 'input.scopes' },
      {
        what: 'an unknown scope',
        fields: { scopes: ['users:all' as 'users:read'] },
        path: 'input.scopes.0',
      },
      {
        what: 'an empty list of addresses',
        fields: { allowed_ips: [] },
        path: 'input.allowed_ips',
      },
      ...[
        '10.0.0.0/33',
        '10.0.0',
        '::1/129',
        'fe80::1%eth0',
        'host',
        '1.2.3.4/8/8',
        '::ffff:10.0.0.1',
        '0:0:0:0:0:ffff:a00:1/120',
      ].map((address) => ({
        what: `the address ${address}`,
        fields: { allowed_ips: ['127.0.0.1', address] },
        path: 'input.allowed_ips.1',
      })),
      {
        what: 'an expiry without offset',
        fields: { expires_at: '2027-01-01T00:00:00' },
        path: 'input.expires_at',
      },
    ])('refuses $what', async ({ fields, path }) => {
      const problem = await problemOf(create(await as('a', 'owner'), fields));
      expect(problem).toMatchObject({ code: 'validation_error', errors: [{ path }] });
    });

    test('refuses a name that the team has or had, and leaves it to other teams', async () => {
      const app = await as('a', 'owner');
      const { id, name } = await create(app);
      await app.admin.apiKeys.revoke.mutate({ key_id: id });
      expect(await problemOf(create(app, { name: ` ${name} ` }))).toMatchObject({
        code: 'validation_error',
        field: 'name',
      });
      expect(await codeOf(create(await as('b', 'owner'), { name }))).toBe('ok');
    });

    test('holds the key to its addresses and its expiry', async () => {
      const app = await as('a', 'owner');
      const past = await problemOf(create(app, { expires_at: START.toISOString() }));
      expect(past).toMatchObject({ code: 'validation_error', field: 'expires_at' });
      const here = await create(app, {
        allowed_ips: ['10.0.0.0/8', '127.0.0.0/8', '127.0.0.0/8', '::1'],
      });
      expect(here.allowed_ips).toEqual(['10.0.0.0/8', '127.0.0.0/8', '::1']);
      expect(await statusOf(here.key)).toBe(200);
      const elsewhere = await create(app, { allowed_ips: ['10.0.0.0/8'] });
      expect(await statusOf(elsewhere.key)).toBe(401);
      const brief = await create(app, { expires_at: '2040-11-20T12:00:31.000+02:00' });
      expect(brief.expires_at).toBe('2040-11-20T10:00:31.000Z');
      expect(await statusOf(brief.key)).toBe(200);
      clock.advance(1000);
      expect(await statusOf(brief.key)).toBe(401);
      expect(await app.admin.apiKeys.get.query({ key_id: brief.id })).toMatchObject({
        state: 'expired',
      });
    });

    test.each(['starter', 'team', 'enterprise'])(
      'in the plan %s it is possible exactly where the API is',
      async (plan) => {
        const team = plan === 'team' ? 'b' : plan;
        const app = await as(team, 'owner');
        const enabled = (await statusOf(api.key(`team_${team}`), '/me')) === 200;
        expect(enabled).toBe(plan !== 'starter');
        const refusal = enabled ? 'ok' : 'api_disabled';
        const page = await app.admin.apiKeys.list.query({});
        const seeded = page.data.find(({ name }) => name === 'none')?.id ?? '';
        expect(await codeOf(create(app))).toBe(refusal);
        expect(await codeOf(app.admin.apiKeys.rotate.mutate({ key_id: seeded, grace_s: 0 }))).toBe(
          refusal,
        );
        expect(await codeOf(app.admin.apiKeys.revoke.mutate({ key_id: seeded }))).toBe('ok');
      },
    );

    test('a team has at most 50 live keys; ended ones and a rotation without grace make room', async () => {
      const app = await as('room', 'owner');
      const { rows } = await api.db.pool.query(
        `select count(*)::int as n from api_key where team_id = 'team_room'`,
      );
      const last = [];
      for (let made = rows[0].n; made < 50; made += 1) last.push(await create(app));
      const [first, second] = last;
      expect(await problemOf(create(app))).toMatchObject({
        code: 'validation_error',
        field: 'name',
      });
      const rotate = (grace_s: number) =>
        app.admin.apiKeys.rotate.mutate({ key_id: first?.id ?? '', grace_s });
      expect(await problemOf(rotate(60))).toMatchObject({
        code: 'validation_error',
        field: 'grace_s',
      });
      expect(await statusOf(first?.key ?? '')).toBe(200);
      expect(await codeOf(rotate(0))).toBe('ok');
      expect(await codeOf(create(app))).toBe('validation_error');
      await app.admin.apiKeys.revoke.mutate({ key_id: second?.id ?? '' });
      expect(await codeOf(create(app))).toBe('ok');
      expect(await codeOf(create(app))).toBe('validation_error');
    });
  });

  describe('list', () => {
    test('shows all of the team’s keys page by page, newest first, with the minute of the last use', async () => {
      const app = await as('list', 'admin');
      const newest = await create(await as('list', 'owner'));
      clock.advance(5 * MINUTE_MS);
      await api.call(newest.key, 'GET', '/users');
      const at = clock.now();
      clock.advance(3 * MINUTE_MS);
      const ids: string[] = [];
      for (let cursor: string | undefined; ;) {
        const page = await app.admin.apiKeys.list.query({ limit: 4, cursor });
        ids.push(...page.data.map(({ id }) => id));
        if (page.next_cursor === null) break;
        cursor = page.next_cursor;
      }
      const { rows } = await api.db.pool.query(
        `select id from api_key where team_id = 'team_list' order by created_at desc, id desc`,
      );
      expect(ids).toEqual(rows.map(({ id }) => id));
      const { data } = await app.admin.apiKeys.list.query({ limit: 1 });
      expect(data).toMatchObject([
        { id: newest.id, last_used_at: at.toISOString().replace(/:\d\d\.\d{3}Z/, ':00.000Z') },
      ]);
    });

    test('leaves out emails while member details are off', async () => {
      const app = await as('private', 'owner');
      const { data } = await app.admin.apiKeys.list.query({});
      expect(data[0]?.creator).toEqual({ member_id: memberId('private', 'owner') });
    });

    test('offers the templates of the specification, and every scope', async () => {
      const { templates, scopes } = await (
        await as('a', 'admin')
      ).admin.apiKeys.templates.query({});
      const reads = SCOPES.filter((scope) => scope.endsWith(':read'));
      expect(reads).toHaveLength(7);
      expect(templates).toMatchObject([
        { id: 'read_only', scopes: reads },
        {
          id: 'read_and_assignments',
          scopes: expect.arrayContaining([...reads, 'assignments:write']),
        },
      ]);
      expect(templates[1]?.scopes).toHaveLength(8);
      expect(scopes.map(({ scope }) => scope)).toEqual(SCOPES);
    });
  });

  describe('revoke', () => {
    test('ends the key at the next request, and only the first time is a change', async () => {
      const app = await as('audit', 'holder');
      const { id, key } = await create(app);
      const revoke = () => app.admin.apiKeys.revoke.mutate({ key_id: id });
      const at = clock.now().toISOString();
      expect(await revoke()).toMatchObject({ id, state: 'revoked', revoked_at: at });
      expect(await statusOf(key)).toBe(401);
      clock.advance(MINUTE_MS);
      expect(await revoke()).toMatchObject({ state: 'revoked', revoked_at: at });
      expect(await auditOf(api.db, 'team_audit')).toEqual([
        {
          actor_id: 'mem_audit_holder',
          action: 'api_key.created',
          target_id: id,
          details: { scopes: ['users:read'], expires_at: null, ip_restricted: false },
        },
        { actor_id: 'mem_audit_holder', action: 'api_key.revoked', target_id: id, details: {} },
      ]);
    });
  });

  describe('rotate', () => {
    test('both keys work until the grace ends, then the new one alone', async () => {
      const app = await as('a', 'owner');
      const old = await create(await as('a', 'holder'), {
        name: 'Import',
        allowed_ips: ['127.0.0.1'],
      });
      const made = await app.admin.apiKeys.rotate.mutate({ key_id: old.id, grace_s: 30 * 86_400 });
      expect(made).toMatchObject({
        name: 'Import (2)',
        scopes: old.scopes,
        allowed_ips: ['127.0.0.1'],
        expires_at: null,
        creator: { member_id: memberId('a', 'owner') },
      });
      const end = new Date(clock.now().getTime() + 30 * DAY_MS);
      const oldNow = async () =>
        (await as('a', 'owner')).admin.apiKeys.get.query({ key_id: old.id });
      expect(await oldNow()).toMatchObject({ state: 'active', revoked_at: end.toISOString() });
      clock.set(new Date(end.getTime() - 1));
      expect([await statusOf(old.key), await statusOf(made.key)]).toEqual([200, 200]);
      clock.set(end);
      expect([await statusOf(old.key), await statusOf(made.key)]).toEqual([401, 200]);
      expect(await oldNow()).toMatchObject({ state: 'revoked' });
    });

    test('goes on counting in the name, and happens once a key', async () => {
      const app = await as('a', 'owner');
      const rotate = (key_id: string, grace_s = 60) =>
        app.admin.apiKeys.rotate.mutate({ key_id, grace_s });
      const first = await create(app, { name: 'Export' });
      const second = await rotate(first.id);
      const third = await rotate(second.id, 0);
      expect([second.name, third.name]).toEqual(['Export (2)', 'Export (3)']);
      expect([
        await statusOf(first.key),
        await statusOf(second.key),
        await statusOf(third.key),
      ]).toEqual([200, 401, 200]);
      for (const ended of [first, second])
        expect(await problemOf(rotate(ended.id))).toMatchObject({
          code: 'validation_error',
          field: 'key_id',
        });
    });

    test('a long name is cut to make room for the number, and a taken number is passed over', async () => {
      const app = await as('a', 'owner');
      const long = await create(app, { name: 'x'.repeat(100) });
      const made = await app.admin.apiKeys.rotate.mutate({ key_id: long.id, grace_s: 0 });
      expect(made.name).toBe(`${'x'.repeat(80)} (2)`);
      await create(app, { name: 'Sync (7)' });
      const sync = await create(app, { name: 'Sync' });
      expect(await app.admin.apiKeys.rotate.mutate({ key_id: sync.id, grace_s: 0 })).toMatchObject({
        name: 'Sync (8)',
      });
    });

    test('keeps the expiry unless another is given', async () => {
      const app = await as('a', 'owner');
      const expires_at = new Date(clock.now().getTime() + DAY_MS).toISOString();
      const rotate = async (expiry: { expires_at?: string | null }) => {
        const { id } = await create(app, { expires_at });
        return app.admin.apiKeys.rotate.mutate({ key_id: id, grace_s: 0, ...expiry });
      };
      expect(await rotate({})).toMatchObject({ expires_at });
      expect(await rotate({ expires_at: null })).toMatchObject({ expires_at: null });
      const past = await problemOf(rotate({ expires_at: clock.now().toISOString() }));
      expect(past).toMatchObject({ code: 'validation_error', field: 'expires_at' });
    });

    test('a key in its grace can be revoked at once', async () => {
      const app = await as('a', 'owner');
      const old = await create(app);
      await app.admin.apiKeys.rotate.mutate({ key_id: old.id, grace_s: 3600 });
      await app.admin.apiKeys.revoke.mutate({ key_id: old.id });
      expect(await statusOf(old.key)).toBe(401);
    });

    test.each([-1, 1.5, 30 * 86_400 + 1])('refuses a grace of %d seconds', async (grace_s) => {
      const app = await as('a', 'owner');
      const problem = await problemOf(
        app.admin.apiKeys.rotate.mutate({ key_id: 'key_x', grace_s }),
      );
      expect(problem).toMatchObject({
        code: 'validation_error',
        errors: [{ path: 'input.grace_s' }],
      });
    });
  });

  describe('who may', () => {
    const attempts = (app: App, key_id: string): Record<string, Promise<unknown>> => ({
      list: app.admin.apiKeys.list.query({}),
      get: app.admin.apiKeys.get.query({ key_id }),
      templates: app.admin.apiKeys.templates.query({}),
      create: create(app),
      rotate: app.admin.apiKeys.rotate.mutate({ key_id, grace_s: 60 }),
      revoke: app.admin.apiKeys.revoke.mutate({ key_id }),
    });
    const codesOf = async (app: App, key_id: string) =>
      Object.fromEntries(
        await Promise.all(
          Object.entries(attempts(app, key_id)).map(async ([name, call]) => [
            name,
            await codeOf(call),
          ]),
        ),
      );
    const all = (code: string) => ({
      list: code,
      get: code,
      templates: code,
      create: code,
      rotate: code,
      revoke: code,
    });

    test('admins read; the owner and holders of the right write; nobody else does anything', async () => {
      const { id } = await create(await as('b', 'owner'));
      expect(await codesOf(await as('b', 'admin'), id)).toEqual({
        ...all('ok'),
        create: 'forbidden',
        rotate: 'forbidden',
        revoke: 'forbidden',
      });
      expect(await codesOf(await as('b', 'member'), id)).toEqual(all('forbidden'));
      expect(await codesOf(await as('b', 'nobody'), id)).toEqual(all('unauthorized'));
      const service = appAs(
        api,
        await tokenOf({ kind: 'platform', service: 'training' }, clock.now()),
      );
      expect(await codesOf(service, id)).toEqual(all('forbidden'));
      expect(await codesOf(appAs(api, api.key('team_b')), id)).toEqual(all('unauthorized'));
      const { state } = await (await as('b', 'admin')).admin.apiKeys.get.query({ key_id: id });
      expect(state).toBe('active');
      expect((await codesOf(await as('b', 'holder'), id))['revoke']).toBe('ok');
    });

    test('another team’s key is as unknown as one that never was', async () => {
      const foreign = await create(await as('b', 'owner'));
      const app = await as('a', 'owner');
      for (const key_id of [foreign.id, 'key_unknown']) {
        expect(await problemOf(app.admin.apiKeys.get.query({ key_id }))).toMatchObject({
          code: 'not_found',
        });
        expect(await codeOf(app.admin.apiKeys.revoke.mutate({ key_id }))).toBe('not_found');
        expect(await codeOf(app.admin.apiKeys.rotate.mutate({ key_id, grace_s: 0 }))).toBe(
          'not_found',
        );
      }
      expect(await statusOf(foreign.key)).toBe(200);
      const { data } = await app.admin.apiKeys.list.query({ limit: 200 });
      expect(data.map(({ id }) => id)).not.toContain(foreign.id);
    });
  });
});

describe('on two processes', () => {
  let db: Database;
  let calls: [Call, Call];
  let apps: [App, App];
  let raceApps: [App, App];

  beforeAll(async () => {
    const database = await createTestDatabase();
    await loadTestSeed(database, makeSeed([makeTeam('a'), makeTeam('race')]));
    const [one, two] = await Promise.all([
      startApiProcess(database.url),
      startApiProcess(database.url),
    ]);
    calls = [createCall(one.url), createCall(two.url)];
    apps = [await appAsMember(one, 'a', 'owner'), await appAsMember(two, 'a', 'owner')];
    db = openDatabase({ url: database.url, poolMax: 2, onError: () => undefined });
    raceApps = [await appAsMember(one, 'race', 'owner'), await appAsMember(two, 'race', 'owner')];
    return async () => {
      await Promise.all([one.kill('SIGTERM'), two.kill('SIGTERM')]);
      await db.close();
      await database.drop();
    };
  });

  const statuses = (key: string) =>
    Promise.all(calls.map(async (call) => (await call(key, 'GET', '/users')).status));

  test('a key works at once on every process, and not once more after its revocation', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { id, key } = await create(apps[0]);
      expect(await statuses(key)).toEqual([200, 200]);
      await apps[1].admin.apiKeys.revoke.mutate({ key_id: id });
      expect(await statuses(key)).toEqual([401, 401]);
    }
  });

  test('a rotated key and its successor both work on every process during the grace', async () => {
    const old = await create(apps[0]);
    const made = await apps[1].admin.apiKeys.rotate.mutate({ key_id: old.id, grace_s: 3600 });
    expect([await statuses(old.key), await statuses(made.key)]).toEqual([
      [200, 200],
      [200, 200],
    ]);
  });

  test('two rotations of one key that meet make one successor', async () => {
    const { id, name } = await create(apps[0]);
    const codes = await Promise.all(
      apps.map((app) => codeOf(app.admin.apiKeys.rotate.mutate({ key_id: id, grace_s: 60 }))),
    );
    expect(codes.toSorted()).toEqual(['ok', 'validation_error']);
    const { rows } = await db.pool.query(
      `select name from api_key where team_id = 'team_a' and starts_with(name, $1)`,
      [`${name} (`],
    );
    expect(rows).toHaveLength(1);
  });

  test('two creations of one name that meet make one key', async () => {
    const name = newName();
    const codes = await Promise.all(apps.map((app) => codeOf(create(app, { name }))));
    expect(codes.toSorted()).toEqual(['ok', 'validation_error']);
  });

  test('creations that race for the last places never make more than 50 live keys', async () => {
    const { rows } = await db.pool.query(
      `select count(*)::int as n from api_key where team_id = 'team_race'`,
    );
    const free = 50 - rows[0].n;
    const codes = await Promise.all(
      Array.from({ length: free + 10 }, (_, index) =>
        codeOf(create(raceApps[index % 2] ?? raceApps[0])),
      ),
    );
    expect(codes.filter((code) => code === 'ok')).toHaveLength(free);
    expect(codes.filter((code) => code === 'validation_error')).toHaveLength(10);
  });
});
