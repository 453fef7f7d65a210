// The removal of old calls, also after hours or days in which it did not run.
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { slotOf } from '../../src/features/requests/rules.ts';
import { removeOldRequests } from '../../src/features/requests/service.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const DAY_MS = 86_400_000;
const FIRST = Date.UTC(2026, 10, 1, 12);

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([makeTeam('a'), makeTeam('b')]) });
});
beforeEach(async () => {
  await api.db.pool.query('truncate request_log');
});

/** Noon of a day, counted from the first one. */
const noonOf = (day: number): Date => new Date(FIRST + day * DAY_MS);

/** Adds so many calls of each team, a millisecond after one another. */
const addCalls = async (at: Date, count = 1): Promise<void> => {
  await api.db.pool.query(
    `insert into request_log
       (team_id, slot, id, created_at, key_id, method, route, status, duration_ms)
     select team, $1, $2::text || '-' || n, $2::timestamptz + n * interval '1 millisecond', 'key_x',
       'GET', '/users', 200, 1
     from generate_series(1, $3::int) n, unnest(array['team_a', 'team_b']) team`,
    [slotOf(at), at.toISOString(), count],
  );
};

const daysLeft = async (): Promise<number[]> => {
  const { rows } = await api.db.pool.query<{ day: number }>(
    `select distinct floor(extract(epoch from created_at - $1) / 86400)::int as day
     from request_log
     order by day`,
    [noonOf(0)],
  );
  return rows.map(({ day }) => day);
};

const from = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, n) => first + n);

test.each([1, 2, 3, 9, 10, 25])(
  'after %i days without a removal, no call is older than those that are kept',
  async (missed) => {
    const next = 8 + missed;
    for (const day of from(0, next)) {
      await addCalls(noonOf(day));
      if (day < 8 || day === next) await removeOldRequests(api.db, noonOf(day));
    }
    expect(await daysLeft()).toEqual(from(next - 7, next));
  },
);

test('the calls of a process whose clock is ahead stay in the partition of tomorrow', async () => {
  for (const day of from(2, 11)) await addCalls(noonOf(day));
  await removeOldRequests(api.db, noonOf(10));
  expect(await daysLeft()).toEqual(from(3, 11));
});

test('old calls among those of today go in batches, and no other', async () => {
  await addCalls(noonOf(0), 1_200);
  await addCalls(noonOf(10), 3);
  await removeOldRequests(api.db, noonOf(10));
  expect(await daysLeft()).toEqual([10]);
  const { rows } = await api.db.pool.query(
    'select team_id, count(*)::int from request_log group by team_id order by team_id',
  );
  expect(rows).toEqual([
    { team_id: 'team_a', count: 3 },
    { team_id: 'team_b', count: 3 },
  ]);
});

test('with fewer days, a missed removal is made up for as well', async () => {
  for (const day of from(0, 12)) await addCalls(noonOf(day));
  await removeOldRequests(api.db, noonOf(12), 2);
  expect(await daysLeft()).toEqual(from(10, 12));
});
