import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { idsOf, idsOfAllPages, readPage, startWithTeamA, type Page } from '../support/lists.ts';
import { eventsOf, platformOf } from '../support/platform.ts';
import { makeMember, makeSeed, makeTeam, makeTraining, userId } from '../support/seed.ts';

const OWNER = userId('a', 'owner');
const MEMBER = userId('a', 'member');

/**
 * Nine trainings, one a day, of the owner and the member in turn. Every third has not ended, every
 * fourth is for an assignment.
 */
const NINE = Array.from({ length: 9 }, (_, index) => {
  const day = `2026-10-0${index + 1}T09:00:00.000Z`;
  const running = index % 3 === 2;
  return makeTraining('a', `trn_${index + 1}`, {
    user_id: index % 2 === 0 ? OWNER : MEMBER,
    status: running ? 'running' : 'scored',
    source: index === 0 ? 'phone_call' : 'app',
    created_at: day,
    assignment_id: index % 4 === 3 ? 'asg_a' : null,
    ...(running ? { finished_at: null, duration_s: null, evaluation: null } : {}),
  });
});

const ASSIGNMENT = { id: 'asg_a', member_id: 'mem_a_member', title: 'Practise' };

async function startWithNine(): Promise<TestApi> {
  const gone = makeMember('a', 'gone', { status: 'ended' });
  const asked = makeMember('a', 'asked', { status: 'ended' });
  const others = [
    makeTraining('a', 'trn_gone', {
      user_id: userId('a', 'gone'),
      created_at: '2026-10-05T12:00:00Z',
    }),
    makeTraining('a', 'trn_asked', {
      user_id: userId('a', 'asked'),
      created_at: '2026-10-05T12:00:00Z',
    }),
  ];
  const api = await startWithTeamA({
    members: [gone, asked],
    assignments: [ASSIGNMENT],
    trainings: [...NINE, ...others],
  });
  // A seed file knows no person of somebody invited.
  await api.db.pool.query(`update member set status = 'invited' where id = 'mem_a_asked'`);
  return api;
}

const list = (api: TestApi, query: string) => readPage(api, `/trainings?${query}`);
const numberIn = (id: string): number => Number(id.replace('trn_', ''));
const numbersOf = (page: Page): number[] => idsOf(page).map(numberIn);

