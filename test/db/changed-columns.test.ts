// A migration changes what statements return while a process runs, whose statements are prepared.
import { beforeEach, expect, test } from 'vitest';
import { startTestApi, type TestApi } from '../support/api.ts';
import { makeFullTeam, makeSeed } from '../support/seed.ts';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi({ seed: makeSeed([makeFullTeam('a')]) });
});

const get = async (path: string) => api.call(api.key('team_a'), 'GET', path);
const statuses = async (path: string, times: number): Promise<number[]> => {
  const found: number[] = [];
  for (let count = 0; count < times; count += 1) found.push((await get(path)).status);
  return found;
};

test('a function returns one more column, in the middle: nobody notices', async () => {
  const before = await get('/me');
  expect(await statuses('/cases', 10)).toEqual(Array.from({ length: 10 }, () => 200));
  const { rows } = await api.db.pool.query<{ name: string; definition: string }>(
    `select oid::regprocedure::text as name, pg_get_functiondef(oid) as definition
     from pg_proc
     where proname = 'authenticate_api_key'`,
  );
  for (const { name, definition } of rows) {
    const added = definition.replace(' OUT team_id text', ' OUT added text, OUT team_id text');
    expect(added).not.toBe(definition);
    await api.db.pool.query(`drop function ${name}; ${added}`);
  }
  expect(rows).toHaveLength(1);
  expect((await get('/me')).body).toEqual(before.body);
  expect(await statuses('/cases', 10)).toEqual(Array.from({ length: 10 }, () => 200));
});

test('a table has one more column: nobody notices', async () => {
  const { body } = await get('/cases');
  await api.db.pool.query(`alter table training_case add column added text default 'added'`);
  expect((await get('/cases')).body).toEqual(body);
  expect((await get('/cases')).status).toBe(200);
});

test('a column has another type: one request is told to come back, and no other', async () => {
  const { body } = await get('/cases');
  expect(await statuses('/cases', 20)).toEqual(Array.from({ length: 20 }, () => 200));
  await api.db.pool.query('alter table training_case alter column title type varchar(1000)');
  const refused = await get('/cases');
  expect([refused.status, refused.body?.code]).toEqual([503, 'unavailable']);
  expect(refused.headers).toHaveProperty('retry-after');
  expect(await statuses('/cases', 20)).toEqual(Array.from({ length: 20 }, () => 200));
  expect((await get('/cases')).body).toEqual(body);
});
