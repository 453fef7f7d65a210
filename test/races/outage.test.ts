// Postgres goes away under load and comes back. It has a cluster of its own, which the other tests do not need.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startEmbedded } from '../../src/db/embedded.ts';
import { migrate } from '../../src/db/migrate.ts';
import { createCall, loadTestSeed, startApiProcess } from '../support/api.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

const CALLERS = 16;

test('503 at once in the documented form while Postgres is down, full service within 2 s of its return, without a restart', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'outage-'));
  const settings = { fsync: 'off' };
  let postgres = await startEmbedded({ dataDir, settings });
  try {
    await migrate(postgres.databaseUrl);
    const { teams } = await loadTestSeed({ url: postgres.databaseUrl }, makeSeed([makeTeam('a')]));
    const key = teams['team_a']?.api_keys['full'] ?? '';
    const api = await startApiProcess(postgres.databaseUrl);
    const call = createCall(api.url, { connections: CALLERS });

    const seen: { status: number; code: unknown; sentAt: number; ms: number }[] = [];
    let loading = true;
    const callers = Array.from({ length: CALLERS }, async (_, n) => {
      while (loading) {
        const sentAt = performance.now();
        const response =
          n % 2 ? await call(key, 'GET', '/users') : await call(key, 'POST', '/users', { body: { email: 'mem' } });
        seen.push({
          status: response.status,
          code: (response.body as { code?: unknown }).code,
          sentAt,
          ms: performance.now() - sentAt,
        });
        await delay(5);
      }
    });

    await delay(300);
    await postgres.stop();
    const downAt = performance.now();
    await delay(1_500);
    const unready = await fetch(`${api.url}/readyz`);
    const alive = await fetch(`${api.url}/healthz`);
    postgres = await startEmbedded({ dataDir, settings });
    const upAt = performance.now();
    await delay(2_500);
    loading = false;
    await Promise.all(callers);

    expect([unready.status, alive.status]).toEqual([503, 200]);
    const down = seen.filter((call) => call.sentAt > downAt && call.sentAt + call.ms < upAt - 500);
    expect(down.length).toBeGreaterThan(100);
    expect(new Set(down.map((call) => `${call.status} ${String(call.code)}`))).toEqual(new Set(['503 unavailable']));
    expect(Math.max(...down.map((call) => call.ms))).toBeLessThan(1_000);
    const after = seen.filter((call) => call.sentAt > upAt + 2_000);
    expect(after.length).toBeGreaterThan(20);
    expect(new Set(after.map((call) => call.status))).toEqual(new Set([200, 422]));
    expect((await fetch(`${api.url}/readyz`)).status).toBe(200);
    await api.kill('SIGTERM');
  } finally {
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  }
});
