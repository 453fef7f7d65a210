import { SignJWT } from 'jose';
import { request } from 'undici';
import { beforeAll, describe, expect, test } from 'vitest';
import { SCOPES } from '../../src/core/scopes.ts';
import { startTestApi, TEST_APP_AUTH_SECRET, type TestApi } from '../support/api.ts';
import {
  appAs,
  appAsMember,
  appAsPlatform,
  appWith,
  codeOf,
  openSession,
  tokenOf,
} from '../support/app.ts';
import { makeMember, makeSeed, makeTeam, userId } from '../support/seed.ts';
import { followLink, HOST, linkToken, sent } from '../support/session-links.ts';

/** Enough that the response could be compressed. */
const ADDRESSES = Array.from({ length: 50 }, (_, n) => `203.0.113.${n}`);

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({
    developmentTeamId: 'team_a',
    seed: makeSeed([
      makeTeam('a', {
        members: [makeMember('a', 'gone', { status: 'ended' })],
        privacy: { member_detail_enabled: true },
      }),
      makeTeam('b', { status: 'suspended' }),
      makeTeam('closing'),
      makeTeam('starter', { plan: 'starter' }),
    ]),
  });
});

describe('the tRPC API', () => {
  test('answers the owner and active admins as the REST API does', async () => {
    const rest = await api.call(api.key('team_a'), 'GET', '/users');
    for (const name of ['owner', 'admin']) {
      const app = await appAsMember(api, 'a', name);
      expect(await app.v1.members.list.query({ limit: 50 })).toEqual(rest.body);
    }
  });

  test('refuses members, former members, suspended teams, services and strangers', async () => {
    const list = async (app: Awaited<ReturnType<typeof appAsMember>>) =>
      codeOf(app.v1.members.list.query({ limit: 50 }));
    expect(await list(await appAsMember(api, 'a', 'member'))).toBe('forbidden');
    expect(await list(await appAsMember(api, 'a', 'gone'))).toBe('unauthorized');
    expect(await list(await appAsMember(api, 'b', 'owner'))).toBe('api_disabled');
    expect(await list(await appAsPlatform(api))).toBe('forbidden');
    expect(await list(appAs(api, null))).toBe('unauthorized');
    expect(await list(appAs(api, api.key('team_a')))).toBe('unauthorized');
  });

  test('refuses a demoted admin at the next call, although the token is valid', async () => {
    const app = await appAsMember(api, 'a', 'admin');
    await api.db.pool.query(
      `update member
       set role = 'member'
       where team_id = 'team_a' and id = 'mem_a_admin'`,
    );
    expect(await codeOf(app.v1.members.list.query({ limit: 50 }))).toBe('forbidden');
    await api.db.pool.query(
      `update member
       set role = 'admin'
       where team_id = 'team_a' and id = 'mem_a_admin'`,
    );
    expect(await codeOf(app.v1.members.list.query({ limit: 50 }))).toBe('ok');
  });

  test('refuses expired and long-lived tokens', async () => {
    const identity = { kind: 'user', userId: userId('a', 'owner'), teamId: 'team_a' } as const;
    const call = async (token: string) => codeOf(appAs(api, token).v1.me.get.query({}));
    expect(await call(await tokenOf(identity))).toBe('ok');
    expect(await call(await tokenOf(identity, new Date(Date.now() - 3_600_000)))).toBe(
      'unauthorized',
    );
    expect(await call(await tokenOf(identity, new Date(Date.now() - 7_200_000), 86_400))).toBe(
      'unauthorized',
    );
  });

  test('raises no event for an assignment made in the app', async () => {
    const app = await appAsMember(api, 'a', 'owner');
    const combination = {
      situation_id: 'sit_cold',
      personality_id: 'per_calm',
      industry_id: 'ind_saas',
    };
    await app.v1.assignments.create.mutate({
      member_id: 'mem_a_member',
      title: 'From the app',
      ...combination,
    });
    const { rows } = await api.db.pool.query(`select type from event where team_id = 'team_a'`);
    expect(rows).toEqual([]);
    const audit = await api.db.pool.query(
      `select actor_kind, actor_id from audit_log where team_id = 'team_a'`,
    );
    expect(audit.rows).toEqual([{ actor_kind: 'user', actor_id: 'mem_a_owner' }]);
  });
});

