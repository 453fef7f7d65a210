import { beforeAll, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appWith, codeOf, tokenOf } from '../support/app.ts';
import { makeMember, makeSeed, makeTeam, userId } from '../support/seed.ts';

const NOW = new Date('2026-11-02T09:00:30.000Z');

/** What a seed may bring, and an invitation may not have. */
/** Addresses that a seed brings, and whether a mail can be sent there. */
const SEEDED = ['müller@firma.example', 'r&d@a.test', 'kim@firma-ä.de', 'kim..x@example'];
const UNREACHABLE = ['kim..x@example'];

interface Member {
  id: string;
  user_id: string | null;
  email?: string;
  role: string;
  status: string;
  joined_at: string | null;
}

/** Returns the team's events and audit entries, oldest first. */
async function traces(api: TestApi, teamId: string) {
  const events = await api.db.pool.query(
    'select type, data from event where team_id = $1 order by id',
    [teamId],
  );
  const audit = await api.db.pool.query(
    `select action, target_id, actor_kind, request_id
     from audit_log
     where team_id = $1
     order by id`,
    [teamId],
  );
  return {
    events: events.rows as { type: string; data: Record<string, unknown> }[],
    audit: audit.rows as Record<string, string>[],
  };
}

describe('GET /users', () => {
  let api: TestApi;
  beforeAll(async () => {
    const days = Array.from({ length: 7 }, (_, day) =>
      makeMember('a', `m${day}`, { created_at: `2026-01-0${day + 1}T00:00:00.000Z` }),
    );
    const ended = makeMember('a', 'gone', { status: 'ended' });
    const invited = makeMember('a', 'asked', { status: 'invited', user_id: null });
    api = await startTestApi({
      seed: makeSeed([
        makeTeam('a', { members: [...days, ended, invited] }),
        makeTeam('odd', {
          members: SEEDED.map((email, index) => makeMember('odd', `odd${index}`, { email })),
        }),
        makeTeam('b', { privacy: { member_detail_enabled: false } }),
      ]),
    });
  });

  test('lists the owner and all active and invited members, newest first', async () => {
    const { status, body } = await api.call(api.key('team_a'), 'GET', '/users');
    const { data, next_cursor } = body as { data: Member[]; next_cursor: string | null };
    expect(status).toBe(200);
    expect(next_cursor).toBeNull();
    expect(data).toHaveLength(11);
    expect(data.map((member) => member.id)).not.toContain('mem_a_gone');
    expect(data.find((member) => member.id === 'mem_a_asked')).toMatchObject({
      status: 'invited',
      user_id: null,
      joined_at: null,
    });
    expect(data.at(-1)?.id).toBe('mem_a_m0');
    expect(data.find((member) => member.role === 'owner')?.id).toBe('mem_a_owner');
    expect(data.slice(0, 6).map((member) => member.id)).toEqual(
      ['m6', 'm5', 'm4', 'm3', 'm2', 'm1'].map((name) => `mem_a_${name}`),
    );
  });

  const idsOf = async (query: string): Promise<string[]> => {
    const answer = await api.call(api.key('team_a', 'users:read'), 'GET', `/users?${query}`);
    expect(answer.status).toBe(200);
    return (answer.body as { data: Member[] }).data.map(({ id }) => id);
  };

  test.each([
    ['status=invited', ['asked']],
    ['role=owner', ['owner']],
    ['role=admin&status=active', ['admin']],
    ['role=admin&status=invited', []],
    ['status=ended', []],
    ['role=unheard_of', []],
    ['email=asked@a.test', ['asked']],
    ['email=%20ASKED@A.test%20', ['asked']],
    ['email=asked@a.test&status=invited&role=member', ['asked']],
    ['email=asked@a.test&status=active', []],
    ['email=asked@a.test&role=admin', []],
    ['email=gone@a.test', []],
    ['email=owner@b.test', []],
    ['email=ask_d@a.test', []],
  ])('shows for %s exactly the matching members', async (query, names) => {
    expect(await idsOf(query)).toEqual(names.map((name) => `mem_a_${name}`));
  });

  test.each(SEEDED)('finds the member with the address %s, who was seeded', async (email) => {
    const asked = ` ${email.toUpperCase()} `;
    const path = `/users?email=${encodeURIComponent(asked)}`;
    const { status, body } = await api.call(api.key('team_odd'), 'GET', path);
    expect(status).toBe(200);
    expect((body as { data: Member[] }).data).toMatchObject([{ email }]);
    const invited = await api.call(api.key('team_odd'), 'POST', '/users', { body: { email } });
    expect(invited).toMatchObject(
      UNREACHABLE.includes(email)
        ? { status: 422, body: { errors: [{ path: 'body.email' }] } }
        : { status: 409, body: { code: 'conflict' } },
    );
  });

  test('pages with a filter hold the same as the whole list', async () => {
    const whole = await idsOf('status=active&limit=200');
    expect(whole).toHaveLength(10);
    const seen: string[] = [];
    let cursor = '';
    do {
      const path = `/users?status=active&limit=3${cursor}`;
      const { body } = await api.call(api.key('team_a'), 'GET', path);
      const page = body as { data: Member[]; next_cursor: string | null };
      seen.push(...page.data.map(({ id }) => id));
      cursor = page.next_cursor === null ? '' : `&cursor=${page.next_cursor}`;
    } while (cursor !== '');
    expect(seen).toEqual(whole);
  });

  test('shows nothing of an address behind the cursor', async () => {
    const { body } = await api.call(api.key('team_a'), 'GET', '/users?limit=1');
    const { data, next_cursor } = body as { data: Member[]; next_cursor: string };
    const asked = `email=${data[0]?.email}&cursor=${next_cursor}`;
    expect(await idsOf(asked)).toEqual([]);
    expect(await idsOf(`email=asked@a.test&cursor=${next_cursor}`)).toEqual(['mem_a_asked']);
  });

  test.each([
    ['email=', 'query.email'],
    ['email=kim', 'query.email'],
    ['email=kim+x@a.test', 'query.email'],
    ['status=', 'query.status'],
    ['role=', 'query.role'],
  ])('refuses %s and names the field', async (query, path) => {
    expect(await api.call(api.key('team_a'), 'GET', `/users?${query}`)).toMatchObject({
      status: 422,
      body: { code: 'validation_error', errors: [{ path }] },
    });
  });

  test('finds nobody by an address while member details are off, known or not', async () => {
    const answers = [];
    for (const email of ['owner@b.test', 'nobody@b.test', 'owner@a.test']) {
      const { status, body } = await api.call(api.key('team_b'), 'GET', `/users?email=${email}`);
      answers.push({ status, ...body, request_id: undefined });
    }
    expect(answers[0]).toMatchObject({ status: 403, code: 'privacy_restricted' });
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    const filtered = await api.call(api.key('team_b'), 'GET', '/users?role=owner');
    expect(filtered).toMatchObject({ status: 200, body: { data: [{ id: 'mem_b_owner' }] } });
    expect(filtered.text).not.toContain('@');
  });

  test('pages show every member once; only the last page has a null cursor', async () => {
    const seen: string[] = [];
    let cursor = '';
    for (let page = 0; page < 4; page++) {
      const { body } = await api.call(api.key('team_a'), 'GET', `/users?limit=3${cursor}`);
      const { data, next_cursor } = body as { data: Member[]; next_cursor: string | null };
      seen.push(...data.map((member) => member.id));
      expect(next_cursor === null).toBe(page === 3);
      cursor = `&cursor=${next_cursor}`;
    }
    expect(new Set(seen).size).toBe(11);
    expect(seen).toHaveLength(11);
  });

  test('a full page with nothing after it is the last', async () => {
    const { body } = await api.call(api.key('team_a'), 'GET', '/users?limit=11');
    expect(body).toMatchObject({ next_cursor: null });
  });

  test('refuses the cursor of another list', async () => {
    const { body } = await api.call(api.key('team_a'), 'GET', '/users?limit=1');
    const { next_cursor } = body as { next_cursor: string };
    const refused = await api.call(api.key('team_a'), 'GET', `/assignments?cursor=${next_cursor}`);
    expect(refused).toMatchObject({
      status: 422,
      body: { code: 'validation_error', errors: [{ path: 'query.cursor' }] },
    });
  });

  test.each(['0', '201', '-1', '1.5', 'ten', ''])(
    'refuses limit=%s and names the field',
    async (limit) => {
      const refused = await api.call(api.key('team_a'), 'GET', `/users?limit=${limit}`);
      expect(refused).toMatchObject({
        status: 422,
        body: { code: 'validation_error', errors: [{ path: 'query.limit' }] },
      });
    },
  );

  test('withholds emails while member_detail_enabled is off', async () => {
    const { body, text } = await api.call(api.key('team_b'), 'GET', '/users');
    expect((body as { data: Member[] }).data).toHaveLength(3);
    expect(text).not.toContain('@');
  });
});

