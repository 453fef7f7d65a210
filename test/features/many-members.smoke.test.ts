// What the admin page reads of teams with more members than one search looks at.
import { beforeAll, describe, expect, test } from 'vitest';
import { SORTS } from '../../src/features/members/rules.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember } from '../support/app.ts';
import { makeMember, makeSeed, makeTeam, memberId } from '../support/seed.ts';

const COUNT = 60;
const MANY = 12_000;
const SORTED = SORTS.filter((sort) => sort !== 'newest');

let api: TestApi;
beforeAll(async () => {
  const guests = Array.from({ length: COUNT }, (_, n) =>
    makeMember('many', `guest_${n}`, {
      email: `guest.${(n * 37) % COUNT}@many.test`,
      role: n % 7 === 0 ? 'admin' : 'member',
      status: n % 5 === 0 ? 'invited' : 'active',
    }),
  );
  const found = Array.from({ length: 20 }, (_, n) => makeMember('found', `guest_${n}`));
  const rest = ['few', 'more', 'seats'].map((name) => makeTeam(name));
  api = await startTestApi({
    seed: makeSeed([
      makeTeam('many', { members: guests }),
      makeTeam('found', { members: found }),
      ...rest,
    ]),
  });
});

type Input = Parameters<
  Awaited<ReturnType<typeof appAsMember>>['admin']['members']['search']['query']
>[0];

async function page(input: Input, team: string) {
  const app = await appAsMember(api, team, 'admin');
  return app.admin.members.search.query(input);
}

async function readPages(input: Input, team = 'many'): Promise<string[][]> {
  const pages: string[][] = [];
  let cursor: string | undefined;
  do {
    const { data, next_cursor } = await page({ ...input, cursor }, team);
    pages.push(data.map(({ id }) => id));
    cursor = next_cursor ?? undefined;
  } while (cursor !== undefined);
  return pages;
}

test('a search reads ten thousand members for a page, and says where it goes on', async () => {
  await api.db.pool.query(
    `insert into member (team_id, id, email, role, status, created_at)
     select 'team_found', 'mem_many_' || n, 'many.' || n || '@x.test', 'member', 'invited',
       now() - n * interval '1 second'
     from generate_series(1, 12000) n`,
  );
  await api.db.pool.query(
    `update member set created_at = now() - interval '1 year'
     where team_id = 'team_found' and id not like 'mem_many%'`,
  );
  const search = async (input: Input) => {
    const { data, next_cursor: next } = await page(input, 'found');
    return { ids: data.map(({ id }) => id), next };
  };
  const first = await search({ text: '@found.test', limit: 5 });
  expect(first.ids).toEqual([]);
  expect(first.next).not.toBeNull();
  const second = await search({ text: '@found.test', limit: 5, cursor: first.next ?? '' });
  expect(second.ids).toHaveLength(5);
  const none = await search({ text: 'nobody', cursor: first.next ?? '' });
  expect(none).toEqual({ ids: [], next: null });
});

test('the seats that are taken are counted up to those that there are', async () => {
  const app = await appAsMember(api, 'seats', 'admin');
  await api.db.pool.query(`update team set seats = 100_200 where id = 'team_seats'`);
  for (let first = 1; first <= 100_100; first += 10_010)
    await api.db.pool.query(
      `insert into member (team_id, id, email, role, status, created_at)
       select 'team_seats', 'mem_' || n, n || '@seats.test', 'member', 'invited', now()
       from generate_series($1::int, $1::int + 10009) n`,
      [first],
    );
  expect(await app.admin.members.seats.query({})).toEqual({ seats: 100_200, used: 100_103 });
  // The most that a plan can have.
  const seats = 2_147_483_647;
  await api.db.pool.query(`update team set seats = $1 where id = 'team_seats'`, [seats]);
  expect(await app.admin.members.seats.query({})).toEqual({ seats, used: 100_103 });
});

describe('in a team of many', () => {
  beforeAll(async () => {
    await api.db.pool.query(
      `insert into person (team_id, id)
       select 'team_many', 'usr_many_' || n from generate_series(1, $1::int) n`,
      [MANY],
    );
    await api.db.pool.query(
      `insert into member (team_id, id, user_id, email, role, status, created_at, joined_at)
       select 'team_many', 'mem_many_' || n, 'usr_many_' || n, 'a.many.' || n || '@x.test',
         'member', 'active', now() - n * interval '1 second', now() - n * interval '1 second'
       from generate_series(1, $1::int) n`,
      [MANY],
    );
    await api.db.pool.query('analyze member');
  });

  test.each(SORTED)('a search by %s reads ten thousand for a page, and goes on', async (sort) => {
    const pages = await readPages({ text: 'guest.1', sort, limit: 200 });
    expect(pages.length).toBeGreaterThan(1);
    const found = pages.flat();
    const expected = Array.from({ length: COUNT }, (_, n) => n)
      .filter((n) => String((n * 37) % COUNT).startsWith('1'))
      .map((n) => memberId('many', `guest_${n}`));
    expect(found.toSorted()).toEqual(expected.toSorted());
  });
});

describe('a search by role in a team of many admins', () => {
  test.each([
    ['fewer than a search reads', 'few', 3_000],
    ['more than a search reads', 'more', 11_000],
  ])('finds each member once, %s', async (_, team, admins) => {
    // Some wanted ones of each role, at both ends and behind what the first page reads.
    const wanted = [1, 2_500, 3_100, 4_000, 10_500, 10_999, 11_900, 12_000];
    await api.db.pool.query(
      `insert into member (team_id, id, email, role, status, created_at)
       select 'team_' || $1, 'mem_' || n,
         case when n = any ($4) then 'needle' else 'hay' end || n || '@x.test',
         case when n <= $3 then 'admin' else 'member' end, 'invited',
         timestamptz '2026-01-01Z' + n * interval '1 second'
       from generate_series(1, $2::int) n`,
      [team, MANY, admins, wanted],
    );
    const pages = await readPages({ text: 'needle', sort: 'role' }, team);
    const newest = (isAdmin: boolean) => wanted.filter((n) => n <= admins === isAdmin).toReversed();
    const expected = [...newest(true), ...newest(false)].map((n) => `mem_${n}`);
    expect(pages.flat()).toEqual(expected);
  });
});
