// The past of the demo team, as its admins see it.
import { beforeAll, expect, test } from 'vitest';
import { writeDemoPast } from '../../src/seed/demo-past-store.ts';
import { demoSeedFile } from '../../src/seed/demo.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAs, tokenOf } from '../support/app.ts';

const DAY_MS = 86_400_000;

let api: TestApi;
let app: ReturnType<typeof appAs>;
const now = new Date();
beforeAll(async () => {
  api = await startTestApi({ seed: demoSeedFile(now) });
  await writeDemoPast(api.databaseUrl, now);
  app = appAs(api, await tokenOf({ kind: 'user', userId: 'usr_1', teamId: 'team_demo' }));
});

test('has a key that is used, with calls that were refused', async () => {
  const { data: days } = await app.admin.usage.daily.query({
    since: new Date(now.getTime() - 29 * DAY_MS).toISOString().slice(0, 10),
  });
  expect(days.length).toBeGreaterThanOrEqual(28);
  const { data: refused } = await app.admin.requests.list.query({ status_class: 'errors' });
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([403, 422]));
  const { data: keys } = await app.admin.apiKeys.list.query({});
  const used = keys.filter(({ last_used_at: at }) => at !== null);
  expect(used).toMatchObject([{ name: 'Learning platform' }]);
  expect(used.filter(({ last_used_at: at }) => Date.parse(at ?? '') > now.getTime())).toEqual([]);
});

test('has an endpoint that works and one that fails', async () => {
  const { data: endpoints } = await app.v1.webhooks.listEndpoints.query({});
  expect(endpoints.map(({ status, last_success_at: at }) => [status, at !== null])).toEqual([
    ['disabled_failures', true],
    ['active', true],
  ]);
  const { data: health } = await app.admin.deliveries.health.query({});
  expect(health.map(({ arrived }) => new Set(arrived).size)).toEqual([2, 2]);
  const { data: found } = await app.admin.deliveries.list.query({ status: 'ok', limit: 200 });
  expect(found.filter(({ response_code: code }) => code === null)).toEqual([]);
  expect(found.some(({ attempt }) => attempt > 1)).toBe(true);
});

test('has an audit log whose newest entry is not to come', async () => {
  const { data: entries } = await app.admin.auditLog.list.query({ limit: 200 });
  expect(entries.length).toBeGreaterThan(25);
  expect(new Set(entries.map(({ action }) => action)).size).toBeGreaterThan(5);
  expect(entries.filter(({ created_at: at }) => Date.parse(at) > now.getTime())).toEqual([]);
});
