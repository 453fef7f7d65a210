// How the admin page finds members of a large team.
import { beforeAll, describe, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember, codeOf } from '../support/app.ts';
import { makeMember, makeSeed, makeTeam, memberId, userId } from '../support/seed.ts';

const COUNT = 120;

let api: TestApi;
let search: (
  input: Parameters<
    Awaited<ReturnType<typeof appAsMember>>['admin']['members']['search']['query']
  >[0],
  team?: string,
) => Promise<{ readonly ids: string[]; readonly next: string | null }>;

beforeAll(async () => {
  const guests = (team: string) =>
    Array.from({ length: COUNT }, (_, n) =>
      makeMember(team, `guest_${n}`, {
        email: `${n % 2 ? 'Odd' : 'even'}.${n}@${team}.test`,
        status: n % 3 === 0 ? 'invited' : 'active',
      }),
    );
  api = await startTestApi({
    seed: makeSeed([
      makeTeam('large', { members: guests('large') }),
      makeTeam('other', { members: guests('other') }),
      makeTeam('ids', {
        members: [
          makeMember('ids', 'guest_1', { user_id: 'usr_1' }),
          makeMember('ids', 'guest_2', { user_id: 'usr_2', status: 'ended' }),
          ...Array.from({ length: 30 }, (_, n) =>
            makeMember('ids', `guest_${n + 10}`, {
              user_id: `usr_${n + 10}`,
              created_at: '2026-02-01T08:00:00Z',
            }),
          ),
        ],
        privacy: { member_detail_enabled: false },
      }),
      makeTeam('hidden', {
        members: [...guests('hidden'), makeMember('hidden', 'former', { status: 'ended' })],
        privacy: { member_detail_enabled: false },
      }),
    ]),
  });
  search = async (input, team = 'large') => {
    const app = await appAsMember(api, team, 'admin');
    const { data, next_cursor } = await app.admin.members.search.query(input);
    return { ids: data.map(({ id }) => id), next: next_cursor };
  };
});

describe('members are found', () => {
  test('by a part of their address, in any case', async () => {
    const { ids } = await search({ text: 'ODD.1', limit: 200 });
    const odd = Array.from({ length: COUNT }, (_, n) => n).filter((n) => n % 2 === 1);
    const wanted = odd.filter((n) => String(n).startsWith('1')).map((n) => `guest_${n}`);
    expect(ids.toSorted()).toEqual(wanted.map((name) => memberId('large', name)).toSorted());
    expect((await search({ text: 'even.118@large' })).ids).toEqual([
      memberId('large', 'guest_118'),
    ]);
  });

  test('by their whole address, behind however many whose address holds it', async () => {
    const text = 'even.8@large.test';
    await api.db.pool.query(
      `insert into member (team_id, id, email, role, status, created_at)
       select 'team_large', 'mem_like_' || n, n || $1, 'member', 'invited',
         timestamptz '2027-01-01Z' + n * interval '1 second'
       from generate_series(1, 25) n`,
      [text],
    );
    const found = { ids: [memberId('large', 'guest_8')], next: null };
    expect(await search({ text: ' Even.8@LARGE.test ', limit: 20 })).toEqual(found);
    expect(await search({ text, role: 'member', status: 'active', limit: 1 })).toEqual(found);
    expect((await search({ text, status: 'invited', limit: 200 })).ids).toHaveLength(25);
    expect((await search({ text: text.slice(0, -1), limit: 200 })).ids).toHaveLength(26);
    expect((await search({ text: 'even.8@hidden.test' }, 'hidden')).ids).toEqual([]);
    await api.db.pool.query(`delete from member where id like 'mem_like_%'`);
  });

  test('by a part of their id, or of their person’s', async () => {
    const id = memberId('large', 'guest_77');
    expect((await search({ text: id })).ids).toEqual([id]);
    expect((await search({ text: userId('large', 'guest_77') })).ids).toEqual([id]);
  });

  test.each(['%', '_%', 'even.1_8', '\\', "'", '.*'])(
    'by nothing that is a pattern: %s',
    async (text) => {
      expect((await search({ text: `${text}@large.test` })).ids).toEqual([]);
    },
  );

  test('by role and state, and by all that is asked together', async () => {
    expect((await search({ role: 'owner' })).ids).toEqual([memberId('large', 'owner')]);
    const invited = await search({ status: 'invited', limit: 200 });
    expect(invited.ids).toHaveLength(COUNT / 3);
    const both = await search({ text: 'odd', status: 'invited', role: 'member', limit: 200 });
    expect(both.ids).toHaveLength(COUNT / 6);
    expect((await search({ text: 'odd', role: 'admin' })).ids).toEqual([]);
  });

  test('page by page, each once', async () => {
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await search({ text: 'odd', limit: 7, cursor });
      seen.push(...page.ids);
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
    expect(seen).toHaveLength(COUNT / 2);
    expect(new Set(seen).size).toBe(seen.length);
    const app = await appAsMember(api, 'large', 'admin');
    const list = await app.v1.members.list.query({ limit: 7 });
    expect(await codeOf(search({ cursor: list.next_cursor ?? '' }))).toBe('validation_error');
  });

  test('of their own team only, and by admins only', async () => {
    expect((await search({ text: '@other.test' })).ids).toEqual([]);
    const member = await appAsMember(api, 'large', 'member');
    expect(await codeOf(member.admin.members.search.query({}))).toBe('forbidden');
  });

  test('not by an address while addresses are withheld', async () => {
    expect((await search({ text: '@hidden.test' }, 'hidden')).ids).toEqual([]);
    const id = memberId('hidden', 'guest_55');
    expect((await search({ text: id }, 'hidden')).ids).toEqual([id]);
    const app = await appAsMember(api, 'hidden', 'admin');
    const { data } = await app.admin.members.search.query({ text: id });
    expect(data[0]).not.toHaveProperty('email');
  });

  test('by their whole id while addresses are withheld, behind ids that hold it', async () => {
    const first = memberId('ids', 'guest_1');
    expect((await search({ text: 'usr_1', limit: 20 }, 'ids')).ids).toEqual([first]);
    expect((await search({ text: first, limit: 20 }, 'ids')).ids).toEqual([first]);
    expect((await search({ text: 'usr_1', role: 'admin', limit: 200 }, 'ids')).ids).toEqual([]);
    // Nobody has the id, or has it any more.
    for (const text of ['usr_2', 'usr_3'])
      expect((await search({ text, limit: 200 }, 'ids')).ids).toHaveLength(10);
    // Where addresses are shown, they are what a member is called by.
    await api.db.pool.query(`update team set member_detail_enabled = true where id = 'team_ids'`);
    expect((await search({ text: 'usr_1', limit: 200 }, 'ids')).ids).toHaveLength(11);
  });

  test('with their rights; ended members are not', async () => {
    const app = await appAsMember(api, 'large', 'owner');
    await app.admin.team.grantRight.mutate({
      member_id: memberId('large', 'admin'),
      right: 'schnittstellen',
    });
    const { data } = await app.admin.members.search.query({ role: 'admin' });
    expect(data).toMatchObject([{ rights: ['schnittstellen'] }]);
    await app.v1.members.remove.mutate({ member_id: memberId('large', 'guest_1') });
    expect((await search({ text: 'odd.1@' })).ids).toEqual([]);
  });
});

