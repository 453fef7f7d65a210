// The past of the demo team: what its keys and webhooks have been through until now.
import { expect, test } from 'vitest';
import { demoCalls, DEMO_KEYS } from '../../src/seed/demo-calls.ts';
import { writeDemoPast } from '../../src/seed/demo-past-store.ts';
import { demoSeedFile } from '../../src/seed/demo.ts';
import { startTestApi } from '../support/api.ts';
import { appAs, tokenOf } from '../support/app.ts';

const IDS = new Map(DEMO_KEYS.map(({ name }) => [name, `key_${name}`]));
const DAY_MS = 86_400_000;

test.each(['2026-11-25T00:00:00.000Z', '2026-11-29T23:59:59.999Z', '2027-01-01T12:00:00.000Z'])(
  'is the same each time, and ends at %s',
  (text) => {
    const now = new Date(text);
    const past = demoCalls(now, IDS);
    expect(demoCalls(now, IDS)).toEqual(past);
    const times = past.requests.map(({ created_at: at }) => String(at));
    expect(times.filter((at) => at >= now.toISOString())).toEqual([]);
    const ids = new Set(past.requests.map(({ id }) => id));
    expect(ids.size).toBe(times.length);
    const days = new Set(past.usage.map(({ day }) => day));
    expect(days.size).toBeGreaterThanOrEqual(28);
  },
);

test('is shown to the admins of the demo team as any other', async () => {
  const now = new Date();
  const api = await startTestApi({ seed: demoSeedFile(now) });
  await writeDemoPast(api.databaseUrl, now);
  const identity = { kind: 'user', userId: 'usr_1', teamId: 'team_demo' } as const;
  const app = appAs(api, await tokenOf(identity));
  const { data: days } = await app.admin.usage.daily.query({
    since: new Date(now.getTime() - 29 * DAY_MS).toISOString().slice(0, 10),
  });
  expect(days.length).toBeGreaterThanOrEqual(28);
  const { data: refused } = await app.admin.requests.list.query({ status_class: 'errors' });
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([403, 404, 422, 429]));
  const { rows: limited } = await api.db.pool.query(
    'select distinct status, limited_by from request_log where limited_by is not null',
  );
  expect(limited).toEqual([{ status: 429, limited_by: 'key_rate' }]);
  const { data: keys } = await app.admin.apiKeys.list.query({});
  expect(keys.filter(({ last_used_at: at }) => at !== null)).toHaveLength(DEMO_KEYS.length - 1);
  const { data: health } = await app.admin.deliveries.health.query({});
  const outcomes = health.map(({ arrived }) => new Set(arrived).size);
  expect(outcomes).toEqual([2, 2]);
  const { data: found } = await app.admin.deliveries.list.query({ status: 'ok', limit: 200 });
  expect(found.some(({ attempt }) => attempt > 1)).toBe(true);
});
