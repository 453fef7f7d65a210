// GET /assignments with filters.
import { beforeAll, describe, expect, test } from 'vitest';
import type { TestApi } from '../support/api.ts';
import { idsOf, idsOfAllPages, readPage, startWithTeamA } from '../support/lists.ts';
import { holdLock, untilWaiting } from '../support/locks.ts';
import { until } from '../support/until.ts';
import { describeEvaluation, platformOf } from '../support/platform.ts';
import { makeMember, makeTraining, userId } from '../support/seed.ts';

const STATUSES = ['open', 'done', 'revoked'] as const;
const OWNER = 'mem_a_owner';
const MEMBER = 'mem_a_member';
const COMBINATION = {
  situation_id: 'sit_cold',
  personality_id: 'per_calm',
  industry_id: 'ind_saas',
};

/** Twelve assignments, one a day; the last four have no due date and no id elsewhere. */
const TWELVE = Array.from({ length: 12 }, (_, index) => ({
  id: `asg_${String(index + 1).padStart(2, '0')}`,
  member_id: index % 2 === 0 ? OWNER : MEMBER,
  status: STATUSES[index % 3] ?? 'open',
  title: 'Practise',
  created_at: `2026-10-${String(index + 1).padStart(2, '0')}T09:00:00Z`,
  ...(index < 8 && {
    due_date: `2026-12-0${index + 1}`,
    external_ref: { id: index < 6 ? `ext_${index % 3}` : 4711, of: index },
  }),
}));

const start = (): Promise<TestApi> =>
  startWithTeamA({
    members: [makeMember('a', 'leaver')],
    assignments: [...TWELVE],
    trainings: [makeTraining('a', 'trn_1', { evaluation: null, status: 'completed' })],
  });

const list = (api: TestApi, query: string) => readPage(api, `/assignments?${query}`);
const numbersOf = (ids: readonly string[]): number[] =>
  ids.map((id) => Number(id.replace('asg_', '')));

