// What a token opens, and until when: signing in, links, and signing out on all processes.
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fixedClock, systemClock, type Clock } from '../../src/core/clock.ts';
import type { AppSecrets } from '../../src/core/encryption.ts';
import { SANDBOX_OWNER } from '../../src/core/sandbox.ts';
import { removeOld } from '../../src/features/retention/service.ts';
import { idOfToken } from '../../src/http/app/token.ts';
import { startTestApi, TEST_APP_SECRET, type TestApi } from '../support/api.ts';
import { appAs, appWith, codeOf, openSession, tokenOf } from '../support/app.ts';
import { createTestDatabase } from '../support/database.ts';
import { holdLock, untilWaiting } from '../support/locks.ts';
import { makeMember, makeSeed, makeTeam, userId } from '../support/seed.ts';
import { openSandbox } from '../support/sandbox.ts';
import { followLink, HOST, linkToken, sent } from '../support/session-links.ts';

let api: TestApi;
/** Another process: it shares nothing but the database. */
let other: TestApi;
const logged: Record<string, string>[] = [];
/** A process after a rotation of APP_SECRET, and one with a secret that is not ours. */
let rotated: TestApi;
let foreign: TestApi;
/** The API's clock, in milliseconds ahead of the time, or standing still. */
let ahead = 0;
let stoppedAt: Date | null = null;
const clock: Clock = {
  ...systemClock,
  now: () => stoppedAt ?? new Date(Date.now() + ahead),
};

beforeAll(async () => {
  const database = await createTestDatabase();
  const onLog = (line: string) => logged.push(JSON.parse(line) as Record<string, string>);
  const app = { adminHostOrigins: [HOST] };
  const shared = { database, clock, onLog, app, developmentTeamId: 'team_a' };
  const gone = makeMember('a', 'gone', { status: 'ended' });
  const seed = makeSeed([makeTeam('a', { members: [gone] }), makeTeam('b'), makeTeam('closing')]);
  api = await startTestApi({ ...shared, seed });
  const kept = { ...database, drop: async () => undefined };
  const start = (secrets: AppSecrets) =>
    startTestApi({ ...shared, database: kept, seed: makeSeed([]), services: { secrets } });
  other = await start({ current: TEST_APP_SECRET, previous: null });
  rotated = await start({ current: 'the secret of now', previous: TEST_APP_SECRET });
  foreign = await start({ current: 'a secret of others', previous: null });
});
beforeEach(() => {
  logged.length = 0;
  ahead = 0;
  stoppedAt = null;
});

const ownerToken = (team = 'a') =>
  tokenOf({ kind: 'user', userId: userId(team, 'owner'), teamId: `team_${team}` }, clock.now());
const me = (token: string, on = api) => codeOf(appAs(on, token).v1.me.get.query({}));
const sessionStatus = async (cookie: string, on = api) =>
  (await fetch(`${on.url}/trpc-session`, { headers: sent(cookie) })).status;
const signOut = async (headers: Record<string, string>, on = api) => {
  const response = await fetch(`${on.url}/trpc-session`, { method: 'DELETE', headers });
  return { status: response.status, cookie: response.headers.getSetCookie()[0] };
};
const said = () =>
  logged
    .filter(({ msg }) => msg !== 'request' && msg !== 'call')
    .map(({ msg, team, member, way, reason, request_id, network }) => {
      expect(network).toBe('127.0.0.0/24');
      expect(request_id).toMatch(/^[\da-f-]{36}$/);
      return [msg, team, member, way, reason].filter((part) => part !== undefined).join(' ');
    });

test('a token for the app is taken some seconds before and after its time, no longer', async () => {
  const issuedAt = new Date();
  stoppedAt = issuedAt;
  const token = await ownerToken();
  const after = async (s: number) => {
    stoppedAt = new Date(issuedAt.getTime() + s * 1000);
    return me(token);
  };
  expect([await after(-3), await after(902)]).toEqual(['ok', 'ok']);
  expect([await after(-20), await after(920)]).toEqual(['unauthorized', 'unauthorized']);
});

test.each([
  ['eight hours', 8 * 3_600],
  ['three months', 90 * 86_400],
  ['more than a date can hold', 9e15],
])('a token with a life of %s ends after an hour, and says so', async (_life, lifeS) => {
  stoppedAt = new Date('2026-11-28T10:00:00.000Z');
  const iat = stoppedAt.getTime() / 1000;
  const token = await linkToken({ iat, exp: iat + lifeS, jti: undefined });
  const { headers } = await openSession(api, token);
  const session = await fetch(`${api.url}/trpc-session`, { headers });
  expect(session.status).toBe(200);
  expect(await session.json()).toMatchObject({ expires_at: '2026-11-28T11:00:00.000Z' });
  expect(await signOut(headers)).toMatchObject({ status: 204 });
  expect(await me(token)).toBe('unauthorized');
  const { rows } = await api.db.pool.query('select expires_at from spent_token where id = $1', [
    idOfToken(token),
  ]);
  expect(rows).toEqual([{ expires_at: '2026-11-28T11:00:00.000Z' }]);
});

