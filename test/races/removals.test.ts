// A member is removed while somebody gives them an assignment or a case. The first call is stopped
// just before it commits, so that the order is certain.
import { beforeAll, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember, appAsPlatform, codeOf } from '../support/app.ts';
import { holdLock, untilWaiting } from '../support/locks.ts';
import { makeMember, makeSeed, makeTeam, memberId, userId } from '../support/seed.ts';

const COMBINATION = {
  situation_id: 'sit_cold',
  personality_id: 'per_calm',
  industry_id: 'ind_saas',
};

let api: TestApi;
beforeAll(async () => {
  const members = ['assigned', 'unassigned', 'caseless', 'stays', 'listed', 'unlisted'].map(
    (name) => makeMember('a', name),
  );
  const invited = ['invited', 'late'].map((name) => makeMember('a', name, { status: 'invited' }));
  const team = makeTeam('a', { members: [...members, ...invited] });
  api = await startTestApi({ seed: makeSeed([team]) });
});

const call = (method: string, path: string, body?: object) =>
  api.call(api.key('team_a'), method, path, body === undefined ? {} : { body });
const assign = (name: string) =>
  call('POST', '/assignments', {
    member_id: memberId('a', name),
    title: 'Practise',
    ...COMBINATION,
  });
const assignAll = (...names: string[]) =>
  call('POST', '/assignments/batch', {
    assignments: names.map((name) => ({
      member_id: memberId('a', name),
      title: 'Practise',
      ...COMBINATION,
    })),
  });
const remove = (name: string) => call('DELETE', `/users/${memberId('a', name)}`);
const withdraw = async (name: string) => {
  const app = await appAsMember(api, 'a', 'owner');
  return codeOf(app.admin.invitations.withdraw.mutate({ member_id: memberId('a', name) }));
};

/**
 * Starts the second call just before the first commits. Both continue when the second waits too.
 */
async function meet<A, B>(first: () => Promise<A>, second: () => Promise<B>): Promise<[A, B]> {
  // The last statement of every write is its audit entry.
  const release = await holdLock(api, 'lock table audit_log in share mode');
  const one = first();
  await untilWaiting(api, 1);
  const two = second();
  await untilWaiting(api, 2);
  await release();
  return Promise.all([one, two]);
}

const statusesOf = async (name: string) => {
  const { rows } = await api.db.pool.query('select status from assignment where member_id = $1', [
    memberId('a', name),
  ]);
  return rows.map(({ status }: { status: string }) => status);
};

test('the removal of a member revokes an assignment that is being created for them', async () => {
  const [made, removed] = await meet(
    () => assign('assigned'),
    () => remove('assigned'),
  );
  expect([made.status, removed.status]).toEqual([201, 200]);
  expect(await statusesOf('assigned')).toEqual(['revoked']);
});

test('the removal of a member revokes what a batch is creating for them', async () => {
  const [made, removed] = await meet(
    () => assignAll('listed', 'stays', 'listed'),
    () => remove('listed'),
  );
  expect(made).toMatchObject({ status: 200, body: { created: 3 } });
  expect(removed.status).toBe(200);
  expect(await statusesOf('listed')).toEqual(['revoked', 'revoked']);
});

test('a batch assigns nothing to a member who is being removed, but to others', async () => {
  const before = (await statusesOf('stays')).length;
  const [removed, made] = await meet(
    () => remove('unlisted'),
    () => assignAll('stays', 'unlisted', 'stays'),
  );
  expect(removed.status).toBe(200);
  expect(made).toMatchObject({
    status: 200,
    body: {
      created: 2,
      results: [
        { problem: null },
        { assignment: null, problem: { code: 'not_found', field: 'member_id' } },
        { problem: null },
      ],
    },
  });
  expect(await statusesOf('unlisted')).toEqual([]);
  expect(await statusesOf('stays')).toHaveLength(before + 2);
});

test('withdrawing an invitation removes an assignment that is being created', async () => {
  const [made, withdrawn] = await meet(
    () => assign('invited'),
    () => withdraw('invited'),
  );
  expect([made.status, withdrawn]).toEqual([201, 'ok']);
  expect(await statusesOf('invited')).toEqual(['revoked']);
});

test('an invitation that is being withdrawn is not accepted', async () => {
  const platform = await appAsPlatform(api);
  const accept = () =>
    codeOf(
      platform.platform.members.accept.mutate({
        team_id: 'team_a',
        user_id: 'usr_late',
        member_id: memberId('a', 'late'),
      }),
    );
  expect(await meet(() => withdraw('late'), accept)).toEqual(['ok', 'not_found']);
  const { rows } = await api.db.pool.query('select status, user_id from member where id = $1', [
    memberId('a', 'late'),
  ]);
  expect(rows).toEqual([{ status: 'ended', user_id: null }]);
});

test('a member who is being removed gets no assignment', async () => {
  const [removed, refused] = await meet(
    () => remove('unassigned'),
    () => assign('unassigned'),
  );
  expect(removed.status).toBe(200);
  expect(refused).toMatchObject({ status: 404, body: { code: 'not_found' } });
  expect(await statusesOf('unassigned')).toEqual([]);
});

test('a member who is being removed gets no case', async () => {
  const [removed, refused] = await meet(
    () => remove('caseless'),
    () => call('POST', '/cases', { user_id: userId('a', 'caseless'), title: 'Too late' }),
  );
  expect(removed.status).toBe(200);
  expect(refused).toMatchObject({ status: 404, body: { code: 'not_found' } });
  expect((await call('GET', '/cases')).body.data).toEqual([]);
});

test('DELETE leaves an assignment alone that replaced the one it waited for', async () => {
  const { id } = (await assign('stays')).body;
  expect(id).toMatch(/^asg_/);
  const replacing = await api.db.pool.connect();
  await replacing.query(`
    begin;
    create temporary table kept on commit drop as select * from assignment where id = '${id}';
    delete from assignment where id = '${id}';
    insert into assignment select * from kept`);
  const removal = call('DELETE', `/assignments/${id}`);
  await untilWaiting(api, 1);
  await replacing.query('commit');
  replacing.release();
  expect((await removal).status).toBe(404);
  expect((await call('GET', `/assignments/${id}`)).status).toBe(200);
});