describe('GET /assignments with filters', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await start();
  });

  const CASES: readonly (readonly [string, readonly number[]])[] = [
    ['status=open', [10, 7, 4, 1]],
    ['status=revoked', [12, 9, 6, 3]],
    [`member_id=${OWNER}`, [11, 9, 7, 5, 3, 1]],
    [`member_id=${OWNER}&status=open`, [7, 1]],
    [`member_id=${MEMBER}&status=done`, [8, 2]],
    ['due_before=2026-12-03', [2, 1]],
    ['due_before=2026-12-08&status=open', [7, 4, 1]],
    [`member_id=${OWNER}&due_before=2026-12-06`, [5, 3, 1]],
    [`member_id=${OWNER}&due_before=2026-12-06&status=revoked`, [3]],
    ['external_ref_id=ext_1', [5, 2]],
    ['external_ref_id=4711', [8, 7]],
    [`external_ref_id=ext_1&member_id=${MEMBER}`, [2]],
    ['external_ref_id=ext_1&status=done', [5, 2]],
    ['external_ref_id=ext_1&due_before=2026-12-05', [2]],
    ['updated_since=2026-10-11T09:00:00Z', [12, 11]],
    ['updated_since=2026-10-11T11:00:00.001%2B02:00', [12]],
    [`updated_since=2026-10-05T00:00:00Z&member_id=${OWNER}`, [11, 9, 7, 5]],
    ['updated_since=2026-10-05T00:00:00Z&external_ref_id=ext_1&status=done', [5]],
    [
      `updated_since=2026-10-01T00:00:00Z&external_ref_id=ext_0&status=open&member_id=${OWNER}` +
        '&due_before=2026-12-02',
      [1],
    ],
  ];

  test.each(CASES)('shows for %s exactly the matching assignments', async (query, numbers) => {
    expect(numbersOf(idsOf(await list(api, query)))).toEqual(numbers);
  });

  test.each(CASES)('reads the same for %s page by page', async (query, numbers) => {
    const ids = await idsOfAllPages(api, `/assignments?${query}&limit=1`);
    expect(numbersOf(ids)).toEqual(numbers);
  });

  test('shows an assignment as the list without filters does', async () => {
    const all = await readPage(api, '/assignments');
    const found = await list(api, 'external_ref_id=ext_2');
    expect(found.data).toEqual(all.data.filter(({ id }) => ['asg_06', 'asg_03'].includes(id)));
    expect(found.data[0]).toMatchObject({ external_ref: { id: 'ext_2', of: 5 } });
  });

  test.each([
    'status=unheard_of',
    'member_id=mem_nobody',
    'member_id=mem_b_member',
    'external_ref_id=ext',
    'external_ref_id=ext_%25',
    'external_ref_id=null',
    'due_before=2026-12-01',
    'updated_since=2100-01-01T00:00:00Z',
  ])('shows an empty page for %s, which matches nothing', async (query) => {
    expect(await list(api, query)).toEqual({ data: [], next_cursor: null });
  });

  test.each([
    ['status=', 'status'],
    ['member_id=', 'member_id'],
    ['due_before=2026-02-30', 'due_before'],
    ['due_before=2026-12-01T00:00:00Z', 'due_before'],
    ['external_ref_id=', 'external_ref_id'],
    [`external_ref_id=${'x'.repeat(201)}`, 'external_ref_id'],
    ['updated_since=2026-10-01', 'updated_since'],
  ])('422: refuses %s and names the field', async (query, name) => {
    expect(await api.call(api.key('team_a'), 'GET', `/assignments?${query}`)).toMatchObject({
      status: 422,
      body: { code: 'validation_error', errors: [{ path: `query.${name}` }] },
    });
  });

  test('422: the list by changes and the one by creation do not share cursors', async () => {
    const since = 'updated_since=2026-10-01T00:00:00Z';
    const refused = { status: 422, body: { errors: [{ path: 'query.cursor' }] } };
    for (const [from, to] of [
      ['status=open', since],
      [since, 'status=open'],
    ]) {
      const { next_cursor } = await list(api, `${from}&limit=1`);
      const path = `/assignments?${to}&cursor=${next_cursor}`;
      expect(await api.call(api.key('team_a'), 'GET', path)).toMatchObject(refused);
    }
  });

  test('403 privacy_restricted: is refused with details off, found or not', async () => {
    const answers = [];
    for (const query of ['status=open', 'member_id=mem_off_member', 'external_ref_id=none']) {
      const { status, body } = await api.call(api.key('team_off'), 'GET', `/assignments?${query}`);
      answers.push({ status, ...body, request_id: undefined });
    }
    expect(answers[0]).toMatchObject({ status: 403, code: 'privacy_restricted' });
    for (const answer of answers) expect(answer).toEqual(answers[0]);
  });
});

