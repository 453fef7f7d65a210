import { beforeAll, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { SCOPES } from '../../src/core/scopes.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAt, createKey, KEY_HOLDER, type App } from '../support/api-keys.ts';
import { appAs, codeOf, tokenOf } from '../support/app.ts';
import { auditOf } from '../support/audit.ts';
import { clockAhead } from '../support/clocks.ts';

import { problemOf } from '../support/problems.ts';
import { makeMember, makeSeed, makeTeam, memberId } from '../support/seed.ts';

const MINUTE_MS = 60_000;
const START = new Date('2040-11-20T10:00:30.000Z');
const clock = fixedClock(START);

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({
    clock,
    seed: makeSeed([
      ...['a', 'b', 'room', 'audit', 'list', 'live'].map((name) =>
        makeTeam(name, { members: [makeMember(name, 'holder', KEY_HOLDER)] }),
      ),
      makeTeam('private', { privacy: { member_detail_enabled: false } }),
      ...(['starter', 'enterprise'] as const).map((plan) => makeTeam(plan, { plan })),
    ]),
  });
});

const as = (team: string, name: string): Promise<App> => appAt(api, clock.now(), team, name);
const statusOf = async (key: string, path = '/users') => (await api.call(key, 'GET', path)).status;

describe('a process whose clock is behind the database’s', () => {
  test('refuses a key that has ended before it is made, and a rotation to one', async () => {
    const behind = clockAhead(-60_000);
    const team = makeTeam('a', { members: [makeMember('a', 'holder', KEY_HOLDER)] });
    const late = await startTestApi({ clock: behind, seed: makeSeed([team]) });
    const app = await appAt(late, behind.now(), 'a', 'holder');
    const expires_at = new Date(Date.now() - 1_000).toISOString();
    const refusal = { code: 'validation_error', field: 'expires_at' };
    expect(await problemOf(createKey(app, { expires_at }))).toMatchObject(refusal);
    const { id } = await createKey(app);
    const rotation = { key_id: id, grace_s: 0, expires_at };
    expect(await problemOf(app.admin.apiKeys.rotate.mutate(rotation))).toMatchObject(refusal);
  });
});

