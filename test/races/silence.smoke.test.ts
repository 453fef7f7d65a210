// Postgres falls silent under load: its host is lost, and nothing closes the connections.
// @module-tag never-repeated
import { expect, onTestFinished, test } from 'vitest';
import { createCall, loadTestSeed, startTestApi } from '../support/api.ts';
import { startApiProcess } from '../support/processes.ts';
import { createTestDatabase } from '../support/database.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { openSandbox } from '../support/sandbox.ts';
import { makeFullTeam, makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

test('responds with 503 in time while Postgres is silent, and recovers', async () => {
  const database = await createTestDatabase();
  onTestFinished(() => database.drop());
  const { teams } = await loadTestSeed(database, makeSeed([makeTeam('a')]));
  const key = teams['team_a']?.api_keys['full'] ?? '';
  const proxy = await startPostgresProxy(database.url);
  onTestFinished(() => proxy.stop());
  const api = await startApiProcess(proxy.url);
  const call = createCall(api.url, { connections: 300 });
  const readyz = (): Promise<Response> => fetch(`${api.url}/readyz`);
  expect((await call(key, 'GET', '/users')).status).toBe(200);

  proxy.fallSilent();
  // A look of just before the silence is shared for a tenth of a second.
  await until(async () => (await readyz()).status === 503);
  let waiting = 0;
  const watch = async (sent: Promise<{ status: number }>): Promise<number> => {
    waiting += 1;
    const { status } = await sent;
    waiting -= 1;
    return status;
  };
  const seen = Array.from({ length: 40 }, (_, n) =>
    watch(
      n % 2 === 0
        ? call(key, 'GET', '/users')
        : call(key, 'POST', '/users', { body: { email: `n${n}@a.test` } }),
    ),
  );
  // Neither waits for those that wait for the database.
  expect((await fetch(`${api.url}/healthz`)).status).toBe(200);
  expect((await readyz()).status).toBe(503);
  expect(waiting).toBeGreaterThan(0);
  expect(new Set(await Promise.all(seen))).toEqual(new Set([503]));

  proxy.recover();
  await until(async () => (await readyz()).status === 200);
  expect((await call(key, 'GET', '/users')).status).toBe(200);
  await api.kill('SIGTERM');
});

test('a play of the rate limit that is cut off at its end locks no counter', async () => {
  const api = await startTestApi({ seed: makeSeed([makeFullTeam('a')]) });
  const testKey = await openSandbox(api, 'a');
  expect((await api.call(testKey, 'GET', '/me')).status).toBe(200);
  const proxy = await startPostgresProxy(api.databaseUrl);
  onTestFinished(() => proxy.stop());
  const cutOff = await startApiProcess(proxy.url);
  const silent = proxy.fallSilentAt('COMMIT');
  const body = { play: 'rate_limit_nearly_reached' };
  const headers = { 'Idempotency-Key': 'once' };
  const played = createCall(cutOff.url)(testKey, 'POST', '/sandbox/simulate', { body, headers });
  await silent;
  const { rows } = await api.db.pool.query(
    `select bucket
     from team_counter
     where team_id = 'team_a:sandbox' and bucket = 'keys'
     for update skip locked`,
  );
  proxy.recover();
  expect((await played).status).toBe(503);
  expect(rows).toEqual([{ bucket: 'keys' }]);
  await cutOff.kill('SIGTERM');
});