describe('GET /trainings', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startWithNine();
  });

  test('lists the sessions of active members only, newest first', async () => {
    const page = await list(api, '');
    expect(numbersOf(page)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
    expect(page.next_cursor).toBeNull();
  });

  test.each([
    [`user_id=${MEMBER}`, [8, 6, 4, 2]],
    ['status=running', [9, 6, 3]],
    ['assignment_id=asg_a', [8, 4]],
    ['since=2026-10-07T09:00:00Z', [9, 8, 7]],
    ['since=2026-10-07T09:00:00.001Z', [9, 8]],
    ['since=2026-10-07T11:00:00%2B02:00', [9, 8, 7]],
    ['since=2026-10-07T04:30:00-04:31', [9, 8]],
    ['until=2026-10-03T09:00:00Z', [2, 1]],
    ['until=2026-10-03T09:00:00.001Z', [3, 2, 1]],
    ['until=2026-10-03T11:00:00%2B02:00', [2, 1]],
    ['since=2026-10-03T00:00:00Z&until=2026-10-05T09:00:00Z', [4, 3]],
    ['since=2026-10-05T00:00:00Z&until=2026-10-03T00:00:00Z', []],
    [`user_id=${MEMBER}&until=2026-10-06T00:00:00Z`, [4, 2]],
    [`user_id=${MEMBER}&status=running`, [6]],
    [`user_id=${MEMBER}&assignment_id=asg_a`, [8, 4]],
    ['status=scored&assignment_id=asg_a', [8, 4]],
    [`user_id=${OWNER}&status=scored&since=2026-10-05T00:00:00Z`, [7, 5]],
    [`user_id=${MEMBER}&status=scored&assignment_id=asg_a&since=2026-10-05T00:00:00Z`, [8]],
  ])('shows for %s exactly the matching trainings', async (query, numbers) => {
    expect(numbersOf(await list(api, query))).toEqual(numbers);
  });

  test.each([
    'user_id=usr_nobody',
    'status=unheard_of',
    'status=Not%20a%20status!',
    'assignment_id=asg_none',
    'since=2100-01-01T00:00:00Z',
    'until=0001-01-01T00:00:00Z',
  ])('shows an empty page for %s, which matches nothing', async (query) => {
    expect(await list(api, query)).toEqual({ data: [], next_cursor: null });
  });

  test.each([
    ['the person of another team', `user_id=${userId('b', 'member')}`],
    ['an assignment of another team', 'assignment_id=asg_b'],
    ['a person who has left', `user_id=${userId('a', 'gone')}`],
  ])('shows an empty page for %s', async (_, query) => {
    expect((await list(api, query)).data).toEqual([]);
  });

  test.each([
    ['since=2026-10-07T09:00:00', 'query.since'],
    ['since=2026-10-07', 'query.since'],
    ['since=yesterday', 'query.since'],
    ['since=', 'query.since'],
    ['until=2026-10-07', 'query.until'],
    ['until=', 'query.until'],
    ['user_id=', 'query.user_id'],
    ['status=', 'query.status'],
    ['assignment_id=', 'query.assignment_id'],
  ])('refuses %s and names the field', async (query, path) => {
    const refused = await api.call(api.key('team_a'), 'GET', `/trainings?${query}`);
    expect(refused).toMatchObject({
      status: 422,
      body: {
        code: 'validation_error',
        errors: expect.arrayContaining([expect.objectContaining({ path })]),
      },
    });
  });

  test('refuses the cursor of GET /evaluations, which lists trainings too', async () => {
    const { next_cursor } = await readPage(api, '/evaluations?limit=1');
    const refused = await api.call(api.key('team_a'), 'GET', `/trainings?cursor=${next_cursor}`);
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ path: 'query.cursor' }] } });
  });

  test.each([
    'limit=2',
    `limit=1&user_id=${OWNER}`,
    'limit=2&status=scored',
    'limit=1&assignment_id=asg_a',
    'limit=2&since=2026-10-03T00:00:00Z',
    'limit=2&until=2026-10-08T09:00:00Z',
  ])('pages with %s hold the same as the whole list', async (query) => {
    const all = numbersOf(await list(api, query.replace(/limit=\d/, 'limit=200')));
    const paged = await idsOfAllPages(api, `/trainings?${query}`);
    expect(paged.map(numberIn)).toEqual(all);
  });

  test('is refused with every filter while member details are off', async () => {
    const refused = await api.call(api.key('team_off'), 'GET', '/trainings?status=scored');
    expect(refused).toMatchObject({ status: 403, body: { code: 'privacy_restricted' } });
  });
});

describe('GET /trainings, while trainings come and go', () => {
  test('neither repeats nor skips trainings that were there throughout', async () => {
    const api = await startWithNine();
    const first = await list(api, 'limit=3');
    await api.db.pool.query(
      `insert into training (team_id, id, user_id, status, created_at)
       values ('team_a', 'trn_10', $1, 'running', '2026-10-10T09:00:00Z'),
         ('team_a', 'trn_0', $1, 'running', '2026-10-06T08:00:00Z')`,
      [OWNER],
    );
    await api.db.pool.query(`delete from training where team_id = 'team_a' and id = any ($1)`, [
      ['trn_7', 'trn_5'],
    ]);
    const second = await list(api, `limit=3&cursor=${first.next_cursor}`);
    const third = await list(api, `limit=3&cursor=${second.next_cursor}`);
    expect([first, second, third].map(numbersOf)).toEqual([
      [9, 8, 7],
      [6, 0, 4],
      [3, 2, 1],
    ]);
    expect(third.next_cursor).toBeNull();
  });

  test('sorts trainings of the same time by id', async () => {
    const ids = ['trn_a', 'trn_b', 'trn_c', 'trn_d'];
    const api = await startTestApi({
      seed: makeSeed([makeTeam('a', { trainings: ids.map((id) => makeTraining('a', id)) })]),
    });
    const first = await list(api, 'limit=2');
    const second = await list(api, `limit=2&cursor=${first.next_cursor}`);
    expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(ids.toReversed());
  });

  test('hides the trainings of a member who leaves, until they return', async () => {
    const api = await startWithNine();
    const setStatus = (status: string) =>
      api.db.pool.query(
        `update member
         set status = $1
         where team_id = 'team_a' and id = 'mem_a_member'`,
        [status],
      );
    await setStatus('ended');
    expect(numbersOf(await list(api, ''))).toEqual([9, 7, 5, 3, 1]);
    await setStatus('active');
    expect(numbersOf(await list(api, ''))).toHaveLength(9);
  });
});