describe('POST /users', () => {
  const clock = fixedClock(NOW);
  let api: TestApi;
  beforeAll(async () => {
    api = await startTestApi({
      clock,
      seed: makeSeed([
        makeTeam('a'),
        makeTeam('full', { seats: 3 }),
        makeTeam('limit'),
        makeTeam('back', {
          seats: 4,
          members: [makeMember('back', 'gone', { status: 'ended', email: 'gone@back.test' })],
        }),
        makeTeam('quiet', { privacy: { member_detail_enabled: false } }),
        makeTeam('shut', { seats: 3, privacy: { member_detail_enabled: false } }),
        makeTeam('guess', { privacy: { member_detail_enabled: false } }),
      ]),
    });
  });

  test('201: invites, with Location, one event, one audit entry and one mail job', async () => {
    const created = await api.call(api.key('team_a'), 'POST', '/users', {
      body: { email: '  Kim@Example.com ', lang: 'en' },
    });
    const member = created.body as Member;
    expect(created.status).toBe(201);
    expect(member).toMatchObject({
      email: 'Kim@Example.com',
      role: 'member',
      status: 'invited',
      user_id: null,
      joined_at: null,
    });
    expect(created.headers['location']).toBe(`/api/public/v1/users/${member.id}`);
    expect(await api.call(api.key('team_a'), 'GET', `/users/${member.id}`)).toMatchObject({
      status: 200,
      body: member,
    });
    const { events, audit } = await traces(api, 'team_a');
    expect(events).toEqual([
      {
        type: 'member.joined',
        data: { team_id: 'team_a', member_id: member.id, role: 'member', user_id: null },
      },
    ]);
    expect(audit).toMatchObject([
      {
        action: 'member.invited',
        target_id: member.id,
        actor_kind: 'api_key',
        request_id: created.headers['x-request-id'],
      },
    ]);
    const jobs = await api.db.pool.query(
      `select key
       from pending_job
       where key like 'send_invitation_mail:team_a:%'`,
    );
    expect(jobs.rows).toEqual([{ key: `send_invitation_mail:team_a:${member.id}` }]);
  });

  test('409: a domain beyond ASCII is one, however it is written', async () => {
    const invite = (email: string) =>
      api.call(api.key('team_a'), 'POST', '/users', { body: { email } });
    const first = await invite('kim@mu\u0308ller.example');
    expect(first).toMatchObject({ status: 201, body: { email: 'kim@müller.example' } });
    for (const email of ['KIM@MÜLLER.example', 'kim@XN--mller-kva.example']) {
      expect(await invite(email)).toMatchObject({ status: 409, body: { code: 'conflict' } });
      const path = `/users?email=${encodeURIComponent(email)}`;
      const { body } = await api.call(api.key('team_a'), 'GET', path);
      expect((body as { data: Member[] }).data).toMatchObject([{ email: 'kim@müller.example' }]);
    }
  });

  test("409: the email of a member, also in other case, and the owner's", async () => {
    const first = await api.call(api.key('team_a'), 'POST', '/users', {
      body: { email: 'same@a.test' },
    });
    expect(first.status).toBe(201);
    for (const email of ['SAME@a.test', 'mem_a_owner']) {
      const taken = email.includes('@')
        ? email
        : ((await api.call(api.key('team_a'), 'GET', '/users/mem_a_owner')).body as Member).email;
      const refused = await api.call(api.key('team_a'), 'POST', '/users', {
        body: { email: taken },
      });
      expect(refused).toMatchObject({
        status: 409,
        body: {
          code: 'conflict',
          field: 'email',
          errors: [{ path: 'body.email', code: 'already_member' }],
        },
      });
    }
  });

  test('201: an email that only another team knows', async () => {
    const body = { email: 'member@limit.test' };
    expect((await api.call(api.key('team_a'), 'POST', '/users', { body })).status).toBe(201);
  });

  test('201: the email of an ended membership gets a new membership, and its seat', async () => {
    const created = await api.call(api.key('team_back'), 'POST', '/users', {
      body: { email: 'gone@back.test' },
    });
    expect(created.status).toBe(201);
    expect((created.body as Member).id).not.toBe('mem_back_gone');
  });

  test('403: only keys of the owner and of active admins invite admins', async () => {
    const body = { email: 'boss@a.test', role: 'admin' };
    const refused = await api.call(api.key('team_a', 'by_member'), 'POST', '/users', { body });
    expect(refused).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope', required_scope: 'users:write' },
    });
    expect(await api.call(api.key('team_a', 'by_admin'), 'POST', '/users', { body })).toMatchObject(
      {
        status: 201,
        body: { role: 'admin' },
      },
    );
  });

  test.each(['owner', 'boss', ''])('422: refuses role %o and names the field', async (role) => {
    const refused = await api.call(api.key('team_a'), 'POST', '/users', {
      body: { email: 'r@a.test', role },
    });
    expect(refused).toMatchObject({
      status: 422,
      body: { code: 'validation_error', field: 'role' },
    });
    expect(refused.body.errors).toMatchObject([{ path: 'body.role' }]);
  });

  test('409: no seat is free', async () => {
    const refused = await api.call(api.key('team_full'), 'POST', '/users', {
      body: { email: 'one@more.test' },
    });
    expect(refused).toMatchObject({ status: 409, body: { code: 'seat_limit_reached' } });
    expect((await traces(api, 'team_full')).events).toEqual([]);
  });

  // `?email=` is refused, so no order of checks may answer instead of it.
  test('409: with all seats taken and details off, no guess is answered', async () => {
    const guess = (email: string) =>
      api.call(api.key('team_shut'), 'POST', '/users', { body: { email } });
    for (const email of ['member@shut.test', 'owner@shut.test', 'nobody@shut.test'])
      expect(await guess(email)).toMatchObject({ body: { code: 'seat_limit_reached' } });
  });

  test('429: while details are off, an invitation of a member counts', async () => {
    const guess = (email: string, options = {}) =>
      api.call(api.key('team_guess'), 'POST', '/users', { body: { email }, ...options });
    const known = ['member@guess.test', 'owner@guess.test'];
    const once = { headers: { 'Idempotency-Key': 'guess' } };
    for (let n = 0; n < 2; n += 1)
      expect(await guess('admin@guess.test', once)).toMatchObject({ body: { code: 'conflict' } });
    for (let n = 1; n < 59; n += 1)
      expect(await guess(known[n % 2] ?? '')).toMatchObject({ body: { code: 'conflict' } });
    const identity = { userId: userId('guess', 'admin'), teamId: 'team_guess' };
    const app = appWith(api, {
      authorization: `Bearer ${await tokenOf({ kind: 'user', ...identity }, NOW)}`,
      'idempotency-key': 'app',
    });
    const create = app.v1.members.create.mutate({ email: 'member@guess.test' });
    expect(await codeOf(create)).toBe('conflict');
    for (const email of [...known, 'nobody@guess.test'])
      expect(await guess(email)).toMatchObject({
        status: 429,
        body: { code: 'rate_limited', retry_after: 3600 },
      });
  });

  test('429: 60 invitations an hour; Retry-After says when the next one passes', async () => {
    const invite = (n: number) =>
      api.call(api.key('team_limit'), 'POST', '/users', { body: { email: `n${n}@limit.test` } });
    for (let n = 0; n < 60; n++) {
      clock.set(new Date(NOW.getTime() + n * 1000));
      expect((await invite(n)).status).toBe(201);
    }
    const refused = await invite(60);
    expect(refused).toMatchObject({
      status: 429,
      body: {
        code: 'rate_limited',
        retry_after: 3541,
        detail: expect.stringContaining('60 invitations'),
      },
    });
    expect(refused.headers['retry-after']).toBe('3541');
    clock.set(new Date(NOW.getTime() + 3600_000));
    expect((await invite(60)).status).toBe(201);
    expect((await invite(61)).status).toBe(429);
    clock.set(NOW);
  });

  test('no personal details in response or event while member_detail_enabled is off', async () => {
    const created = await api.call(api.key('team_quiet'), 'POST', '/users', {
      body: { email: 'secret@quiet.test' },
    });
    expect(created.text).not.toContain('secret');
    const { events } = await traces(api, 'team_quiet');
    expect(events[0]?.data).toEqual({
      team_id: 'team_quiet',
      member_id: (created.body as Member).id,
      role: 'member',
    });
  });
});
