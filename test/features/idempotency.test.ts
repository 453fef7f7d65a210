import { beforeAll, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { ENCRYPTED_COLUMNS } from '../../src/core/encrypted-columns.ts';
import { encrypt } from '../../src/core/encryption.ts';
import { privacyOf } from '../../src/core/privacy.ts';
import { ProblemError, PROBLEMS } from '../../src/core/problem.ts';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { eraseTeams } from '../../src/features/team-lifecycle/erasure-service.ts';
import { fingerprintOf, runOnce } from '../../src/http/api/idempotency.ts';
import { startTestApi, TEST_APP_SECRET, type TestApi } from '../support/api.ts';
import { endWaiting, holdLock, lockWhole, untilWaiting } from '../support/locks.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const START = new Date('2026-11-02T09:00:00.000Z');
const HOUR_MS = 3_600_000;

describe('Idempotency-Key', () => {
  const clock = fixedClock(START);
  let api: TestApi;
  beforeAll(async () => {
    const teams = ['a', 'b', 'limit', 'race'].map((name) => makeTeam(name));
    api = await startTestApi({ clock, seed: makeSeed([...teams, makeTeam('full', { seats: 3 })]) });
  });
  const post = (key: string, body: object, team = 'a') =>
    api.call(api.key(`team_${team}`), 'POST', '/users', {
      body,
      headers: { 'idempotency-key': key },
    });
  const replayed = (response: { headers: Record<string, string> }) =>
    response.headers['idempotency-replayed'] === 'true';

  test('the same key and body return the first status, body and Location again', async () => {
    const first = await post('k1', { email: 'k1@a.test', lang: 'en' });
    const again = await post('k1', { lang: 'en', email: 'k1@a.test' });
    expect(again).toMatchObject({ status: 201, text: first.text });
    expect(again.headers['location']).toBe(first.headers['location']);
    expect([replayed(first), replayed(again)]).toEqual([false, true]);
  });

  test('Location has the path of the public URL, and what is kept has not', async () => {
    const tools = await startTestApi({
      clock,
      seed: makeSeed([makeTeam('a')]),
      app: { publicUrl: 'https://team.example/tools' },
    });
    const invite = (headers: Record<string, string>, email: string) =>
      tools.call(tools.key('team_a'), 'POST', '/users', { body: { email }, headers });
    const keyed = { 'idempotency-key': 'tools' };
    const first = await invite(keyed, 'keyed@a.test');
    const again = await invite(keyed, 'keyed@a.test');
    const plain = await invite({}, 'plain@a.test');
    expect([replayed(first), replayed(again), replayed(plain)]).toEqual([false, true, false]);
    for (const { headers, body } of [first, again, plain])
      expect(headers['location']).toBe(`/tools/api/public/v1/users/${body.id}`);
    // So another PUBLIC_URL is right for it, too.
    const { rows } = await tools.db.pool.query(`select location from idempotency_record`);
    expect(rows).toEqual([{ location: `/api/public/v1/users/${first.body.id}` }]);
  });

  test('an empty key is none: each call acts, and a long one is refused', async () => {
    for (const email of ['empty@a.test', 'empty2@a.test'])
      expect(await post('', { email })).toMatchObject({ status: 201, body: { email } });
    expect(await post('', { email: 'empty@a.test' })).toMatchObject({ status: 409 });
    expect(await post('x'.repeat(101), { email: 'long@a.test' })).toMatchObject({
      status: 422,
      body: { field: 'Idempotency-Key', errors: [{ code: 'invalid_length' }] },
    });
    const { rows } = await api.db.pool.query(`select from idempotency_record where key = ''`);
    expect(rows).toEqual([]);
  });

  test('another body or operation is an idempotency_mismatch and changes nothing', async () => {
    await post('k2', { email: 'k2@a.test' });
    expect(await post('k2', { email: 'other@a.test' })).toMatchObject({
      status: 422,
      body: { code: 'idempotency_mismatch' },
    });
    const elsewhere = await api.call(api.key('team_a'), 'POST', '/assignments', {
      body: {
        member_id: 'mem_a_member',
        title: 'T',
        situation_id: 'sit_cold',
        personality_id: 'per_calm',
        industry_id: 'ind_saas',
      },
      headers: { 'idempotency-key': 'k2' },
    });
    expect(elsewhere).toMatchObject({ status: 422, body: { code: 'idempotency_mismatch' } });
    expect((await api.call(api.key('team_a'), 'GET', '/assignments')).body).toMatchObject({
      data: [],
    });
  });

  test('two teams may use the same key', async () => {
    expect(replayed(await post('shared', { email: 's@a.test' }))).toBe(false);
    expect(await post('shared', { email: 's@a.test' }, 'b')).toMatchObject({ status: 201 });
  });

  test('an Idempotency-Key is shared by all API keys of the team', async () => {
    const first = await post('both', { email: 'both@a.test' });
    const other = await api.call(api.key('team_a', 'users:write'), 'POST', '/users', {
      body: { email: 'both@a.test' },
      headers: { 'idempotency-key': 'both' },
    });
    expect(other.text).toBe(first.text);
  });

  test('a refusal of the operation is replayed, even if the call would succeed now', async () => {
    const refused = await post('seat', { email: 'seat@full.test' }, 'full');
    expect(refused).toMatchObject({ status: 409, body: { code: 'seat_limit_reached' } });
    await api.db.pool.query(`update team set seats = 10 where id = 'team_full'`);
    const again = await post('seat', { email: 'seat@full.test' }, 'full');
    expect(again).toMatchObject({ status: 409, text: refused.text });
    expect(again.headers['content-type']).toBe('application/problem+json');
    expect(replayed(again)).toBe(true);
    expect((await post('seat 2', { email: 'seat@full.test' }, 'full')).status).toBe(201);
  });

  test('a replayed refusal has the id and the language of the first one, and says so', async () => {
    await api.db.pool.query(`update team set seats = 3 where id = 'team_full'`);
    const invite = (language: string) =>
      api.call(api.key('team_full'), 'POST', '/users', {
        body: { email: 'language@full.test' },
        headers: { 'idempotency-key': 'language', 'accept-language': language },
      });
    const first = await invite('de');
    expect(first).toMatchObject({ status: 409, headers: { 'content-language': 'de' } });
    expect(first.text).toContain(first.headers['x-request-id']);
    const again = await invite('en');
    expect([again.text, replayed(again)]).toEqual([first.text, true]);
    expect(again.headers['content-language']).toBe('de');
    expect(again.text).not.toContain(again.headers['x-request-id']);
  });

  test('a kept refusal whose code only another version knows is replayed as it is', async () => {
    await api.db.pool.query(`update team set seats = 3 where id = 'team_full'`);
    const body = { email: 'another@full.test' };
    const first = await post('another', body, 'full');
    expect(first.body?.code).toBe('seat_limit_reached');
    await api.db.pool.query(
      `update idempotency_record
       set body = replace(
         convert_from(body, 'UTF8'), '"seat_limit_reached"', '"of_another_version"'
       )::bytea
       where team_id = 'team_full' and key = 'another'`,
    );
    // Not by `post`, which wants a code that is documented here.
    const again = await fetch(`${api.url}${BASE_PATH}/users`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${api.key('team_full')}`,
        'content-type': 'application/json',
        'idempotency-key': 'another',
      },
      body: JSON.stringify(body),
    });
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([409, 'true']);
    expect(await again.json()).toEqual({ ...first.body, code: 'of_another_version' });
  });

  test('a value that a rule refuses is kept, and one of a wrong form is not', async () => {
    const create = (url: unknown) =>
      api.call(api.key('team_a'), 'POST', '/webhook-endpoints', {
        body: { url, events: ['member.joined'] },
        headers: { 'idempotency-key': `to ${String(url)}` },
      });
    for (const [url, code, isKept] of [
      ['ftp://x.test', 'url_not_https', true],
      [7, 'invalid_type', false],
    ] as const) {
      const errors = [{ path: 'body.url', code }];
      expect(await create(url)).toMatchObject({ status: 422, body: { errors } });
      expect(replayed(await create(url))).toBe(isKept);
    }
  });

  test('responses to invalid requests and missing rights are not kept', async () => {
    expect((await post('parse', { email: 'no email' })).status).toBe(422);
    expect((await post('parse', { email: 'parse@a.test' })).status).toBe(201);
    const boss = {
      body: { email: 'boss@a.test', role: 'admin' },
      headers: { 'idempotency-key': 'boss' },
    };
    expect((await api.call(api.key('team_a', 'by_member'), 'POST', '/users', boss)).status).toBe(
      403,
    );
    expect((await api.call(api.key('team_a'), 'POST', '/users', boss)).status).toBe(201);
  });

  test('the 429 of the invitation limit is not kept: the call succeeds an hour later', async () => {
    await api.db.pool.query(
      `insert into invitation_resend (team_id, id, member_id, sent_at)
       select 'team_limit', 'inv_' || n, 'mem_limit_member', $1 from generate_series(1, 60) n`,
      [START],
    );
    const call = () => post('hourly', { email: 'late@limit.test' }, 'limit');
    expect(await call()).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
    clock.set(new Date(START.getTime() + HOUR_MS));
    const later = await call();
    expect([later.status, replayed(later)]).toEqual([201, false]);
    expect(await call()).toMatchObject({ status: 201, text: later.text });
    clock.set(START);
  });

  test('the 429 of the rate limit is not kept: the call succeeds in the next minute', async () => {
    const still = fixedClock(START);
    const limited = await startTestApi({
      clock: still,
      keyLimitPerMinute: 1,
      seed: makeSeed([makeTeam('a')]),
    });
    const call = (key: string) =>
      limited.call(limited.key('team_a'), 'POST', '/users', {
        body: { email: `${key}@a.test` },
        headers: { 'idempotency-key': key },
      });
    expect((await call('first')).status).toBe(201);
    expect(await call('second')).toMatchObject({ status: 429, body: { code: 'rate_limited' } });
    still.advance(60_000);
    const later = await call('second');
    expect([later.status, replayed(later)]).toEqual([201, false]);
  });

  test('a 503 is not kept: nothing was done, and the repeated call succeeds', async () => {
    const release = await holdLock(api, `select from team where id = 'team_race' for update`);
    const call = () => post('broken off', { email: 'again@race.test' }, 'race');
    const broken = call();
    await untilWaiting(api, 1);
    await endWaiting(api);
    expect(await broken).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    await release();
    const later = await call();
    expect([later.status, replayed(later)]).toEqual([201, false]);
  });

  test('409 with Retry-After while a call with the key runs, and only then', async () => {
    const release = await holdLock(api, `select from team where id = 'team_race' for update`);
    const call = (key: string) => post(key, { email: 'running@race.test' }, 'race');
    const first = call('running');
    await untilWaiting(api, 1);
    const second = await call('running');
    expect(second).toMatchObject({
      status: 409,
      body: {
        code: 'conflict',
        retry_after: 1,
        detail: 'A call with this Idempotency-Key is still running.',
      },
    });
    expect([second.headers['retry-after'], replayed(second)]).toEqual(['1', false]);
    await release();
    const { status, text } = await first;
    expect(status).toBe(201);
    expect(await call('running')).toMatchObject({ status: 201, text });
    // The other conflict stays, whenever the call is repeated.
    const taken = await call('another key');
    expect(taken).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect(taken.body).not.toHaveProperty('retry_after');
    expect(taken.headers).not.toHaveProperty('retry-after');
  });

  /**
   * Makes two calls; the first succeeds, so the second is refused. After the second has found no
   * kept response, the record of the first gets its key, as if both had been sent with it.
   */
  async function callWhileAnotherSucceeds(key: string, change: object) {
    const body = { email: `${key}@race.test` };
    const first = await post(`${key} before`, body, 'race');
    const release = await holdLock(api, `select from team where id = 'team_race' for update`);
    const refused = post(key, { ...body, ...change }, 'race');
    await untilWaiting(api, 1);
    // An encrypted fingerprint is bound to its key.
    const fingerprint = encrypt(
      fingerprintOf('POST', '/users', body).toString('base64'),
      TEST_APP_SECRET,
      ENCRYPTED_COLUMNS.fingerprint.context('team_race', key),
    );
    await api.db.pool.query(
      'update idempotency_record set key = $1, fingerprint = $3 where key = $2',
      [key, `${key} before`, fingerprint],
    );
    await release();
    const second = await refused;
    const third = await post(key, body, 'race');
    expect([third.text, replayed(third)]).toEqual([first.text, true]);
    return { first, second };
  }

  test('a call that loses to another with its key returns the response of that call', async () => {
    const { first, second } = await callWhileAnotherSucceeds('same', {});
    expect(second).toMatchObject({ status: 201, text: first.text });
    expect(second.headers['location']).toBe(first.headers['location']);
    expect([replayed(first), replayed(second)]).toEqual([false, true]);
  });

  test('a call that loses to another with its key and another body is a mismatch', async () => {
    const { second } = await callWhileAnotherSucceeds('other', { role: 'admin' });
    expect(second).toMatchObject({ status: 422, body: { code: 'idempotency_mismatch' } });
    expect(replayed(second)).toBe(false);
  });

  test('a key is free again after exactly 24 hours', async () => {
    await post('day', { email: 'day1@a.test' });
    clock.set(new Date(START.getTime() + 24 * HOUR_MS));
    expect(replayed(await post('day', { email: 'day1@a.test' }))).toBe(true);
    clock.set(new Date(START.getTime() + 24 * HOUR_MS + 1));
    const anew = await post('day', { email: 'day2@a.test' });
    expect(anew.status).toBe(201);
    expect(replayed(anew)).toBe(false);
    expect((await post('day', { email: 'day2@a.test' })).text).toBe(anew.text);
    clock.set(START);
  });

  test('no address can be confirmed by a kept record, once it is no longer stored', async () => {
    const email = 'forgotten@a.test';
    const invited = await post('forgotten', { email });
    const { id } = invited.body as { id: string };
    expect(await post('forgotten refusal', { email })).toMatchObject({ status: 409 });
    expect((await api.call(api.key('team_a'), 'DELETE', `/users/${id}`)).status).toBe(200);
    const guesses = [{ email }, { email, role: 'member' }].map((body) =>
      fingerprintOf('POST', '/users', body),
    );
    const { rows } = await api.db.pool.query<{ fingerprint: Buffer }>(
      `select fingerprint from idempotency_record where key like 'forgotten%'`,
    );
    expect(rows).toHaveLength(2);
    for (const { fingerprint } of rows)
      for (const guess of guesses) expect(fingerprint.includes(guess)).toBe(false);
    // The same call has another fingerprint in each row.
    expect(new Set(rows.map(({ fingerprint }) => fingerprint.toString('hex'))).size).toBe(2);
    expect(replayed(await post('forgotten', { email }))).toBe(true);
  });

  test('a kept response with a secret is encrypted in the database', async () => {
    const body = { url: 'https://198.51.100.1/hook', events: ['member.joined'] };
    const lax = await startTestApi({ seed: makeSeed([makeTeam('w')]), allowPrivateTargets: true });
    const call = () =>
      lax.call(lax.key('team_w'), 'POST', '/webhook-endpoints', {
        body,
        headers: { 'idempotency-key': 'hook' },
      });
    const first = await call();
    const { secret } = first.body as { secret: string };
    expect(first.status).toBe(201);
    const { rows } = await lax.db.pool.query('select body, encrypted from idempotency_record');
    expect(rows[0].encrypted).toBe(true);
    expect((rows[0].body as Buffer).toString('latin1')).not.toContain(secret);
    expect((await call()).text).toBe(first.text);
  });
});

describe('a replay', () => {
  let api: TestApi;
  beforeAll(async () => {
    const keys = [{ name: 'other', scopes: 'all' as const }];
    api = await startTestApi({
      seed: makeSeed(['a', 'b', 'c'].map((name) => makeTeam(name, { api_keys: keys }))),
      allowPrivateTargets: true,
    });
  });
  const setDetail = (team: string, enabled: boolean) =>
    api.db.pool.query('update team set member_detail_enabled = $2 where id = $1', [
      `team_${team}`,
      enabled,
    ]);
  /** Returns a call that can be repeated, by either API key. */
  const repeatable =
    (team: string, path: string, body: object) =>
    (key = 'full') =>
      api.call(api.key(`team_${team}`, key), 'POST', path, {
        body,
        headers: { 'idempotency-key': JSON.stringify(body).slice(0, 100) },
      });
  const without = ({ body }: { body: unknown }, name: string) => {
    const { [name]: _, ...rest } = body as Record<string, unknown>;
    return rest;
  };
  const assign = (team: string, memberId: string, title: string) =>
    repeatable(team, '/assignments', {
      member_id: memberId,
      title,
      situation_id: 'sit_cold',
      personality_id: 'per_calm',
      industry_id: 'ind_saas',
    });
  const createEndpoint = repeatable('b', '/webhook-endpoints', {
    url: 'https://198.51.100.1/hook',
    events: ['member.joined'],
  });

  test('shows an email only while member_detail_enabled is on', async () => {
    const invite = repeatable('a', '/users', { email: 'new@a.test' });
    const assignTo = assign('a', 'mem_a_member', 'On');
    const [invited, assigned] = [await invite(), await assignTo()];
    expect(invited.body).toMatchObject({ email: 'new@a.test' });
    expect(assigned.body).toMatchObject({ member_email: 'member@a.test' });
    await setDetail('a', false);
    for (const key of ['full', 'other']) {
      const again = await invite(key);
      expect(again).toMatchObject({ status: 201, headers: { 'idempotency-replayed': 'true' } });
      expect(again.headers['location']).toBe(invited.headers['location']);
      expect(again.body).toEqual(without(invited, 'email'));
      expect((await assignTo(key)).body).toEqual({
        ...(assigned.body as object),
        member_email: null,
      });
    }
    await setDetail('a', true);
    expect((await invite('other')).text).toBe(invited.text);
    expect((await assignTo('other')).text).toBe(assigned.text);
  });

  test('shows nothing that the first response withheld', async () => {
    await setDetail('c', false);
    const invite = repeatable('c', '/users', { email: 'new@c.test' });
    const first = await invite();
    expect(first.body).not.toHaveProperty('email');
    await setDetail('c', true);
    expect((await invite()).text).toBe(first.text);
  });

  test('shows a secret only to the API key that made the webhook endpoint', async () => {
    const first = await createEndpoint();
    const other = await createEndpoint('other');
    expect(first.body).toMatchObject({ secret: expect.stringMatching(/^whsec_/) });
    expect(other).toMatchObject({ status: 201, headers: { 'idempotency-replayed': 'true' } });
    expect(other.body).toEqual(without(first, 'secret'));
    await setDetail('b', false);
    expect((await createEndpoint()).text).toBe(first.text);
    await setDetail('b', true);
    expect((await api.call(api.key('team_b'), 'GET', '/webhook-endpoints')).body).toMatchObject({
      data: [without(first, 'secret')],
    });
  });

  test('shows no secret of a deleted webhook endpoint, and creates no other', async () => {
    const { id } = (await createEndpoint()).body as { id: string };
    await api.call(api.key('team_b'), 'DELETE', `/webhook-endpoints/${id}`);
    const again = await createEndpoint();
    expect(again).toMatchObject({ status: 201, body: { id } });
    expect(again.body).not.toHaveProperty('secret');
    const { rows } = await api.db.pool.query(
      `select encrypted, key_id, subject_id, open_body
       from idempotency_record
       where team_id = 'team_b'`,
    );
    expect(rows).toEqual([{ encrypted: false, key_id: null, subject_id: null, open_body: null }]);
    expect((await api.call(api.key('team_b'), 'GET', '/webhook-endpoints')).body).toEqual({
      data: [],
    });
  });

  test('shows no secret that an endpoint gets while it is deleted', async () => {
    const key = api.key('team_c');
    const body = { url: 'https://198.51.100.1/hook', events: ['member.joined'] };
    const made = await api.call(key, 'POST', '/webhook-endpoints', { body });
    const { id } = made.body as { id: string };
    const rotate = repeatable('c', `/webhook-endpoints/${id}/rotate-secret`, { grace_s: 60 });
    const release = await holdLock(api, lockWhole('audit_log'));
    const rotated = rotate();
    await untilWaiting(api, 1);
    const removed = api.call(key, 'DELETE', `/webhook-endpoints/${id}`);
    await untilWaiting(api, 2);
    await release();
    expect((await rotated).body).toMatchObject({ secret: expect.stringMatching(/^whsec_/) });
    expect((await removed).status).toBe(200);
    const again = await rotate();
    expect(again).toMatchObject({ status: 200, headers: { 'idempotency-replayed': 'true' } });
    expect(again.body).not.toHaveProperty('secret');
  });

  test('shows no email of an invitation that ended, and invites nobody again', async () => {
    const invite = repeatable('a', '/users', { email: 'ends@a.test' });
    const first = await invite();
    const { id } = first.body as { id: string };
    const assignTo = assign('a', id, 'Ends');
    const assigned = await assignTo();
    expect(assigned.body).toMatchObject({ member_email: 'ends@a.test' });
    expect((await api.call(api.key('team_a'), 'DELETE', `/users/${id}`)).status).toBe(200);
    expect((await invite()).body).toEqual(without(first, 'email'));
    expect((await assignTo()).body).toEqual({ ...(assigned.body as object), member_email: null });
    const { rows } = await api.db.pool.query(
      `select convert_from(body, 'UTF8') as body from idempotency_record where team_id = 'team_a'`,
    );
    expect(JSON.stringify(rows)).not.toContain('ends@a.test');
    const { rows: live } = await api.db.pool.query(
      `select from member where team_id = 'team_a' and email = 'ends@a.test'`,
    );
    expect(live).toEqual([]);
  });
});

/** What a repeated call must not get again: it says nothing of the operation, or passes by. */
const PASSING = [
  'unauthorized',
  'insufficient_scope',
  'api_disabled',
  'rate_limited',
  'internal',
  'unavailable',
  'conflict, to be tried again',
];

describe('a refusal of the operation', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startTestApi({
      seed: makeSeed([makeTeam('refused'), makeTeam('erased'), makeTeam('acting')]),
    });
  });

  const callOf = (key: string, teamId = 'team_refused') => ({
    db: api.db,
    clock: fixedClock(START),
    secrets: { current: TEST_APP_SECRET, previous: null },
    teamId,
    key,
    fingerprint: fingerprintOf('POST', '/users', {}),
    operation: '/users',
    keyId: 'key_1',
    privacy: privacyOf({ memberDetailEnabled: true, leaderboardEnabled: true }),
  });
  const answerOf = (status: number) => ({ status, body: '{}', location: null, withheld: null });

  test.each(['refuses', 'acts'])(
    'of a team that is erased while it %s: the key is not valid any more',
    async (outcome) => {
      const call = callOf(outcome, `team_${outcome === 'acts' ? 'acting' : 'erased'}`);
      const erase = async () => {
        await api.db.pool.query(
          `update team set status = 'ended', erasing_since = now() where id = $1`,
          [call.teamId],
        );
        await eraseTeams(api.db, { runMs: 100_000 });
      };
      const answer = runOnce(call, {
        prepare: null,
        perform: async () => {
          await erase();
          if (outcome === 'acts') return answerOf(201);
          throw new ProblemError('not_found');
        },
        refuse: ({ status }) => answerOf(status),
      });
      await expect(answer).rejects.toMatchObject({ code: 'unauthorized' });
    },
  );

  const refusals = Object.keys(PROBLEMS).map((code) => [code, {}] as const);
  test.each([...refusals, ['conflict, to be tried again', { retry_after: 2 }] as const])(
    '%s is kept unless it passes by, and then the call acts',
    async (name, fields) => {
      const [code = ''] = name.split(',');
      const problem = new ProblemError(code as 'not_found', fields as object);
      const calls: string[] = [];
      const call = callOf(name);
      const run = (perform: () => Promise<ReturnType<typeof answerOf>>) =>
        runOnce(call, {
          prepare: null,
          perform,
          refuse: ({ status }) => answerOf(status),
        }).catch((error: unknown) => error);
      await run(async () => {
        throw problem;
      });
      const again = await run(async () => {
        calls.push('again');
        return answerOf(201);
      });
      const passes = PASSING.includes(name);
      expect(calls).toEqual(passes ? ['again'] : []);
      const status = passes ? 201 : problem.status;
      expect(again).toMatchObject({ response: { status }, replayed: !passes });
    },
  );
});