test('the seats that are taken are those of members and invitations', async () => {
  const app = await appAsMember(api, 'hidden', 'admin');
  const { rows } = await api.db.pool.query<{ seats: number }>(
    `select seats from team where id = 'team_hidden'`,
  );
  const { data } = await app.admin.members.search.query({ limit: 200 });
  expect(await app.admin.members.seats.query({})).toEqual({
    seats: rows[0]?.seats,
    used: data.length,
  });
});

test('somebody who leaves has open assignments, which are counted up to a limit', async () => {
  const app = await appAsMember(api, 'large', 'admin');
  const leaver = (id: string) => app.admin.members.leaver.query({ member_id: id });
  const add = (count: number, status: string) =>
    api.db.pool.query(
      `insert into assignment (team_id, id, member_id, title, situation_id, personality_id,
         industry_id, status, created_at)
       select 'team_large', $2 || n, 'mem_large_member', 'x', 'sit_cold', 'per_calm', 'ind_saas',
         $2, now()
       from generate_series(1, $1::int) n`,
      [count, status],
    );
  expect(await leaver('mem_large_member')).toEqual({ open_assignments: 0, has_more: false });
  await add(3, 'done');
  await add(1_000, 'open');
  expect(await leaver('mem_large_member')).toEqual({ open_assignments: 1_000, has_more: false });
  await api.db.pool.query(`update assignment set status = 'open' where status = 'done'`);
  expect(await leaver('mem_large_member')).toEqual({ open_assignments: 1_000, has_more: true });
  expect(await codeOf(leaver('mem_other_member'))).toBe('not_found');
  // Who may not see assignments learns no number of them either, nor that there are many.
  const hidden = await appAsMember(api, 'hidden', 'admin');
  expect(await hidden.admin.members.leaver.query({ member_id: 'mem_hidden_member' })).toEqual({});
});

test('members are called by their addresses while these may be shown', async () => {
  const ids = ['mem_other_member', 'mem_hidden_member', 'mem_nobody'];
  const names = async (team: string) => {
    const app = await appAsMember(api, team, 'admin');
    return (await app.admin.members.names.query({ member_ids: ids })).data;
  };
  expect(await names('other')).toEqual([
    {
      id: 'mem_other_member',
      user_id: userId('other', 'member'),
      email: expect.stringContaining('@') as unknown,
    },
  ]);
  expect(await names('hidden')).toEqual([
    { id: 'mem_hidden_member', user_id: userId('hidden', 'member') },
  ]);
  const app = await appAsMember(api, 'other', 'admin');
  const many = Array.from({ length: 201 }, (_, n) => `mem_${n}`);
  expect(await codeOf(app.admin.members.names.query({ member_ids: many }))).toBe(
    'validation_error',
  );
});