// That is about as many as a list reads in its own order.
test('trainings of somebody who left are in no list of an assignment', async () => {
  const day = (n: number) => ({ created_at: `2026-10-0${n}T09:00:00Z`, assignment_id: 'asg_a' });
  // The host application makes an assignment for one person; a seed file may know two.
  const api = await startWithTeamA({
    members: [makeMember('a', 'gone', { status: 'ended' })],
    assignments: [ASSIGNMENT],
    trainings: [
      makeTraining('a', 'trn_1', { user_id: userId('a', 'gone'), ...day(1) }),
      makeTraining('a', 'trn_2', { user_id: OWNER, ...day(2) }),
      makeTraining('a', 'trn_3', { user_id: MEMBER, ...day(3) }),
    ],
  });
  const numbers = async (query: string) => numbersOf(await list(api, query));
  expect(await numbers('assignment_id=asg_a')).toEqual([3, 2]);
  expect(await numbers(`assignment_id=asg_a&user_id=${MEMBER}`)).toEqual([3]);
  expect(await numbers(`assignment_id=asg_a&user_id=${userId('a', 'gone')}`)).toEqual([]);
});

test('trainings and evaluations are found behind a thousand of somebody who left', async () => {
  const api = await startWithTeamA({
    members: [makeMember('a', 'gone', { status: 'ended' })],
    trainings: [makeTraining('a', 'trn_1', { user_id: MEMBER })],
  });
  let hidden = 0;
  for (const count of [999, 1000, 1001]) {
    await api.db.pool.query(
      `with added as (
         insert into training (team_id, id, user_id, status, created_at)
         select 'team_a', 'trn_gone_' || n, $1, 'scored', now() + n * interval '1 second'
         from generate_series($2::int, $3::int) n
         returning *
       )
       insert into evaluation (team_id, training_id, user_id, saved_at, stored_at)
       select team_id, id, user_id, created_at, created_at
       from added`,
      [userId('a', 'gone'), hidden + 1, count],
    );
    hidden = count;
    for (const path of ['/trainings', '/evaluations'])
      expect(idsOf(await readPage(api, path))).toEqual(['trn_1']);
  }
});

describe('a person who left and came back', () => {
  test('has their trainings and evaluations shown, those from before too', async () => {
    const former = makeMember('a', 'former', { user_id: MEMBER, status: 'ended' });
    const api = await startTestApi({
      seed: makeSeed([
        makeTeam('a', { members: [former], trainings: [makeTraining('a', 'trn_1')] }),
      ]),
    });
    for (const path of ['/trainings', `/trainings?user_id=${MEMBER}`, '/evaluations']) {
      const { status, body } = await api.call(api.key('team_a'), 'GET', path);
      expect({ status, ids: numbersOf(body as Page) }).toEqual({ status: 200, ids: [1] });
    }
    expect((await api.call(api.key('team_a'), 'GET', '/trainings/trn_1')).status).toBe(200);
  });

  test('has them listed again on acceptance, without an event or a later time', async () => {
    const api = await startWithTeamA({
      assignments: [ASSIGNMENT, { ...ASSIGNMENT, id: 'asg_done', status: 'done' }],
      trainings: [makeTraining('a', 'trn_1', { user_id: MEMBER })],
    });
    const platform = await platformOf(api);
    const { email } = makeMember('a', 'member');
    const since = new Date(Date.now() - 60_000).toISOString();
    const read = async () => {
      const idsAt = async (path: string) => idsOf(await readPage(api, path)).toSorted();
      return {
        active: await idsAt('/users?status=active'),
        trainings: await idsAt(`/trainings?user_id=${MEMBER}&include=evaluation`),
        evaluations: await idsAt('/evaluations'),
        polled: await idsAt(`/evaluations?updated_since=${since}`),
        open: await idsAt('/assignments?status=open'),
        events: (await eventsOf(api, 'team_a')).map(({ type }) => type),
      };
    };
    const others = ['mem_a_admin', 'mem_a_owner'];
    const before = { trainings: ['trn_1'], evaluations: ['trn_1'], polled: [] };
    expect(await read()).toEqual({
      ...before,
      active: ['mem_a_admin', 'mem_a_member', 'mem_a_owner'],
      open: ['asg_a'],
      events: [],
    });

    await api.call(api.key('team_a'), 'DELETE', '/users/mem_a_member');
    const hidden = { active: others, trainings: [], evaluations: [], polled: [], open: [] };
    expect(await read()).toEqual({ ...hidden, events: ['member.removed'] });

    const invited = await api.call(api.key('team_a'), 'POST', '/users', { body: { email } });
    const { id } = invited.body as { id: string };
    const events = ['member.removed', 'member.joined'];
    expect(await read()).toEqual({ ...hidden, events });

    await platform.members.accept.mutate({ team_id: 'team_a', user_id: MEMBER, member_id: id });
    const active = [id, ...others].toSorted();
    expect(await read()).toEqual({ ...before, active, open: [], events });
    const { body } = await api.call(api.key('team_a'), 'GET', `/users/${id}`);
    expect(body).toMatchObject({ user_id: MEMBER });
  });
});