test('a refusal is in the language of the reader, whatever it refuses', async () => {
  for (const path of ['/trpc-session', '/trpc/v1.me.get?input={}'])
    for (const [language, title] of [
      ['de', 'Nicht autorisiert'],
      ['en', 'Unauthorized'],
    ] as const) {
      const response = await fetch(api.url + path, { headers: { 'accept-language': language } });
      expect([response.status, await response.text()]).toEqual([
        401,
        expect.stringContaining(title),
      ]);
    }
});

describe('a token for a link', () => {
  test('opens the route of links and nothing else', async () => {
    const token = await linkToken();
    expect(await me(token)).toBe('unauthorized');
    expect(await openSession(api, token)).toMatchObject({ status: 401, headers: {} });
    expect(await sessionStatus(`svc_session=${token}`)).toBe(401);
    const { status, cookie } = await followLink(api, token);
    expect([status, await sessionStatus(cookie)]).toEqual([303, 200]);
    expect(await me(token)).toBe('unauthorized');
  });

  test('is one by its id and its short life, whatever its id is', async () => {
    for (const jti of ['x'.repeat(201), '', 7]) {
      const token = await linkToken({ jti });
      expect(await me(token)).toBe('unauthorized');
      expect(await sessionStatus((await followLink(api, token)).cookie)).toBe(401);
    }
    const now = Math.floor(Date.now() / 1000);
    for (const claims of [{ iat: now, exp: now + 61 }, { jti: undefined }]) {
      const token = await linkToken(claims);
      expect(await me(token)).toBe('ok');
      expect(await sessionStatus((await followLink(api, token)).cookie)).toBe(401);
    }
  });

  test('is valid for 60 s: the tolerance for clocks does not make it longer', async () => {
    const now = Math.floor(Date.now() / 1000);
    const after = async (s: number) => {
      const token = await linkToken({ iat: now, exp: now + 60 });
      stoppedAt = new Date(now * 1000 + s * 1000);
      return sessionStatus((await followLink(api, token)).cookie);
    };
    expect(await after(-4.5)).toBe(200);
    expect(await after(59.999)).toBe(200);
    expect(await after(60)).toBe(401);
    expect(await after(64)).toBe(401);
  });

  test('works once on all processes, for each team with the same id', async () => {
    const jti = 'the same';
    const first = await linkToken({ jti });
    const both = await Promise.all([followLink(api, first), followLink(other, first)]);
    const open = await Promise.all(both.map(({ cookie }) => sessionStatus(cookie)));
    expect(open.toSorted((a, b) => a - b)).toEqual([200, 401]);
    const again = await followLink(other, await linkToken({ jti }));
    expect(await sessionStatus(again.cookie)).toBe(401);
    const ofB = await followLink(api, await linkToken({ jti }, 'b'));
    expect(await sessionStatus(ofB.cookie)).toBe(200);
  });

  test.each(['suspended', 'ended'])('of a team that is %s is refused, unused', async (status) => {
    const set = (to: string) =>
      api.db.pool.query(`update team set status = $1 where id = 'team_closing'`, [to]);
    const token = await linkToken({}, 'closing');
    await set(status);
    const { cookie, ...refused } = await followLink(api, token);
    expect([refused.status, refused.to, cookie]).toEqual([403, null, '']);
    await set('active');
    expect(await sessionStatus((await followLink(api, token)).cookie)).toBe(200);
  });
});

test('a session says in which team its calls are made, and if there is a sandbox', async () => {
  const { headers } = await openSession(api, await ownerToken('b'));
  const describeIn = async (mode: string) => {
    const asked = { headers: { ...headers, 'svc-mode': mode } };
    const response = await fetch(`${api.url}/trpc-session`, asked);
    return { status: response.status, ...((await response.json()) as object) };
  };
  const live = { status: 200, member_id: 'mem_b_owner', role: 'owner' };
  expect(await describeIn('live')).toMatchObject({ ...live, has_sandbox: false });
  expect(await describeIn('test')).toMatchObject({ status: 404, code: 'not_found' });
  await openSandbox(api, 'b', 'empty');
  const { team } = (await describeIn('live')) as { team?: object };
  expect(await describeIn('live')).toMatchObject({ ...live, has_sandbox: true });
  expect(await describeIn('test')).toMatchObject({
    status: 200,
    has_sandbox: true,
    member_id: SANDBOX_OWNER.memberId,
    role: 'owner',
    team: { ...team, id: 'team_b:sandbox' },
  });
});