describe('GET /assignments with updated_since', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await start();
  });

  const key = () => api.key('team_a');
  const now = async (): Promise<string> => {
    const { rows } = await api.db.pool.query<{ at: Date }>(
      `select clock_timestamp() + interval '1 ms' as at`,
    );
    return new Date(rows[0]?.at ?? 0).toISOString();
  };
  /** The ids of what has changed while `change` ran. */
  const changedBy = async (change: () => Promise<unknown>): Promise<string[]> => {
    const since = await now();
    await until(() => Date.now() > Date.parse(since));
    await change();
    return idsOf(await list(api, `updated_since=${since}`));
  };

  test('shows one that was created, as long as it is not changed again', async () => {
    const body = {
      member_id: MEMBER,
      title: 'New',
      ...COMBINATION,
    };
    let id = '';
    const changed = await changedBy(async () => {
      const created = await api.call(key(), 'POST', '/assignments', { body });
      id = (created.body as { id: string }).id;
    });
    expect(changed).toEqual([id]);
  });

  test.each([
    [
      'was created',
      `select from member where team_id = 'team_a' and id = '${MEMBER}' for update`,
      'POST',
      '/assignments',
      {
        member_id: MEMBER,
        title: 'Late',
        ...COMBINATION,
      },
    ],
    [
      'was changed',
      `select from assignment where team_id = 'team_a' and id = 'asg_06' for update`,
      'PATCH',
      '/assignments/asg_06',
      { note: 'late' },
    ],
  ])('shows one that %s after a wait for a lock', async (_how, lock, method, path, body) => {
    const release = await holdLock(api, lock);
    const writing = api.call(key(), method, path, { body });
    await untilWaiting(api, 1);
    const changed = await changedBy(async () => {
      await release();
      await writing;
    });
    expect(changed).toEqual([((await writing).body as { id: string }).id]);
  });

  test('shows one that PATCH changes first, and not one whose PATCH is empty', async () => {
    const patch = (id: string, body: object) =>
      api.call(key(), 'PATCH', `/assignments/${id}`, { body });
    const changed = await changedBy(async () => {
      await patch('asg_03', { note: 'x' });
      await patch('asg_02', { external_ref: { id: 'other' } });
      await patch('asg_05', {});
    });
    expect(changed).toEqual(['asg_02', 'asg_03']);
    expect(idsOf(await readPage(api, '/assignments?limit=200'))).toContain('asg_05');
  });

  test('shows one that a training has completed', async () => {
    const platform = await platformOf(api, 'scoring');
    await api.db.pool.query(
      `update training set assignment_id = 'asg_04' where team_id = 'team_a' and id = 'trn_1'`,
    );
    const changed = await changedBy(() =>
      platform.evaluations.save.mutate(
        describeEvaluation('a', 'trn_1', 70, '2026-11-01T00:00:00Z'),
      ),
    );
    expect(changed).toEqual(['asg_04']);
  });

  test('shows those that were revoked because their member has left', async () => {
    await api.db.pool.query(
      `update assignment
       set member_id = 'mem_a_leaver', status = 'open'
       where team_id = 'team_a' and id in ('asg_07', 'asg_10')`,
    );
    const changed = await changedBy(() => api.call(key(), 'DELETE', '/users/mem_a_leaver'));
    expect(changed.toSorted()).toEqual(['asg_07', 'asg_10']);
  });

  test('neither repeats nor skips what stays as it is while others change', async () => {
    const since = 'updated_since=2026-10-01T00:00:00Z';
    const all = idsOf(await list(api, `${since}&limit=200`));
    const first = await list(api, `${since}&limit=4`);
    const moved = all[8] ?? '';
    await api.call(key(), 'PATCH', `/assignments/${moved}`, { body: { note: 'moved' } });
    const second = await list(api, `${since}&limit=200&cursor=${first.next_cursor}`);
    expect([...idsOf(first), ...idsOf(second)]).toEqual(all.filter((id) => id !== moved));
    expect(idsOf(await list(api, `${since}&limit=1`))).toEqual([moved]);
  });
});

test('stays in the order of creation, whatever changes', async () => {
  const api = await start();
  const all = idsOf(await list(api, 'limit=200'));
  const first = await list(api, 'limit=4');
  await api.call(api.key('team_a'), 'PATCH', `/assignments/${all[8]}`, { body: { note: 'new' } });
  const second = await list(api, `limit=200&cursor=${first.next_cursor}`);
  expect([...idsOf(first), ...idsOf(second)]).toEqual(all);
});

test('an external id finds the assignment after the Idempotency-Key is forgotten', async () => {
  const api = await start();
  const body = {
    member_id: MEMBER,
    title: 'From the LMS',
    ...COMBINATION,
    external_ref: { id: 'lms-4711' },
  };
  const created = await api.call(api.key('team_a'), 'POST', '/assignments', { body });
  expect(created).toMatchObject({ status: 201, body: { external_ref: { id: 'lms-4711' } } });
  const found = await list(api, 'external_ref_id=lms-4711');
  expect(found.data).toEqual([created.body]);
  expect(found.data).toMatchObject([{ member_user_id: userId('a', 'member') }]);
});