describe('the session of the admin page', () => {
  const send = (path: string, init: RequestInit) => fetch(api.url + path, init);

  test('has an httpOnly, strict cookie; changes need the CSRF token', async () => {
    const token = await tokenOf({ kind: 'user', userId: userId('a', 'owner'), teamId: 'team_a' });
    const opened = await send('/trpc-session', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    });
    expect(opened.status).toBe(200);
    const [cookie = ''] = opened.headers.getSetCookie();
    expect(cookie).toMatch(/; HttpOnly; SameSite=Strict$/);
    const { csrf_token } = (await opened.json()) as { csrf_token: string };
    const session = { cookie: cookie.split(';')[0] ?? '', 'content-type': 'application/json' };
    expect((await send('/trpc/v1.me.get?input=%7B%7D', { headers: session })).status).toBe(200);
    const invite = (email: string, headers: Record<string, string>) =>
      send('/trpc/v1.members.create', { method: 'POST', headers, body: JSON.stringify({ email }) });
    expect((await invite('one@a.test', session)).status).toBe(401);
    expect(
      (await invite('one@a.test', { ...session, 'x-csrf-token': `${csrf_token.slice(0, -1)}_` }))
        .status,
    ).toBe(401);
    // As many characters, but more bytes.
    const accented = 'é'.repeat(csrf_token.length);
    expect((await invite('one@a.test', { ...session, 'x-csrf-token': accented })).status).toBe(401);
    expect((await invite('one@a.test', { ...session, 'x-csrf-token': csrf_token })).status).toBe(
      200,
    );
  });

  test('has a CSRF token that no other session takes', async () => {
    const identity = { kind: 'user', userId: userId('a', 'owner'), teamId: 'team_a' } as const;
    const open = async () => (await openSession(api, await tokenOf(identity))).headers;
    const [one, other] = [await open(), await open()];
    const foreign = { ...one, 'x-csrf-token': other['x-csrf-token'] ?? '' };
    const invite = (headers: Record<string, string>) =>
      codeOf(appWith(api, headers).v1.members.create.mutate({ email: 'csrf@a.test' }));
    expect([await invite(foreign), await invite({ ...one })]).toEqual(['unauthorized', 'ok']);
  });

  test('has a cookie of this host only where the public URL is https', async () => {
    const secure = await startTestApi({
      seed: makeSeed([makeTeam('a')]),
      app: { publicUrl: 'https://api.example.com' },
    });
    const token = await tokenOf({ kind: 'user', userId: userId('a', 'owner'), teamId: 'team_a' });
    const opened = await fetch(`${secure.url}/trpc-session`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    });
    const [cookie = ''] = opened.headers.getSetCookie();
    expect(cookie).toMatch(/^__Host-svc_session=.*; Path=\/; .*HttpOnly; Secure; SameSite=Strict$/);
    expect(cookie).not.toContain('Domain');
    const me = (name: string) =>
      fetch(`${secure.url}/trpc/v1.me.get?input=%7B%7D`, { headers: { cookie: name + token } });
    expect((await me('__Host-svc_session=')).status).toBe(200);
    expect((await me('svc_session=')).status).toBe(401);
    const closed = await fetch(`${secure.url}/trpc-session`, { method: 'DELETE' });
    expect(closed.headers.getSetCookie()[0]).toMatch(/^__Host-svc_session=;/);
  });

  const tokenOfOwner = (team: string) =>
    tokenOf({ kind: 'user', userId: userId(team, 'owner'), teamId: `team_${team}` });

  test.each(['suspended', 'ended'])(
    'of a team that is %s cannot be opened, and an open one is refused',
    async (status) => {
      const set = (to: string) =>
        api.db.pool.query(`update team set status = $1 where id = 'team_closing'`, [to]);
      const token = await tokenOfOwner('closing');
      const { headers } = await openSession(api, token);
      const app = appWith(api, headers);
      const codes = async () => [
        await codeOf(app.v1.members.list.query({})),
        await codeOf(app.v1.members.create.mutate({ email: `${status}@closing.test` })),
      ];
      await set(status);
      expect(await openSession(api, token)).toEqual({
        status: 403,
        code: 'api_disabled',
        headers: {},
      });
      expect(await codes()).toEqual(['api_disabled', 'api_disabled']);
      await set('active');
      expect(await codes()).toEqual(['ok', 'ok']);
    },
  );

  test('can be opened without the API in the plan, because every plan has the app', async () => {
    const { status, headers } = await openSession(api, await tokenOfOwner('starter'));
    expect(status).toBe(200);
    expect(await codeOf(appWith(api, headers).v1.members.list.query({}))).toBe('ok');
  });

  test('cannot be opened by a service of the host application or a former member', async () => {
    const gone = { kind: 'user', userId: userId('a', 'gone'), teamId: 'team_a' } as const;
    for (const identity of [{ kind: 'platform', service: 'training' } as const, gone])
      expect(await openSession(api, await tokenOf(identity))).toEqual({
        status: 401,
        code: 'unauthorized',
        headers: {},
      });
  });

  test('cannot be opened without a valid token', async () => {
    const refused = await send('/trpc-session', {
      method: 'POST',
      headers: { authorization: 'Bearer no.token.here' },
    });
    expect(refused.status).toBe(401);
    expect(refused.headers.getSetCookie()).toEqual([]);
  });

  test('development login: only members of the demo team get a token', async () => {
    const login = (id: string) => send(`/trpc-session/development/${id}`, { method: 'POST' });
    const { token } = (await (await login('usr_a_owner')).json()) as { token: string };
    expect(await codeOf(appAs(api, token).v1.me.get.query({}))).toBe('ok');
    expect((await login('usr_b_owner')).status).toBe(404);
    expect((await login('usr_a_owner%00')).status).toBe(404);
  });

  test('development login: not at a name that only points at this machine', async () => {
    const login = async (host: string): Promise<number> => {
      const { statusCode, body } = await request(
        `${api.url}/trpc-session/development/usr_a_owner`,
        { method: 'POST', headers: { host } },
      );
      await body.dump();
      return statusCode;
    };
    for (const host of ['localhost:3000', '127.0.0.1', '[::1]:3000', new URL(api.url).host])
      expect(await login(host)).toBe(200);
    for (const host of ['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example:80'])
      expect(await login(host)).toBe(403);
  });
});

