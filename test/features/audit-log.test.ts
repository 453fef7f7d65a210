// The audit log in the app, over the real tRPC API.
import { beforeAll, describe, expect, test } from 'vitest';
import { PAGE_MAX_BYTES } from '../../src/core/page.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsMember, codeOf } from '../support/app.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

let api: TestApi;
let app: Awaited<ReturnType<typeof appAsMember>>;

beforeAll(async () => {
  api = await startTestApi({
    seed: makeSeed([makeTeam('a'), makeTeam('b'), makeTeam('large')]),
  });
  app = await appAsMember(api, 'a', 'owner');
  // Three entries share each time, so that only the id decides their order.
  for (const team of ['a', 'b'])
    await api.db.pool.query(
      `insert into audit_log
         (team_id, id, created_at, actor_kind, actor_id, action, target_id, request_id, details)
       select 'team_' || $1, $1 || lpad(n::text, 3, '0'),
         timestamptz '2026-10-01T00:00:00Z' + (n / 3) * interval '1 hour',
         (array['api_key', 'user', 'platform', 'system'])[n % 4 + 1], 'actor_' || n % 4,
         (array['member.invited', 'case.created'])[n % 2 + 1], 'target_' || n % 5,
         'req', '{"n": 1}'
       from generate_series(0, 99) n`,
      [team],
    );
  // As many ids as a change of what is released may have.
  await api.db.pool.query(
    `insert into audit_log
       (team_id, id, created_at, actor_kind, actor_id, action, target_id, request_id, details)
     select 'team_large', 'l' || n, timestamptz '2026-10-01T00:00:00Z' + n * interval '1 hour',
       'user', 'actor_0', 'team.release_changed', 'large', 'req',
       jsonb_build_object('added', (
         select jsonb_agg(md5(n || ' ' || i)) from generate_series(1, 1000) i
       ))
     from generate_series(10, 29) n`,
  );
});

const list = (input: Parameters<typeof app.admin.auditLog.list.query>[0] = {}) =>
  app.admin.auditLog.list.query({ limit: 200, ...input });
const ids = async (input: Parameters<typeof list>[0]) =>
  (await list(input)).data.map(({ id }) => id);
const numbers = (fits: (n: number) => boolean) =>
  Array.from({ length: 100 }, (_, n) => n)
    .filter(fits)
    .toReversed()
    .map((n) => `a${String(n).padStart(3, '0')}`);

describe('the list', () => {
  test("shows the team's own entries, newest first, each with its actor", async () => {
    const { data, next_cursor } = await list();
    expect(data.map(({ id }) => id)).toEqual(numbers(() => true));
    expect(next_cursor).toBeNull();
    expect(data.at(-1)).toEqual({
      id: 'a000',
      created_at: '2026-10-01T00:00:00.000Z',
      actor: { kind: 'api_key', id: 'actor_0' },
      action: 'member.invited',
      target_id: 'target_0',
      request_id: 'req',
      details: { n: 1 },
    });
  });

  test('filters by actor, action, target and time, alone and together', async () => {
    expect(await ids({ actor_kind: 'system' })).toEqual(numbers((n) => n % 4 === 3));
    expect(await ids({ actor_id: 'actor_1' })).toEqual(numbers((n) => n % 4 === 1));
    expect(await ids({ action: 'case.created' })).toEqual(numbers((n) => n % 2 === 1));
    expect(await ids({ target_id: 'target_2' })).toEqual(numbers((n) => n % 5 === 2));
    const range = { since: '2026-10-01T05:00:00+02:00', until: '2026-10-01T10:00:00Z' };
    expect(await ids(range)).toEqual(numbers((n) => n >= 9 && n < 30));
    expect(await ids({ ...range, action: 'case.created', target_id: 'target_2' })).toEqual(
      numbers((n) => n >= 9 && n < 30 && n % 2 === 1 && n % 5 === 2),
    );
    expect(await ids({ actor_id: 'nobody' })).toEqual([]);
  });

  test('pages go on within times of any zone', async () => {
    const seen: string[] = [];
    const times = { since: '2026-10-01T05:00:00+02:00', until: '2026-10-01T05:00:00-05:00' };
    for (let cursor: string | undefined; seen.length < 50;) {
      const { data, next_cursor } = await list({ ...times, limit: 7, cursor });
      seen.push(...data.map(({ id }) => id));
      if (next_cursor === null) break;
      cursor = next_cursor;
    }
    expect(seen).toEqual(numbers((n) => n >= 9 && n < 30));
  });

  test.each([
    ['without a filter', {}],
    ['with one', { action: 'team.release_changed' }],
    ['with two', { action: 'team.release_changed', target_id: 'large' }],
  ])('pages end before they are too large: %s', async (_what, filters) => {
    const large = await appAsMember(api, 'large', 'owner');
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await large.admin.auditLog.list.query({ limit: 200, cursor, ...filters });
      expect(JSON.stringify(page).length).toBeLessThan(1.2 * PAGE_MAX_BYTES);
      expect(page.data.length).toBeGreaterThan(3);
      seen.push(...page.data.map(({ id }) => id));
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
    expect(seen).toEqual(Array.from({ length: 20 }, (_, n) => `l${29 - n}`));
  });

  test('pages neither repeat nor skip an entry while others are written and removed', async () => {
    const seen: string[] = [];
    let cursor: string | undefined;
    for (let page = 0; ; page += 1) {
      const { data, next_cursor } = await list({ limit: 7, cursor, target_id: 'target_3' });
      seen.push(...data.map(({ id }) => id));
      await api.db.pool.query(
        `insert into audit_log
           (team_id, id, created_at, actor_kind, actor_id, action, target_id, request_id)
         values ('team_a', $1, now(), 'user', 'x', 'x', 'target_3', 'x')`,
        [`new${page}`],
      );
      // Delete an entry that was shown: the one at which the cursor points.
      await api.db.pool.query(`delete from audit_log where id = $1`, [data.at(-1)?.id]);
      if (next_cursor === null) break;
      cursor = next_cursor;
    }
    expect(seen).toEqual(numbers((n) => n % 5 === 3));
  });

  test('refuses the cursor of another list, and members who are not admins', async () => {
    const { next_cursor } = await app.v1.members.list.query({ limit: 1 });
    expect(await codeOf(list({ cursor: next_cursor ?? '' }))).toBe('validation_error');
    const member = await appAsMember(api, 'a', 'member');
    expect(await codeOf(member.admin.auditLog.list.query({}))).toBe('forbidden');
  });

  test('shows a new entry at once, with its actor and the id of its request', async () => {
    const created = await api.call(api.key('team_a'), 'POST', '/users', {
      body: { email: 'new@a.test' },
    });
    const { id } = created.body as { id: string };
    const { data } = await list({ target_id: id });
    expect(data).toMatchObject([
      {
        action: 'member.invited',
        actor: { kind: 'api_key' },
        request_id: created.headers['x-request-id'],
        details: { role: 'member' },
      },
    ]);
  });
});