describe('a session whose page shows another team', () => {
  const ask = async (given: Record<string, string>) => {
    const { headers } = await openSession(api, await ownerToken('b'));
    return codeOf(appWith(api, { ...headers, ...given }).v1.me.get.query({}));
  };

  test('is refused before anything is read or changed, as if it had ended', async () => {
    const { headers } = await openSession(api, await ownerToken('b'));
    const app = appWith(api, { ...headers, 'svc-team': 'team_a' });
    expect(await codeOf(app.v1.me.get.query({}))).toBe('unauthorized');
    const input = { url: 'https://of-a.example.com/in', events: ['member.joined' as const] };
    expect(await codeOf(app.v1.webhooks.createEndpoint.mutate(input))).toBe('unauthorized');
    expect((await api.db.pool.query('select from webhook_endpoint')).rows).toEqual([]);
    const asked = { headers: { ...headers, 'svc-team': 'team_a' } };
    expect((await fetch(`${api.url}/trpc-session`, asked)).status).toBe(401);
  });

  test('goes on if the page shows its team, and if nothing says what the page shows', async () => {
    expect([await ask({}), await ask({ 'svc-team': 'team_b' })]).toEqual(['ok', 'ok']);
  });

  test('tells the live team and its sandbox apart', async () => {
    await openSandbox(api, 'closing', 'empty');
    const { headers } = await openSession(api, await ownerToken('closing'));
    const me = (given: Record<string, string>) =>
      codeOf(appWith(api, { ...headers, ...given }).v1.me.get.query({}));
    const [live, sandbox] = ['team_closing', encodeURIComponent('team_closing:sandbox')];
    expect(await me({ 'svc-mode': 'test', 'svc-team': sandbox })).toBe('ok');
    expect(await me({ 'svc-mode': 'test', 'svc-team': live })).toBe('unauthorized');
    expect(await me({ 'svc-team': sandbox })).toBe('unauthorized');
    // Of a team without a sandbox, too.
    expect(await ask({ 'svc-mode': 'test', 'svc-team': sandbox })).toBe('unauthorized');
  });
});

describe('the token of a session that a link opened', () => {
  const open = async () => {
    const { cookie } = await followLink(api, await linkToken());
    return { cookie, token: sent(cookie).cookie.split('=')[1] ?? '' };
  };

  test('opens no other session by the route of links', async () => {
    const { cookie, token } = await open();
    expect(await sessionStatus((await followLink(api, token)).cookie)).toBe(401);
    expect(await sessionStatus(cookie)).toBe(200);
  });

  test('is valid for an hour', async () => {
    const { cookie } = await open();
    ahead = 3_590_000;
    expect(await sessionStatus(cookie)).toBe(200);
    ahead = 3_601_000;
    expect(await sessionStatus(cookie)).toBe(401);
  });

  test('is signed with APP_SECRET: a rotation signs nobody out, another secret does', async () => {
    const { cookie } = await open();
    expect(await sessionStatus(cookie, rotated)).toBe(200);
    expect(await sessionStatus(cookie, foreign)).toBe(401);
  });
});