describe('create', () => {
  test('returns a key that works within its scopes and is shown only once', async () => {
    const app = await as('a', 'holder');
    const made = await createKey(app, { scopes: ['cases:read', 'users:read', 'cases:read'] });
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

  test('a key may do what its creator may do at the time of the call', async () => {
    const { key } = await createKey(await as('a', 'holder'), {
      scopes: ['users:read', 'users:write'],
    });
    const promote = (role: string) =>
      api.call(key, 'PATCH', '/users/mem_a_member', { body: { role } });
    expect((await promote('admin')).status).toBe(200);
    expect((await promote('member')).status).toBe(200);
    await api.db.pool.query(
      `update member
       set role = 'member'
       where id = 'mem_a_holder' and team_id = 'team_a'`,
    );
    expect((await promote('admin')).body).toMatchObject({ code: 'insufficient_scope' });
    await api.db.pool.query(
      `update member
       set role = 'admin'
       where id = 'mem_a_holder' and team_id = 'team_a'`,
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
    const problem = await problemOf(createKey(await as('a', 'owner'), fields));
    expect(problem).toMatchObject({ code: 'validation_error', errors: [{ path }] });
  });

  test('refuses a name that the team used before; other teams may use it', async () => {
    const app = await as('a', 'owner');
    const { id, name } = await createKey(app);
    await app.admin.apiKeys.revoke.mutate({ key_id: id });
    expect(await problemOf(createKey(app, { name: ` ${name} ` }))).toMatchObject({
      code: 'validation_error',
      field: 'name',
    });
    expect(await codeOf(createKey(await as('b', 'owner'), { name }))).toBe('ok');
  });

  test('a key works only from its addresses and until its expiry', async () => {
    const app = await as('a', 'owner');
    const past = await problemOf(createKey(app, { expires_at: START.toISOString() }));
    expect(past).toMatchObject({ code: 'validation_error', field: 'expires_at' });
    const here = await createKey(app, {
      allowed_ips: ['10.0.0.0/8', '127.0.0.0/8', '127.0.0.0/8', '::1'],
    });
    expect(here.allowed_ips).toEqual(['10.0.0.0/8', '127.0.0.0/8', '::1']);
    expect(await statusOf(here.key)).toBe(200);
    const elsewhere = await createKey(app, { allowed_ips: ['10.0.0.0/8'] });
    expect(await statusOf(elsewhere.key)).toBe(401);
    const brief = await createKey(app, { expires_at: '2040-11-20T12:00:31.000+02:00' });
    expect(brief.expires_at).toBe('2040-11-20T10:00:31.000Z');
    expect(await statusOf(brief.key)).toBe(200);
    clock.advance(1000);
    expect(await statusOf(brief.key)).toBe(401);
    expect(await app.admin.apiKeys.get.query({ key_id: brief.id })).toMatchObject({
      state: 'expired',
    });
  });

  test.each(['starter', 'team', 'enterprise'])(
    'in the plan %s keys can be made if the plan includes the API, and always revoked',
    async (plan) => {
      const team = plan === 'team' ? 'b' : plan;
      const app = await as(team, 'owner');
      const enabled = (await statusOf(api.key(`team_${team}`), '/me')) === 200;
      expect(enabled).toBe(plan !== 'starter');
      const refusal = enabled ? 'ok' : 'api_disabled';
      const page = await app.admin.apiKeys.list.query({});
      const seeded = page.data.find(({ name }) => name === 'none')?.id ?? '';
      expect(await codeOf(createKey(app))).toBe(refusal);
      expect(await codeOf(app.admin.apiKeys.rotate.mutate({ key_id: seeded, grace_s: 0 }))).toBe(
        refusal,
      );
      expect(await codeOf(app.admin.apiKeys.revoke.mutate({ key_id: seeded }))).toBe('ok');
    },
  );

  test('a team has at most 50 live keys; a key that ends makes room', async () => {
    const app = await as('room', 'owner');
    const { rows } = await api.db.pool.query(
      `select count(*)::int as n from api_key where team_id = 'team_room'`,
    );
    const last = [];
    for (let made = rows[0].n; made < 50; made += 1) last.push(await createKey(app));
    const [first, second] = last;
    expect(await problemOf(createKey(app))).toMatchObject({
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
    expect(await codeOf(createKey(app))).toBe('validation_error');
    await app.admin.apiKeys.revoke.mutate({ key_id: second?.id ?? '' });
    expect(await codeOf(createKey(app))).toBe('ok');
    expect(await codeOf(createKey(app))).toBe('validation_error');
  });
});

describe('list', () => {
  test('shows all keys of the team, newest first, with the minute of their last use', async () => {
    const app = await as('list', 'admin');
    const newest = await createKey(await as('list', 'owner'));
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
      `select id
       from api_key
       where team_id = 'team_list'
       order by created_at desc, id desc`,
    );
    expect(ids).toEqual(rows.map(({ id }) => id));
    const { data } = await app.admin.apiKeys.list.query({ limit: 1 });
    expect(data).toMatchObject([
      { id: newest.id, last_used_at: at.toISOString().replace(/:\d\d\.\d{3}Z/, ':00.000Z') },
    ]);
  });

  test('shows the live keys alone, those in a grace period among them', async () => {
    const app = await as('live', 'owner');
    const { data: seeded } = await app.admin.apiKeys.list.query({});
    for (const { id } of seeded) await app.admin.apiKeys.revoke.mutate({ key_id: id });
    const lasting = await createKey(app);
    const brief = await createKey(app, {
      expires_at: new Date(clock.now().getTime() + MINUTE_MS).toISOString(),
    });
    const revoked = await createKey(app);
    await app.admin.apiKeys.revoke.mutate({ key_id: revoked.id });
    const replaced = await createKey(app);
    const grace = { key_id: replaced.id, grace_s: 2 * 60 };
    const successor = await app.admin.apiKeys.rotate.mutate(grace);
    const live = async () =>
      (await app.admin.apiKeys.list.query({ state: 'active' })).data.map(({ id }) => id).toSorted();
    const after = [lasting.id, successor.id];
    expect(await live()).toEqual([...after, replaced.id, brief.id].toSorted());
    clock.advance(MINUTE_MS);
    expect(await live()).toEqual([...after, replaced.id].toSorted());
    clock.advance(MINUTE_MS);
    expect(await live()).toEqual(after.toSorted());
    const page = await app.admin.apiKeys.list.query({ state: 'active', limit: 1 });
    expect(page.data).toHaveLength(1);
    const cursor = page.next_cursor ?? '';
    const rest = await app.admin.apiKeys.list.query({ state: 'active', cursor });
    expect([...page.data, ...rest.data].map(({ id }) => id).toSorted()).toEqual(after.toSorted());
    expect(rest.next_cursor).toBeNull();
    // It is a place in the list, whichever keys are asked for.
    const all = await app.admin.apiKeys.list.query({ cursor });
    expect(all.data.map(({ id }) => id)).toEqual(expect.arrayContaining([rest.data[0]?.id]));
    expect(all.data.map(({ id }) => id)).not.toContain(page.data[0]?.id);
  });

  test.each(['revoked', 'ending'])('refuses the state %s', async (state) => {
    const app = await as('live', 'owner');
    const asked = app.admin.apiKeys.list.query({ state: state as 'active' });
    expect(await problemOf(asked)).toMatchObject({
      code: 'validation_error',
      errors: [{ path: 'input.state' }],
    });
  });

  test('leaves out emails while member details are off', async () => {
    const app = await as('private', 'owner');
    const { data } = await app.admin.apiKeys.list.query({});
    expect(data[0]?.creator).toEqual({ member_id: memberId('private', 'owner') });
  });

  test('offers templates by purpose, those that allow least first, and every scope', async () => {
    const { templates, scopes } = await (await as('a', 'admin')).admin.apiKeys.templates.query({});
    const reads = SCOPES.filter((scope) => scope.endsWith(':read'));
    expect(reads).toHaveLength(7);
    expect(templates.map(({ id, scopes: allowed }) => [id, allowed])).toEqual([
      ['members_only', ['users:read', 'users:write']],
      ['results', ['trainings:read', 'evaluations:read', 'analytics:read']],
      ['assignments', ['users:read', 'assignments:read', 'assignments:write', 'catalog:read']],
      ['read_only', reads],
      ['read_and_assignments', expect.arrayContaining([...reads, 'assignments:write'])],
    ]);
    expect(templates[4]?.scopes).toHaveLength(8);
    expect(templates[0]?.purpose).toBe(
      'Sieht, wer im Team ist, lädt ein und entfernt. Sieht keine Trainings oder Ergebnisse.',
    );
    expect(scopes.map(({ scope }) => scope)).toEqual(SCOPES);
  });
});

describe('names', () => {
  const namesOf = async (team: string, key_ids: string[]) =>
    (await (await as(team, 'admin')).admin.apiKeys.names.query({ key_ids })).data;

  test('says how the team’s keys are called, in any state, and nothing of others', async () => {
    const app = await as('a', 'owner');
    const [live, ended] = [await createKey(app), await createKey(app)];
    await app.admin.apiKeys.revoke.mutate({ key_id: ended.id });
    const foreign = await createKey(await as('b', 'owner'));
    const named = await namesOf('a', [foreign.id, live.id, 'key_unknown', ended.id, live.id]);
    expect(named.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual(
      [live, ended].map(({ id, name }) => ({ id, name })),
    );
    expect(await namesOf('a', [foreign.id])).toEqual([]);
  });

  test.each([0, 201])('refuses %d ids', async (count) => {
    const ids = Array.from({ length: count }, (_, n) => `key_${n}`);
    expect(await problemOf(namesOf('a', ids))).toMatchObject({
      code: 'validation_error',
      errors: [{ path: 'input.key_ids' }],
    });
  });
});

describe('revoke', () => {
  test('ends the key at the next request; a second revocation changes nothing', async () => {
    const app = await as('audit', 'holder');
    const { id, key } = await createKey(app);
    const revoke = () => app.admin.apiKeys.revoke.mutate({ key_id: id });
    const at = clock.now().toISOString();
    expect(await revoke()).toMatchObject({ id, state: 'revoked', revoked_at: at });
    expect(await statusOf(key)).toBe(401);
    clock.advance(MINUTE_MS);
    expect(await revoke()).toMatchObject({ state: 'revoked', revoked_at: at });
    const actor = { actor_kind: 'user', actor_id: 'mem_audit_holder' };
    expect(await auditOf(api, 'team_audit')).toEqual([
      {
        ...actor,
        action: 'api_key.created',
        target_id: id,
        details: { scopes: ['users:read'], expires_at: null, ip_restricted: false },
      },
      { ...actor, action: 'api_key.revoked', target_id: id, details: {} },
    ]);
  });
});

describe('who may do what', () => {
  const attempts = (app: App, key_id: string): Record<string, Promise<unknown>> => ({
    list: app.admin.apiKeys.list.query({}),
    get: app.admin.apiKeys.get.query({ key_id }),
    names: app.admin.apiKeys.names.query({ key_ids: [key_id] }),
    templates: app.admin.apiKeys.templates.query({}),
    create: createKey(app),
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
    names: code,
    templates: code,
    create: code,
    rotate: code,
    revoke: code,
  });

  test('admins read; the owner and holders of the right write; others are refused', async () => {
    const { id } = await createKey(await as('b', 'owner'));
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

  test('another team’s key looks like one that never existed', async () => {
    const foreign = await createKey(await as('b', 'owner'));
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