describe('the session of somebody who comes by a link', () => {
  const owner = { userId: userId('a', 'owner'), teamId: 'team_a' } as const;
  let linked: TestApi;
  beforeAll(async () => {
    linked = await startTestApi({
      seed: makeSeed([makeTeam('a', { members: [makeMember('a', 'gone', { status: 'ended' })] })]),
      app: { publicUrl: 'https://api.example.com/base', adminHostOrigins: [HOST] },
    });
  });

  const follow = (token: string, how = {}) => followLink(linked, token, how);
  const sessionOf = (cookie: string) =>
    fetch(`${linked.url}/trpc-session`, { headers: sent(cookie) });

  test('leads to the page with a cookie of this host, which is a session of an hour', async () => {
    const { status, to, cookie } = await follow(await linkToken());
    expect([status, to]).toEqual([303, `/base/admin#from-host=${encodeURIComponent(HOST)}`]);
    expect(cookie).toMatch(
      /^__Host-svc_session=.*Max-Age=3600.*HttpOnly; Secure; SameSite=Strict$/,
    );
    const askedAt = Date.now();
    const session = await sessionOf(cookie);
    expect(session.status).toBe(200);
    const { csrf_token, expires_at } = (await session.json()) as Record<string, string>;
    expect(Date.parse(expires_at ?? '')).toBeGreaterThan(askedAt + 1_800_000);
    const app = appWith(linked, {
      cookie: cookie.split(';')[0] ?? '',
      'x-csrf-token': csrf_token ?? '',
    });
    expect(await codeOf(app.v1.members.create.mutate({ email: 'new@a.test' }))).toBe('ok');
  });

  test('leads to any address of the page, and to no other', async () => {
    const toOf = async (back: string) =>
      (await follow(await linkToken(), { back })).to?.replace(/#from-host=.*$/, '');
    expect(await toOf('/base/admin/deliveries?status=failed')).toBe(
      '/base/admin/deliveries?status=failed',
    );
    expect(await toOf('https://api.example.com/base/admin/keys')).toBe('/base/admin/keys');
    const longest = `/base/admin?q=${'a'.repeat(986)}`;
    expect(await toOf(longest)).toBe(longest);
    for (const back of [
      `${longest}a`,
      // Each is three characters in an address.
      `/base/admin?q=${'"'.repeat(400)}`,
      'https://evil.example/base/admin/keys',
      '//evil.example/base/admin/keys',
      String.raw`\\evil.example/base/admin/keys`,
      '/base/admin/../docs',
      '/base/administration',
      '/docs',
      'http://[',
    ])
      expect(await toOf(back)).toBe('/base/admin');
  });

  test('works once: used again, a token opens nothing and ends what was open', async () => {
    const token = await linkToken();
    const both = await Promise.all([follow(token), follow(token)]);
    const states = await Promise.all(
      both.map(async ({ cookie }) => (await sessionOf(cookie)).status),
    );
    expect(states.toSorted((a, b) => a - b)).toEqual([200, 401]);
    const again = await follow(token, { back: '/base/admin/keys' });
    expect([again.status, again.to]).toEqual([
      303,
      `/base/admin/keys#from-host=${encodeURIComponent(HOST)}`,
    ]);
    expect(again.cookie).toMatch(/^__Host-svc_session=; .*Expires=Thu, 01 Jan 1970/);
  });

  test('is refused for a token that is old, long-lived, foreign, or without an id', async () => {
    const now = Math.floor(Date.now() / 1000);
    const session = (await follow(await linkToken())).cookie.split(/[=;]/)[1] ?? '';
    const tokens = [
      linkToken({ iat: now - 120, exp: now - 60 }),
      linkToken({ iat: now, exp: now + 61 }),
      linkToken({ jti: undefined }),
      linkToken({ jti: '' }),
      linkToken({ jti: 'x'.repeat(201) }),
      linkToken({ kind: 'platform' }),
      linkToken({ sub: userId('a', 'gone') }),
      Promise.resolve(session),
      Promise.resolve('nothing'),
    ];
    for (const token of tokens) {
      const { status, cookie } = await follow(await token);
      expect(status).toBe(303);
      expect((await sessionOf(cookie)).status).toBe(401);
    }
  });

  test('is refused to forms of other sites', async () => {
    for (const origin of ['https://evil.example', 'null', linked.url]) {
      const { status, cookie } = await follow(await linkToken(), { origin });
      expect([status, cookie]).toEqual([403, '']);
    }
  });

  test('refuses a token that only looks like a session of ours', async () => {
    const forged = await new SignJWT({ team_id: owner.teamId, sub: owner.userId })
      .setProtectedHeader({ alg: 'HS256' })
      .setIssuer('team-customer-api')
      .setAudience('admin-session')
      .setIssuedAt()
      .setExpirationTime('1h')
      .sign(new TextEncoder().encode(TEST_APP_AUTH_SECRET));
    expect((await sessionOf(`__Host-svc_session=${forged}`)).status).toBe(401);
  });

  test('compresses what is read, and nothing that may show a secret', async () => {
    const identity = { kind: 'user', userId: userId('a', 'owner'), teamId: 'team_a' } as const;
    const authorization = `Bearer ${await tokenOf(identity)}`;
    const headers = {
      authorization,
      'content-type': 'application/json',
      'accept-encoding': 'br',
    };
    const input = encodeURIComponent(JSON.stringify({ limit: 200 }));
    const list = `${api.url}/trpc/admin.apiKeys.list?input=${input}`;
    const read = await fetch(list, { headers });
    expect(read.headers.get('content-encoding')).toBe('br');
    const text = await read.text();
    const plain = await fetch(list, { headers: { ...headers, 'accept-encoding': 'identity' } });
    expect(plain.headers.get('content-encoding')).toBe(null);
    expect(await plain.text()).toBe(text);
    const created = await fetch(`${api.url}/trpc/admin.apiKeys.create`, {
      method: 'POST',
      headers,
      body: JSON.stringify({
        name: 'n'.repeat(100),
        scopes: [...SCOPES],
        allowed_ips: ADDRESSES,
      }),
    });
    expect(created.headers.get('content-encoding')).toBe(null);
    const answer = await created.text();
    expect(answer).toContain('svck_live_');
    expect(answer.length).toBeGreaterThan(1_024);
  });
});
