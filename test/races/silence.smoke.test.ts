// Postgres falls silent under load: its host is lost, and nothing closes the connections.
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createCall, loadTestSeed, startTestApi } from '../support/api.ts';
import { startApiProcess } from '../support/processes.ts';
import { createTestDatabase } from '../support/database.ts';
import { startPostgresProxy } from '../support/postgres-proxy.ts';
import { openSandbox } from '../support/sandbox.ts';
import { makeFullTeam, makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

/** So long new requests keep arriving. Longer than a request may take. */
const TRAFFIC_MS = 9_000;
/** Five seconds, a tick of half a second, and some more. */
const LATEST_MS = 7_500;
/** Two seconds, and some more. A look at a silent database takes five. */
const READY_LATEST_MS = 4_000;
/** How many times what the simplest request takes, which asks no database, the others may add. */
const BUSY = 10;

const slowestOf = (outcomes: readonly { readonly ms: number }[]): number =>
  Math.max(...outcomes.map(({ ms }) => ms));

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
  // For a tenth of a second, a look of before the silence is shared.
  await delay(200);
  const silentAt = performance.now();
  const seen: Promise<{ status: number; ms: number }>[] = [];
  const probes: typeof seen = [];
  const simplest: typeof seen = [];
  const watch = async (sent: Promise<{ status: number }>) => {
    const sentAt = performance.now();
    return { status: (await sent).status, ms: performance.now() - sentAt };
  };
  let isOver = false;
  const askSimplest = async (): Promise<void> => {
    while (!isOver) {
      simplest.push(watch(fetch(`${api.url}/healthz`)));
      await delay(100);
    }
  };
  const asking = askSimplest();
  while (performance.now() - silentAt < TRAFFIC_MS) {
    seen.push(watch(call(key, 'GET', '/users')));
    probes.push(watch(readyz()));
    seen.push(watch(call(key, 'POST', '/users', { body: { email: `n${seen.length}@a.test` } })));
    await delay(100);
  }
  const responses = await Promise.all(seen);
  const looks = await Promise.all(probes);
  isOver = true;
  await asking;
  const alive = await Promise.all(simplest);
  /** What the machine adds, because it is busy with other tests. */
  const addedMs = BUSY * slowestOf(alive);
  expect(new Set(alive.map(({ status }) => status))).toEqual(new Set([200]));
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([503]));
  expect(slowestOf(responses)).toBeLessThan(LATEST_MS + addedMs);
  expect(new Set(looks.map(({ status }) => status))).toEqual(new Set([503]));
  expect(slowestOf(looks)).toBeLessThan(READY_LATEST_MS + addedMs);

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