describe('signing out', () => {
  test('ends the token of the session on all processes, and no other', async () => {
    const [token, another] = [await ownerToken(), await ownerToken()];
    const { headers } = await openSession(api, token);
    expect(await signOut(headers)).toMatchObject({ status: 204 });
    for (const process of [api, other]) {
      expect(await me(token, process)).toBe('unauthorized');
      expect(await codeOf(appWith(process, headers).v1.me.get.query({}))).toBe('unauthorized');
      expect(await openSession(process, token)).toMatchObject({ status: 401, headers: {} });
      expect(await me(another, process)).toBe('ok');
    }
  });

  test('ends a session of the development login, and no other of the same second', async () => {
    stoppedAt = new Date();
    const logIn = async () => {
      const path = '/trpc-session/development/usr_a_owner';
      const response = await fetch(api.url + path, { method: 'POST' });
      const { token } = (await response.json()) as { token?: string };
      return openSession(api, token ?? '');
    };
    const [one, two] = [await logIn(), await logIn()];
    await signOut(one.headers);
    expect((await logIn()).status).toBe(200);
    expect(await codeOf(appWith(api, two.headers).v1.me.get.query({}))).toBe('ok');
  });

  test('ends a session that a link opened, and no other of the same second', async () => {
    const links = await Promise.all(
      [linkToken(), linkToken()].map(async (token) => followLink(api, await token)),
    );
    const [one, two] = links.map(({ cookie }) => cookie);
    expect((await signOut(sent(one ?? ''), other)).status).toBe(204);
    expect(await sessionStatus(one ?? '')).toBe(401);
    expect(await sessionStatus(two ?? '')).toBe(200);
  });

  // The last character of a signature has bits that no verifier reads.
  test('ends every spelling of the token', async () => {
    const token = await ownerToken();
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const last = letters.indexOf(token.at(-1) ?? '');
    const twin = token.slice(0, -1) + (letters[last ^ 1] ?? '');
    expect(await me(twin)).toBe('ok');
    await signOut((await openSession(api, token)).headers);
    expect(await me(twin)).toBe('unauthorized');
  });

  test('is 204 for whoever has no session, again and again', async () => {
    const token = await ownerToken();
    const { headers } = await openSession(api, token);
    for (const given of [headers, headers, { cookie: 'svc_session=nothing' }, {}]) {
      const { status, cookie } = await signOut(given);
      expect(status).toBe(204);
      expect(cookie).toMatch(/^svc_session=; /);
    }
  });

  test('is a matter of the team of the token', async () => {
    const token = await ownerToken();
    await api.db.pool.query('delete from spent_token');
    await signOut((await openSession(api, token)).headers);
    expect(await me(token)).toBe('unauthorized');
    const { rows } = await api.db.pool.query('delete from spent_token returning id, expires_at');
    const [spent] = rows as { id: string; expires_at: string }[];
    await api.db.pool.query(
      `insert into spent_token (team_id, id, expires_at) values ($1, $2, $3)`,
      ['team_b', spent?.id, spent?.expires_at],
    );
    expect(await me(token)).toBe('ok');
  });

  test('holds after old rows were removed, until the token has expired', async () => {
    const token = await ownerToken();
    const link = await linkToken();
    await signOut((await openSession(api, token)).headers);
    expect((await followLink(api, link)).status).toBe(303);
    /** As time passes for the database, too. */
    const remove = () => removeOld(api.db, fixedClock(clock.now()));
    for (ahead of [0, 30_000, 890_000]) {
      await remove();
      expect(await me(token)).toBe('unauthorized');
      expect(await sessionStatus((await followLink(api, link)).cookie)).toBe(401);
    }
    ahead = 3 * 3_600_000;
    expect(await remove()).toMatchObject({
      spent_tokens: expect.any(Number),
    });
    const { rows } = await api.db.pool.query('select id from spent_token');
    expect(rows).toEqual([]);
  });
});

describe('the log', () => {
  test('tells one sign-out of two at once', async () => {
    const token = await ownerToken();
    const { headers } = await openSession(api, token);
    // Both have found the session open before either has ended it.
    const release = await holdLock(
      api,
      `insert into spent_token (team_id, id, expires_at)
       values ('team_a', '${idOfToken(token)}', now())`,
    );
    const both = Promise.all([signOut(headers), signOut(headers, other)]);
    await untilWaiting(api, 2, '%spent_token%');
    await release();
    expect((await both).map(({ status }) => status)).toEqual([204, 204]);
    expect(said()).toEqual(['signed in team_a mem_a_owner token', 'signed out team_a mem_a_owner']);
  });

  test('tells who signed in and out, and by which way', async () => {
    const { headers } = await openSession(api, await ownerToken());
    const { cookie } = await followLink(api, await linkToken());
    await signOut(headers);
    await signOut(sent(cookie));
    expect(said()).toEqual([
      'signed in team_a mem_a_owner token',
      'signed in team_a mem_a_owner link',
      'signed out team_a mem_a_owner',
      'signed out team_a mem_a_owner',
    ]);
  });

  test('tells why a link was refused', async () => {
    const used = await linkToken();
    await followLink(api, used);
    logged.length = 0;
    await followLink(api, used);
    await followLink(api, await ownerToken());
    await followLink(api, await linkToken({ sub: userId('a', 'gone') }));
    await followLink(api, await linkToken(), { origin: 'https://evil.example' });
    await api.db.pool.query(`update team set status = 'ended' where id = 'team_closing'`);
    await followLink(api, await linkToken({}, 'closing'));
    await api.db.pool.query(`update team set status = 'active' where id = 'team_closing'`);
    expect(said()).toEqual([
      'link refused team_a mem_a_owner used',
      'link refused not_valid',
      'link refused team_a not_a_member',
      'link refused forbidden',
      'link refused team_closing mem_closing_owner api_disabled',
    ]);
  });

  test('holds no token', async () => {
    const tokens = [await ownerToken(), await linkToken()];
    const { headers } = await openSession(api, tokens[0] ?? '');
    const { cookie } = await followLink(api, tokens[1] ?? '');
    await followLink(api, tokens[1] ?? '');
    await signOut(headers);
    const text = JSON.stringify(logged);
    for (const token of [...tokens, sent(cookie).cookie.split('=')[1] ?? ''])
      for (const part of token.split('.')) expect(text).not.toContain(part);
  });
});
