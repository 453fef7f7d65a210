// The orders in which the admin page reads the members of a team.
import { beforeAll, describe, expect, test } from 'vitest';
import { SORTS, type Sort } from '../../src/features/members/rules.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember, codeOf } from '../support/app.ts';
import { createOddDatabase } from '../support/odd-database.ts';
import { makeMember, makeSeed, makeTeam, memberId } from '../support/seed.ts';

const COUNT = 60;

let api: TestApi;
beforeAll(async () => {
  const guests = (team: string) =>
    Array.from({ length: COUNT }, (_, n) =>
      makeMember(team, `guest_${n}`, {
        // Capitals and small letters in turn, and no order of their own.
        email: `${n % 2 ? 'ÜI' : 'üi'}.${(n * 37) % COUNT}@${team}.test`,
        role: n % 7 === 0 ? 'admin' : 'member',
        status: n % 5 === 0 ? 'invited' : 'active',
      }),
    );
  api = await startTestApi({
    // In its locale I is no capital i.
    database: await createOddDatabase(),
    seed: makeSeed([
      ...['a', 'other'].map((name) => makeTeam(name, { members: guests(name) })),
      makeTeam('hidden', {
        members: guests('hidden'),
        privacy: { member_detail_enabled: false },
      }),
    ]),
  });
  // Several have joined at the same time, in no order of their ids or of their creation.
  await api.db.pool.query(
    `update member
     set joined_at = case
       when status = 'active'
       then (timestamp '2026-03-01' + (ascii(right(id, 1)) * 7 % 9) * interval '1 day')
         at time zone 'UTC'
     end,
     created_at = (timestamp '2026-02-01' + (ascii(right(id, 1)) % 4) * interval '1 hour')
       at time zone 'UTC'`,
  );
});

type Input = Parameters<
  Awaited<ReturnType<typeof appAsMember>>['admin']['members']['search']['query']
>[0];

async function page(input: Input, team = 'a') {
  const app = await appAsMember(api, team, 'admin');
  return app.admin.members.search.query(input);
}

/** Reads all pages. */
async function readAll(input: Input, team = 'a') {
  const rows: Awaited<ReturnType<typeof page>>['data'] = [];
  let cursor: string | undefined;
  do {
    const { data, next_cursor } = await page({ ...input, cursor }, team);
    rows.push(...data);
    cursor = next_cursor ?? undefined;
  } while (cursor !== undefined);
  return rows;
}

type Row = Awaited<ReturnType<typeof readAll>>[number];

const RANKS = ['owner', 'admin', 'member'];
const joining = ({ joined_at }: Row): string => joined_at ?? '9999';
const byText = (a: string, b: string): number => (a < b ? -1 : Number(a > b));

const address = ({ email }: Row): string => email?.toLowerCase() ?? '';

/** The order by what a row shows. What has no order stays as it is. */
const ORDERS: Record<Exclude<Sort, 'newest'>, (a: Row, b: Row) => number> = {
  address: (a, b) => byText(address(a), address(b)),
  role: (a, b) => RANKS.indexOf(a.role) - RANKS.indexOf(b.role),
  joined: (a, b) => byText(joining(b), joining(a)),
  joined_first: (a, b) => byText(joining(a), joining(b)),
};
const SORTED = Object.keys(ORDERS) as (keyof typeof ORDERS)[];

test('an address is one in any case', async () => {
  const email = 'üI.1@A.test';
  const path = `/users?email=${encodeURIComponent(email)}`;
  const key = api.key('team_a');
  expect(await api.call(key, 'POST', '/users', { body: { email } })).toMatchObject({ status: 409 });
  const { body } = await api.call(key, 'GET', path);
  expect(body).toMatchObject({ data: [{ email: 'ÜI.1@a.test' }] });
});

