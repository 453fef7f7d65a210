// What an API process has counted and logged is in the database after its stop.
// @module-tag never-repeated
import { expect, test } from 'vitest';
import { createCall, startTestApi } from '../support/api.ts';
import { startApiProcess } from '../support/processes.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

test('an API process writes the use of keys and the request log when it stops', async () => {
  const world = await startTestApi({ seed: makeSeed([makeTeam('a')]) });
  const process = await startApiProcess(world.databaseUrl, {});
  const call = createCall(process.url);
  const sent = [
    await call(world.key('team_a'), 'GET', '/me'),
    await call(world.key('team_a'), 'GET', '/users'),
    await call(world.key('team_a'), 'GET', '/user'),
    // This is no use of a key.
    await call('svck_live_wrong_key', 'GET', '/users'),
  ];
  expect(await process.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  const { rows: logged } = await world.db.pool.query('select id from request_log order by id');
  const ids = sent.slice(0, 3).map(({ headers }) => String(headers['x-request-id']));
  expect(logged.map(({ id }) => id)).toEqual(ids.toSorted());
  const { rows: used } = await world.db.pool.query(
    'select sum(count_2xx)::int as fine, sum(count_4xx)::int as refused from api_key_usage',
  );
  expect(used).toEqual([{ fine: 2, refused: 1 }]);
});
