import { expect, test } from 'vitest';
import { createCall, startTestApi } from '../support/api.ts';
import { startApiProcess } from '../support/processes.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { runTrace, traceOf } from '../support/trace.ts';
import { until } from '../support/until.ts';

test('a refused call is told with its limit in the request log, which only operators ask for it', async () => {
  const world = await startTestApi({ seed: makeSeed([makeTeam('a')]) });
  const api = await startApiProcess(world.databaseUrl, { API_KEY_RATE_LIMIT_PER_MIN: '3' });
  const call = createCall(api.url);
  const key = world.key('team_a');
  const refused = await until(async () => {
    const answer = await call(key, 'GET', '/me');
    return answer.status === 429 ? answer : null;
  });
  const id = String(refused.headers['x-request-id']);
  const { requests } = await until(async () => {
    const result = await traceOf(world.db, id);
    return result.found ? result : null;
  });
  expect(requests).toMatchObject([{ status: 429, limited_by: 'key_rate' }]);
  const { output } = await runTrace(world.databaseUrl, id);
  expect(output).toContain('429 rate_limited key_rate');
  // The customer's own log has what it had before.
  const own = await world.call(key, 'GET', `/requests/${id}`);
  expect(own.body).toMatchObject({ id, status: 429, error_code: 'rate_limited' });
  expect(own.text).not.toContain('key_rate');
});
