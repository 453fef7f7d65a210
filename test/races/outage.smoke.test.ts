// Postgres stops under load and starts again. The test has its own cluster, so that it does not
// affect other tests.
// @module-tag never-repeated
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

      const all = async (): Promise<Set<string>> => {
        const responses = await Promise.all(
          Array.from({ length: CALLERS }, (_, n) =>
            n % 2
              ? call(key, 'GET', '/users')
              : call(key, 'POST', '/users', { body: { email: 'mem' } }),
          ),
        );
        const codeOf = (body: unknown): unknown => (body as { code?: unknown }).code;
        return new Set(responses.map(({ status, body }) => `${status} ${String(codeOf(body))}`));
      };
      const served = new Set(['200 undefined', '422 validation_error']);
      expect(await all()).toEqual(served);

      await postgres.stop();
      for (let round = 0; round < 10; round += 1)
        expect(await all()).toEqual(new Set(['503 unavailable']));
      const flood = createCall(api.url, { connections: FLOOD });
      const flooded = await Promise.all(
        Array.from({ length: FLOOD }, async () => {
          const { status, headers } = await flood(key, 'GET', '/users');
          return `${status} ${String(headers['connection'])}`;
        }),
      );
      expect(new Set(flooded)).toEqual(new Set(['503 keep-alive']));
      const ready = async (): Promise<number> => (await fetch(`${api.url}/readyz`)).status;
      expect([await ready(), (await fetch(`${api.url}/healthz`)).status]).toEqual([503, 200]);

      postgres = await startEmbedded({ dataDir, settings });
      await until(async () => (await ready()) === 200);
      await until(async () => (await call(key, 'GET', '/users')).status === 200);
      expect(await all()).toEqual(served);
      await api.kill('SIGTERM');
    } finally {
      await postgres.stop();
    }
  },
);