describe.each(SORTED)('by %s', (sort) => {
  test.each([3, 7, 200])('each member stands once in the order, %i to a page', async (limit) => {
    const rows = await readAll({ sort, limit });
    const all = await readAll({ limit: 200 });
    expect(rows).toHaveLength(all.length);
    expect(new Set(rows.map(({ id }) => id))).toEqual(new Set(all.map(({ id }) => id)));
    expect(rows.map(({ id }) => id)).toEqual(rows.toSorted(ORDERS[sort]).map(({ id }) => id));
    expect(await readAll({ sort, limit: 13 })).toEqual(rows);
  });

  test('filters keep the order', async () => {
    const all = await readAll({ sort, limit: 200 });
    const wanted = all.filter(
      ({ email, role, status }) =>
        email?.toLowerCase().includes('üi.3') && role === 'member' && status === 'active',
    );
    expect(wanted.length).toBeGreaterThan(3);
    const asked = { text: 'ÜI.3', role: 'member', status: 'active', limit: 2, sort } as const;
    expect(await readAll(asked)).toEqual(wanted);
  });

  test('a cursor is for that order alone', async () => {
    const { next_cursor } = await page({ sort, limit: 3 });
    const cursor = next_cursor ?? '';
    for (const other of SORTS.filter((one) => one !== sort))
      expect(await codeOf(page({ sort: other, cursor }))).toBe('validation_error');
  });

  test('whoever leaves between two pages makes none repeat or skip another', async () => {
    const all = await readAll({ sort, limit: 200 }, 'other');
    // A page that ends with a member whom the cursor names, and who can be removed.
    const reader = memberId('other', 'admin');
    const mayGo = ({ id, role, status }: (typeof all)[number]) =>
      id !== reader && role !== 'owner' && status === 'active';
    const end = all.findIndex(mayGo) + 1;
    const first = await page({ sort, limit: end }, 'other');
    const owner = await appAsMember(api, 'other', 'owner');
    await owner.v1.members.remove.mutate({ member_id: first.data.at(-1)?.id ?? '' });
    const cursor = first.next_cursor ?? '';
    const next = await page({ sort, limit: 200, cursor }, 'other');
    expect(next.data).toEqual(all.slice(end));
  });
});

test('admins come before members by role, the newest of each first', async () => {
  const rows = await readAll({ sort: 'role', limit: 4 });
  const newest = await readAll({ limit: 200 });
  const of = (role: string) => newest.filter((one) => one.role === role);
  expect(rows).toEqual([...of('owner'), ...of('admin'), ...of('member')]);
});

test('the invited join after all others', async () => {
  const latest = await readAll({ sort: 'joined', limit: 9 });
  const earliest = await readAll({ sort: 'joined_first', limit: 9 });
  expect(earliest).toEqual(latest.toReversed());
  const invited = latest.filter(({ status }) => status === 'invited').length;
  expect(invited).toBeGreaterThan(9);
  expect(latest.slice(0, invited).every(({ status }) => status === 'invited')).toBe(true);
});

describe('the order by address', () => {
  test('is refused while addresses are withheld; the others are not', async () => {
    for (const sort of SORTS)
      expect(await codeOf(page({ sort }, 'hidden'))).toBe(
        sort === 'address' ? 'privacy_restricted' : 'ok',
      );
  });

  test('has no address in its cursors', async () => {
    const { data, next_cursor } = await page({ sort: 'address', limit: 3 });
    const text = Buffer.from(next_cursor ?? '', 'base64url').toString();
    expect(text).toContain(data[2]?.id);
    expect(text).not.toContain('@');
  });

  test('goes on after a member who has left, and not once their address is erased', async () => {
    const { data, next_cursor } = await page({ sort: 'address', limit: 3 });
    const last = data[2]?.id ?? '';
    const cursor = next_cursor ?? '';
    const next = await page({ sort: 'address', limit: 3, cursor });
    const { pool } = api.db;
    await pool.query(
      `update member set status = 'ended', ended_at = now() where team_id = 'team_a' and id = $1`,
      [last],
    );
    expect(await page({ sort: 'address', limit: 3, cursor })).toEqual(next);
    await pool.query(`update member set email = null where team_id = 'team_a' and id = $1`, [last]);
    await expect(page({ sort: 'address', cursor })).rejects.toMatchObject({
      data: { problem: { code: 'validation_error', field: 'cursor' } },
    });
  });
});
