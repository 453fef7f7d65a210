// Two API processes behind a load balancer that repeats nothing are restarted, one after the other,
// and no client notices.
import { Client } from 'undici';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadTestSeed, startApiProcess } from '../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { findFreePort } from '../support/ports.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';
import { isInstalled, startHaproxy, startNginx } from './balancers.ts';

/** Many times what the balancers need to notice, for a machine that is busy. */
const DRAIN_DELAY_MS = '4000';
const REQUESTS = 1500;
const CLIENTS = 8;

let database: TestDatabase;
let key: string;
beforeAll(async () => {
  database = await createTestDatabase();
  const { teams } = await loadTestSeed(database, makeSeed([makeTeam('a')]));
  key = teams['team_a']?.api_keys['full'] ?? '';
});
afterAll(() => database.drop());

type Api = Awaited<ReturnType<typeof startApiProcess>>;

function startApi(port: number): Promise<Api> {
  const env = { PORT: String(port), DRAIN_DELAY_MS, LOG_LEVEL: 'info' };
  return startApiProcess(database.url, env);
}

/** Restarts the process. Resolves when the new one gets requests through the balancer. */
async function restart(api: Api, port: number): Promise<Api> {
  expect(await api.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  const next = await startApi(port);
  await until(() => next.output().includes('"msg":"request"'));
  return next;
}

/**
 * Sends a request, each on a connection of its own: a balancer that reloads its configuration
 * closes the idle connections of its clients, whatever is behind it.
 */
async function ask(url: string, isRead: boolean): Promise<string> {
  const client = new Client(url);
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const path = '/api/public/v1';
  try {
    const { statusCode, body } = isRead
      ? await client.request({ path: `${path}/me`, method: 'GET', headers })
      : await client.request({
          path: `${path}/cases/unknown`,
          method: 'PATCH',
          headers,
          body: '{"title":"x"}',
        });
    await body.text();
    return `${isRead ? 'GET' : 'PATCH'} ${statusCode}`;
  } catch (error) {
    return String(error);
  } finally {
    await client.destroy();
  }
}

/** Sends requests until `stop` is called, and at least `REQUESTS`. Resolves with the outcomes. */
function startClients(url: string): { stop(): Promise<ReadonlyMap<string, number>> } {
  const outcomes = new Map<string, number>();
  let sent = 0;
  let isStopping = false;
  const send = async (): Promise<void> => {
    while (!isStopping || sent < REQUESTS) {
      sent += 1;
      const outcome = await ask(url, sent % 2 === 0);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  };
  const sending = Array.from({ length: CLIENTS }, send);
  return {
    stop: async () => {
      isStopping = true;
      await Promise.all(sending);
      return outcomes;
    },
  };
}

test.for([
  ['nginx', startNginx],
  ['haproxy', startHaproxy],
] as const)('a rolling restart behind %s loses no request', async ([program, start], context) => {
  if (!(await isInstalled(program))) return context.skip(`${program} is not installed`);
  const ports = [await findFreePort(), await findFreePort()] as const;
  let apis = [await startApi(ports[0]), await startApi(ports[1])] as const;
  const { url } = await start(ports);
  const clients = startClients(url);
  for (const api of apis) await until(() => api.output().includes('"msg":"request"'));
  apis = [await restart(apis[0], ports[0]), apis[1]];
  apis = [apis[0], await restart(apis[1], ports[1])];
  const outcomes = await clients.stop();
  expect([...outcomes.keys()].toSorted()).toEqual(['GET 200', 'PATCH 404']);
  const answered = [...outcomes.values()].reduce((sum, count) => sum + count, 0);
  expect(answered).toBeGreaterThanOrEqual(REQUESTS);
  for (const api of apis) await api.kill('SIGKILL');
});
