import { beforeAll, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAt, createKey, KEY_HOLDER, type App, withKey } from '../support/api-keys.ts';
import { problemOf } from '../support/problems.ts';
import { makeMember, makeSeed, makeTeam, memberId } from '../support/seed.ts';

const DAY_MS = 86_400_000;
const clock = fixedClock(new Date('2040-11-20T10:00:30.000Z'));

let api: TestApi;
beforeAll(async () => {
  const team = makeTeam('a', { members: [makeMember('a', 'holder', KEY_HOLDER)] });
  api = await startTestApi({ clock, seed: makeSeed([team]) });
});

const as = (name: string): Promise<App> => appAt(api, clock.now(), 'a', name);
const statusOf = async (key: string) => (await api.call(key, 'GET', '/users')).status;

describe('rotate', () => {
  test('both keys work until the grace period ends, then only the new one', async () => {
    const app = await as('owner');
    const old = await createKey(await as('holder'), {
      name: 'Import',
      allowed_ips: ['127.0.0.1'],
    });
    const made = withKey(
      await app.admin.apiKeys.rotate.mutate({ key_id: old.id, grace_s: 30 * 86_400 }),
    );
    expect(made).toMatchObject({
      name: 'Import (2)',
      scopes: old.scopes,
      allowed_ips: ['127.0.0.1'],
      expires_at: null,
      creator: { member_id: memberId('a', 'owner') },
    });
    const end = new Date(clock.now().getTime() + 30 * DAY_MS);
    const oldNow = async () => (await as('owner')).admin.apiKeys.get.query({ key_id: old.id });
    expect(await oldNow()).toMatchObject({ state: 'active', revoked_at: end.toISOString() });
    clock.set(new Date(end.getTime() - 1));
    expect([await statusOf(old.key), await statusOf(made.key)]).toEqual([200, 200]);
    clock.set(end);
    expect([await statusOf(old.key), await statusOf(made.key)]).toEqual([401, 200]);
    expect(await oldNow()).toMatchObject({ state: 'revoked' });
  });

  test('counts on in the name; a key can be rotated only once', async () => {
    const app = await as('owner');
    const rotate = async (key_id: string, grace_s = 60) =>
      withKey(await app.admin.apiKeys.rotate.mutate({ key_id, grace_s }));
    const first = await createKey(app, { name: 'Export' });
    const second = await rotate(first.id);
    const third = await rotate(second.id, 0);
    expect([second.name, third.name]).toEqual(['Export (2)', 'Export (3)']);
    expect([
      await statusOf(first.key),
      await statusOf(second.key),
      await statusOf(third.key),
    ]).toEqual([200, 401, 200]);
    for (const ended of [first, second])
      expect(await problemOf(rotate(ended.id))).toMatchObject({
        code: 'validation_error',
        field: 'key_id',
      });
  });

  test('shortens a long name to append the number, and skips numbers that are taken', async () => {
    const app = await as('owner');
    const long = await createKey(app, { name: 'x'.repeat(100) });
    const made = await app.admin.apiKeys.rotate.mutate({ key_id: long.id, grace_s: 0 });
    expect(made.name).toBe(`${'x'.repeat(80)} (2)`);
    const sync = await createKey(app, { name: 'Sync' });
    await createKey(app, { name: 'Sync (2)' });
    const third = await app.admin.apiKeys.rotate.mutate({ key_id: sync.id, grace_s: 0 });
    expect(third.name).toBe('Sync (3)');
    // More than are looked for at once.
    await api.db.pool.query(
      `insert into api_key (team_id, id, name, prefix, secret_hash, scopes, created_by, created_at)
       select 'team_a', 'key_sync_' || n, 'Sync (' || n || ')', lpad(n::text, 12, '0'),
         decode(repeat('00', 32), 'hex'), '{}', $1, '2026-11-01Z'
       from generate_series(4, 120) n`,
      [memberId('a', 'owner')],
    );
    await api.db.pool.query(
      `update api_key set revoked_at = created_at where id like 'key_sync_%'`,
    );
    const next = await app.admin.apiKeys.rotate.mutate({ key_id: third.id, grace_s: 0 });
    expect(next.name).toBe('Sync (121)');
  });

  test('keeps the expiry unless another is given', async () => {
    const app = await as('owner');
    const expires_at = new Date(clock.now().getTime() + DAY_MS).toISOString();
    const rotate = async (expiry: { expires_at?: string | null }) => {
      const { id } = await createKey(app, { expires_at });
      return app.admin.apiKeys.rotate.mutate({ key_id: id, grace_s: 0, ...expiry });
    };
    expect(await rotate({})).toMatchObject({ expires_at });
    expect(await rotate({ expires_at: null })).toMatchObject({ expires_at: null });
    const past = await problemOf(rotate({ expires_at: clock.now().toISOString() }));
    expect(past).toMatchObject({ code: 'validation_error', field: 'expires_at' });
  });

  test('a grace period ends with the key, which the new key can outlive', async () => {
    const expires_at = new Date(clock.now().getTime() + 2 * DAY_MS).toISOString();
    const later = new Date(clock.now().getTime() + 90 * DAY_MS).toISOString();
    const old = await createKey(await as('owner'), { expires_at });
    const made = withKey(
      await (
        await as('owner')
      ).admin.apiKeys.rotate.mutate({
        key_id: old.id,
        grace_s: 30 * 86_400,
        expires_at: later,
      }),
    );
    expect(made).toMatchObject({ expires_at: later });
    const found = async () => (await as('owner')).admin.apiKeys.get.query({ key_id: old.id });
    expect(await found()).toMatchObject({ state: 'active', revoked_at: expires_at });
    clock.set(new Date(expires_at));
    expect([await statusOf(old.key), await statusOf(made.key)]).toEqual([401, 200]);
    expect(await found()).toMatchObject({ state: 'revoked', revoked_at: expires_at });
  });

  test('an expired key keeps the time at which it was revoked', async () => {
    const expires_at = new Date(clock.now().getTime() + DAY_MS).toISOString();
    const { id } = await createKey(await as('owner'), { expires_at });
    clock.set(new Date(clock.now().getTime() + 2 * DAY_MS));
    const revoked = await (await as('owner')).admin.apiKeys.revoke.mutate({ key_id: id });
    expect(revoked).toMatchObject({ revoked_at: clock.now().toISOString() });
  });

  test('a key in its grace period can be revoked at once', async () => {
    const app = await as('owner');
    const old = await createKey(app);
    await app.admin.apiKeys.rotate.mutate({ key_id: old.id, grace_s: 3600 });
    await app.admin.apiKeys.revoke.mutate({ key_id: old.id });
    expect(await statusOf(old.key)).toBe(401);
  });

  test.each([-1, 1.5, 30 * 86_400 + 1])('refuses a grace period of %d seconds', async (grace_s) => {
    const app = await as('owner');
    const problem = await problemOf(app.admin.apiKeys.rotate.mutate({ key_id: 'key_x', grace_s }));
    expect(problem).toMatchObject({
      code: 'validation_error',
      errors: [{ path: 'input.grace_s' }],
    });
  });
});
