// Postgres stops under load and starts again. The test has its own cluster, so that it does not
// affect other tests.
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { migrate } from '../../src/db/operator/migrate.ts';
import { startEmbedded } from '../../src/embedded-postgres/embedded-postgres.ts';
import { createCall, loadTestSeed } from '../support/api.ts';
import { startApiProcess } from '../support/processes.ts';
import { makeDataDir } from '../support/ports.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { until } from '../support/until.ts';

const CALLERS = 16;
/** Only a test that hangs takes longer. */
const LIMIT = { timeout: 180_000 };
/** Two seconds, ten times as long on a machine that is busy with other tests. */
const RECOVERY_MS = 20_000;
/** A call that waited for a connection would take two seconds, and for an answer five. */
const AT_ONCE_MS = 1_900;
const DOWN_CALLS = 300;
/**
 * Calls at once. Were these answers refusals, 100 would be sent, 200 would wait, and the others
 * would end their connection (`src/http/throttle.ts`).
 */
const FLOOD = 500;

test(
  'responds with 503 at once while Postgres is down, and recovers without a restart',
  LIMIT,
  async () => {
    const dataDir = await makeDataDir('outage');
    const settings = { fsync: 'off' };
    let postgres = await startEmbedded({ dataDir, settings });
    try {
      await migrate(postgres.databaseUrl);
      const { teams } = await loadTestSeed(
        { url: postgres.databaseUrl },
        makeSeed([makeTeam('a')]),
      );
      const key = teams['team_a']?.api_keys['full'] ?? '';
      const api = await startApiProcess(postgres.databaseUrl);
      const call = createCall(api.url, { connections: CALLERS });

      const seen: { status: number; code: unknown; sentAt: number; ms: number }[] = [];
      let loading = true;
      const callers = Array.from({ length: CALLERS }, async (_, n) => {
        while (loading) {
          const sentAt = performance.now();
          const response =
            n % 2
              ? await call(key, 'GET', '/users')
              : await call(key, 'POST', '/users', { body: { email: 'mem' } });
          seen.push({
            status: response.status,
            code: (response.body as { code?: unknown }).code,
            sentAt,
            ms: performance.now() - sentAt,
          });
          await delay(5);
        }
      });

      await until(() => seen.length > 100);
      await postgres.stop();
      const downAt = performance.now();
      const down = () => seen.filter((call) => call.sentAt > downAt);
      await until(() => down().length > DOWN_CALLS);
      const flood = createCall(api.url, { connections: FLOOD });
      const flooded = await Promise.all(
        Array.from({ length: FLOOD }, async () => {
          const { status, headers } = await flood(key, 'GET', '/users');
          return `${status} ${String(headers['connection'])}`;
        }),
      );
      const unready = await fetch(`${api.url}/readyz`);
      const alive = await fetch(`${api.url}/healthz`);
      const refused = down();
      postgres = await startEmbedded({ dataDir, settings });
      const upAt = performance.now();
      // Those sent after the last one that is refused. One from before may be refused late.
      const served = () => {
        const refusedAt = seen.filter(({ status }) => status === 503).map(({ sentAt }) => sentAt);
        const last = Math.max(...refusedAt);
        return seen.filter(({ sentAt }) => sentAt > last);
      };
      const countServed = (wanted: number) =>
        served().filter(({ status }) => status === wanted).length;
      await until(() => countServed(200) > 50 && countServed(422) > 50);
      loading = false;
      await Promise.all(callers);

      expect([unready.status, alive.status]).toEqual([503, 200]);
      expect(new Set(refused.map((call) => `${call.status} ${String(call.code)}`))).toEqual(
        new Set(['503 unavailable']),
      );
      const waits = refused.map((call) => call.ms).toSorted((a, b) => a - b);
      expect(waits[waits.length >> 1]).toBeLessThan(AT_ONCE_MS);
      expect(new Set(flooded)).toEqual(new Set(['503 keep-alive']));
      expect(new Set(served().map((call) => call.status))).toEqual(new Set([200, 422]));
      const servedAt = Math.min(...served().map(({ sentAt }) => sentAt));
      expect(servedAt - upAt).toBeLessThan(RECOVERY_MS);
      expect((await fetch(`${api.url}/readyz`)).status).toBe(200);
      await api.kill('SIGTERM');
    } finally {
      await postgres.stop();
    }
  },
);
