// API keys and switches on two processes of the API, which share nothing but the database. Their
// clocks are 20 s ahead of and behind the database's.
// @module-tag never-repeated
import { beforeAll, expect, test } from 'vitest';
import { openDatabase, type Database } from '../../src/db/connections/database.ts';
import { createKey, newKeyName, type App, withKey } from '../support/api-keys.ts';
import { createCall, loadTestSeed, type Call } from '../support/api.ts';
import { startApiProcess } from '../support/processes.ts';
import { appAsMember, codeOf } from '../support/app.ts';
import { createTestDatabase } from '../support/database.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { waitToConnect } from '../support/wire.ts';

let db: Database;
let calls: [Call, Call];
let apps: [App, App];
let raceApps: [App, App];

beforeAll(async () => {
  const database = await createTestDatabase();
  await loadTestSeed(database, makeSeed([makeTeam('a'), makeTeam('race')]));
  const [one, two] = await Promise.all([
    startApiProcess(database.url, { NODE_OPTIONS: dateAhead(20_000) }),
    startApiProcess(database.url, { NODE_OPTIONS: dateAhead(-20_000) }),
  ]);
  calls = [createCall(one.url), createCall(two.url)];
  apps = [await appAsMember(one, 'a', 'owner'), await appAsMember(two, 'a', 'owner')];
  db = waitToConnect(openDatabase({ url: database.url, poolMax: 2, onError: () => undefined }));
  raceApps = [await appAsMember(one, 'race', 'owner'), await appAsMember(two, 'race', 'owner')];
  return async () => {
    await Promise.all([one.kill('SIGTERM'), two.kill('SIGTERM')]);
    await db.close();
    await database.drop();
  };
});

/** The option of Node with which a process has another time of day. */
function dateAhead(ms: number): string {
  const code = `const Own = Date; globalThis.Date = class extends Own {
    constructor(...given) { super(...(given.length > 0 ? given : [Own.now() + ${ms}])); }
    static now() { return Own.now() + ${ms}; }
  }`;
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
}

test('each process dates what it writes by the clock of the database', async () => {
  const { key } = await createKey(apps[0], { scopes: ['users:write'] });
  for (const [n, call] of calls.entries()) {
    const body = { email: `dated${n}@example.test` };
    const headers = { 'Idempotency-Key': `dated-${n}` };
    expect((await call(key, 'POST', '/users', { body, headers })).status).toBe(201);
  }
  const { rows } = await db.pool.query(
    `select created_at between now() - interval '15 s' and now() as is_dated
     from (
       select created_at from idempotency_record where key like 'dated-_'
       union all
       select created_at from member where email like 'dated_@example.test'
       union all
       select created_at from event where type = 'member.joined'
     ) written`,
  );
  expect(rows.map(({ is_dated }) => is_dated)).toEqual([true, true, true, true, true, true]);
});

const statuses = (key: string) =>
  Promise.all(calls.map(async (call) => (await call(key, 'GET', '/users')).status));

test('a new key works on every process at once, and a revoked key on none', async () => {
  for (let round = 0; round < 10; round += 1) {
    const { id, key } = await createKey(apps[0]);
    expect(await statuses(key)).toEqual([200, 200]);
    await apps[1].admin.apiKeys.revoke.mutate({ key_id: id });
    expect(await statuses(key)).toEqual([401, 401]);
  }
});

test('a switch set on one process takes effect at the next request on another', async () => {
  const { key } = await createKey(apps[0], { scopes: ['trainings:read'] });
  const seen = [];
  for (const member_detail_enabled of [false, true, false]) {
    await apps[0].admin.team.privacy.set.mutate({ member_detail_enabled });
    seen.push((await calls[1](key, 'GET', '/trainings')).status);
  }
  expect(seen).toEqual([403, 200, 403]);
});

test('a rotated key and its successor work on every process in the grace period', async () => {
  const old = await createKey(apps[0]);
  const made = withKey(
    await apps[1].admin.apiKeys.rotate.mutate({ key_id: old.id, grace_s: 3600 }),
  );
  expect([await statuses(old.key), await statuses(made.key)]).toEqual([
    [200, 200],
    [200, 200],
  ]);
});

test('two rotations of one key at the same time make one successor', async () => {
  const { id, name } = await createKey(apps[0]);
  const codes = await Promise.all(
    apps.map((app) => codeOf(app.admin.apiKeys.rotate.mutate({ key_id: id, grace_s: 60 }))),
  );
  expect(codes.toSorted()).toEqual(['ok', 'validation_error']);
  const { rows } = await db.pool.query(
    `select name
     from api_key
     where team_id = 'team_a' and starts_with(name, $1)`,
    [`${name} (`],
  );
  expect(rows).toHaveLength(1);
});

test('two creations of one name at the same time make one key', async () => {
  const name = newKeyName();
  const codes = await Promise.all(apps.map((app) => codeOf(createKey(app, { name }))));
  expect(codes.toSorted()).toEqual(['ok', 'validation_error']);
});

test('creations that race for the last places make no more than 50 live keys', async () => {
  const free = 4;
  await db.pool.query(
    `insert into api_key (team_id, id, name, prefix, secret_hash, scopes, created_by, created_at)
     select team_id, 'key_' || n, 'Fill ' || n, lpad(n::text, 12, '0'), secret_hash, scopes,
       created_by, created_at
     from (select * from api_key where team_id = 'team_race' limit 1) one,
       generate_series(
         1, (select 50 - $1 - count(*)::int from api_key where team_id = 'team_race')
       ) n`,
    [free],
  );
  const codes = await Promise.all(
    Array.from({ length: free + 6 }, (_, index) =>
      codeOf(createKey(raceApps[index % 2] ?? raceApps[0])),
    ),
  );
  expect(codes.filter((code) => code === 'ok')).toHaveLength(free);
  expect(codes.filter((code) => code === 'validation_error')).toHaveLength(6);
});