describe('GET /trainings/{training_id}', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startWithNine();
    await api.db.pool.query(
      `update training
       set external_ref = '{"z": 1, "a": {"deep": [null, "ä"]}}', role_id = 'rol_buyer',
         personality_id = 'per_calm', industry_id = 'ind_saas'
       where team_id = 'team_a' and id = 'trn_4'`,
    );
  });

  test('shows every field; the external reference is unchanged', async () => {
    const { status, body, text } = await api.call(
      api.key('team_a', 'trainings:read'),
      'GET',
      '/trainings/trn_4',
    );
    expect(status).toBe(200);
    expect(body).toEqual({
      id: 'trn_4',
      user_id: MEMBER,
      status: 'scored',
      source: 'app',
      assignment_id: 'asg_a',
      created_at: '2026-10-04T09:00:00.000Z',
      finished_at: '2026-10-01T09:07:00.000Z',
      duration_s: 420,
      external_ref: { z: 1, a: { deep: [null, 'ä'] } },
      situation_id: 'sit_cold',
      personality_id: 'per_calm',
      industry_id: 'ind_saas',
      role_id: 'rol_buyer',
    });
    expect(text).toContain('"external_ref":{"z":1,"a":{"deep":[null,"ä"]}}');
  });

  test('shows null for the missing fields of a running session', async () => {
    const { body } = await api.call(api.key('team_a'), 'GET', '/trainings/trn_3');
    expect(body).toMatchObject({
      status: 'running',
      finished_at: null,
      duration_s: null,
      external_ref: null,
      assignment_id: null,
    });
  });

  test('is refused while member details are off, whether the id exists or not', async () => {
    for (const id of ['trn_off', 'trn_none']) {
      const refused = await api.call(api.key('team_off'), 'GET', `/trainings/${id}`);
      expect(refused).toMatchObject({ status: 403, body: { code: 'privacy_restricted' } });
    }
  });

  test('is not found for other teams, people who are not members, and unknown ids', async () => {
    const answers = [];
    for (const id of ['trn_b', 'trn_gone', 'trn_asked', 'trn_none', '%27%20or%201=1']) {
      const { status, body } = await api.call(api.key('team_a'), 'GET', `/trainings/${id}`);
      answers.push({ status, ...body, request_id: undefined });
    }
    expect(answers[0]).toMatchObject({ status: 404, code: 'not_found' });
    for (const answer of answers) expect(answer).toEqual(answers[0]);
  });
});

test('a list can be read to its end when the ids are as long as may be', async () => {
  // Each character takes four bytes in UTF-8.
  const ids = ['😀', '🎯', '🚀'].map((character) => character.repeat(200));
  const api = await startWithTeamA({ trainings: ids.map((id) => makeTraining('a', id)) });
  const listed = await idsOfAllPages(api, '/trainings?limit=1');
  expect(listed.toSorted()).toEqual(ids.toSorted());
});
