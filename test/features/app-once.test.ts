// Calls of the app whose response shows a secret: a lost response can be asked for again.
import { beforeAll, describe, expect, test } from 'vitest';
import { fixedClock } from '../../src/core/clock.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { KEY_HOLDER } from '../support/api-keys.ts';
import { appWith, codeOf, tokenOf } from '../support/app.ts';
import { auditOf } from '../support/audit.ts';
import { startReceiver } from '../support/receiver.ts';
import { makeMember, makeSeed, makeTeam, userId } from '../support/seed.ts';

const DAY_MS = 86_400_000;
const clock = fixedClock(new Date('2040-11-20T10:00:30.000Z'));

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({
    clock,
    allowPrivateTargets: true,
    seed: makeSeed(
      ['a', 'b', 'c'].map((name) =>
        makeTeam(name, { members: [makeMember(name, 'holder', KEY_HOLDER)] }),
      ),
    ),
  });
});

/** A client of a member whose calls have this `Idempotency-Key`. */
async function as(team: string, name: string, key: string | null, mode?: 'test') {
  const identity = { kind: 'user', userId: userId(team, name), teamId: `team_${team}` } as const;
  const authorization = `Bearer ${await tokenOf(identity, clock.now())}`;
  return appWith(api, {
    authorization,
    ...(key !== null && { 'idempotency-key': key }),
    ...(mode && { 'svc-mode': mode }),
  });
}

let count = 0;
const newCreation = () => ({ name: `Once ${(count += 1)}`, scopes: ['users:read' as const] });

describe('a creation of a key that is repeated with the same Idempotency-Key', () => {
  test('acts once and shows the same key', async () => {
    const app = await as('a', 'holder', 'repeat');
    const input = newCreation();
    const first = await app.admin.apiKeys.create.mutate(input);
    const again = await app.admin.apiKeys.create.mutate(input);
    expect(first.key).toMatch(/^svck_live_/);
    expect(again).toEqual(first);
    expect((await api.call(again.key ?? '', 'GET', '/users')).status).toBe(200);
    const entries = (await auditOf(api, 'team_a')).filter(
      ({ action, target_id }) => action === 'api_key.created' && target_id === first.id,
    );
    expect(entries).toHaveLength(1);
  });

  test('acts once, too, if the repetition comes while it runs', async () => {
    const app = await as('a', 'holder', 'together');
    const input = newCreation();
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, () => app.admin.apiKeys.create.mutate(input)),
    );
    const made = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    const refused = results.flatMap((one) =>
      one.status === 'rejected' ? [codeOf(Promise.reject(one.reason as Error))] : [],
    );
    expect(new Set(made.map(({ key }) => key)).size).toBe(1);
    // On a busy machine, those that wait for the first may be told to come again.
    const codes = await Promise.all(refused);
    expect(codes.filter((code) => code !== 'conflict' && code !== 'unavailable')).toEqual([]);
    const named = await app.admin.apiKeys.list.query({ limit: 200 });
    expect(named.data.filter(({ name }) => name === input.name)).toHaveLength(1);
  });

  test('shows another member the key without its secret', async () => {
    const input = newCreation();
    const first = await (await as('a', 'holder', 'mine')).admin.apiKeys.create.mutate(input);
    const other = await (await as('a', 'owner', 'mine')).admin.apiKeys.create.mutate(input);
    const { key, creator, ...shown } = first;
    expect(key).toBeDefined();
    expect(other).toEqual({ ...shown, creator: { member_id: creator.member_id } });
  });

  test('shows another admin of a sandbox the key without its secret', async () => {
    await (await as('b', 'owner', null)).admin.sandbox.create.mutate({});
    const input = newCreation();
    const mine = await as('b', 'holder', 'mine', 'test');
    const first = await mine.admin.apiKeys.create.mutate(input);
    expect(first.key).toMatch(/^svck_test_/);
    expect(await mine.admin.apiKeys.create.mutate(input)).toEqual(first);
    const other = await as('b', 'owner', 'mine', 'test');
    const { key: _secret, creator, ...shown } = first;
    expect(await other.admin.apiKeys.create.mutate(input)).toEqual({
      ...shown,
      creator: { member_id: creator.member_id },
    });
  });

  test('is another one in another team, and with other input none', async () => {
    const input = newCreation();
    const first = await (await as('a', 'holder', 'shared')).admin.apiKeys.create.mutate(input);
    const foreign = await (await as('b', 'holder', 'shared')).admin.apiKeys.create.mutate(input);
    expect(foreign.id).not.toBe(first.id);
    expect(foreign.key).not.toBe(first.key);
    const app = await as('a', 'holder', 'shared');
    const changed = app.admin.apiKeys.create.mutate({ ...input, name: 'Another name' });
    expect(await codeOf(changed)).toBe('idempotency_mismatch');
    const rotation = app.admin.apiKeys.rotate.mutate({ key_id: first.id, grace_s: 0 });
    expect(await codeOf(rotation)).toBe('idempotency_mismatch');
  });

  test('runs again after a refusal, and after a day', async () => {
    const app = await as('c', 'holder', 'later');
    const input = newCreation();
    await (await as('c', 'holder', null)).admin.apiKeys.create.mutate({ ...input, name: 'Taken' });
    const taken = { ...input, name: 'Taken' };
    expect(await codeOf(app.admin.apiKeys.create.mutate(taken))).toBe('validation_error');
    const first = await app.admin.apiKeys.create.mutate(input);
    clock.advance(DAY_MS + 1);
    const late = await as('c', 'holder', 'later');
    expect(await codeOf(late.admin.apiKeys.create.mutate(input))).toBe('validation_error');
    const next = await late.admin.apiKeys.create.mutate({ ...input, name: 'Next' });
    expect(next.id).not.toBe(first.id);
  });

  test('leaves no secret in the database that anybody could read', async () => {
    const app = await as('a', 'holder', 'stored');
    const { key = '' } = await app.admin.apiKeys.create.mutate(newCreation());
    const { rows } = await api.db.pool.query<{ body: Buffer; open_body: Buffer }>(
      `select body, open_body from idempotency_record where key = 'stored'`,
    );
    const kept = rows.map(({ body, open_body }) => `${String(body)}${String(open_body)}`).join('');
    expect(rows).toHaveLength(1);
    expect(kept).not.toContain(key.split('_').at(-1));
    expect(kept).not.toContain('holder@');
  });
});

test('a rotation that is repeated makes one successor', async () => {
  const app = await as('b', 'holder', null);
  const { id } = await app.admin.apiKeys.create.mutate(newCreation());
  const rotate = async () =>
    (await as('b', 'holder', 'rotation')).admin.apiKeys.rotate.mutate({ key_id: id, grace_s: 0 });
  const first = await rotate();
  expect(await rotate()).toEqual(first);
});

test('so do the operations of the API that show a secret', async () => {
  const { url } = await startReceiver();
  const app = await as('b', 'holder', 'endpoint');
  const input = { url, events: ['member.joined' as const] };
  const first = await app.v1.webhooks.createEndpoint.mutate(input);
  const again = await app.v1.webhooks.createEndpoint.mutate(input);
  expect(first.secret).toMatch(/^whsec_/);
  expect(again).toEqual(first);
});

test('a key is bound to the procedure, too, whatever its input', async () => {
  const app = await as('c', 'holder', 'two procedures');
  const input = newCreation();
  await app.admin.apiKeys.create.mutate(input);
  const rotation = app.admin.apiKeys.rotate.mutate(input as never);
  expect(await codeOf(rotation)).toBe('idempotency_mismatch');
});

test('a key that is empty is none, as in the REST API', async () => {
  const app = await as('a', 'holder', '');
  // With one key, the second call would be a mismatch.
  const first = await app.admin.apiKeys.create.mutate(newCreation());
  const second = await app.admin.apiKeys.create.mutate(newCreation());
  expect(second.id).not.toBe(first.id);
});

test('a key that is too long is refused', async () => {
  const app = await as('a', 'holder', 'x'.repeat(101));
  const call = app.admin.apiKeys.create.mutate(newCreation());
  expect(await codeOf(call)).toBe('validation_error');
});

test('a key that comes with several calls is refused, and none of them takes it', async () => {
  const identity = { kind: 'user', userId: userId('a', 'holder'), teamId: 'team_a' } as const;
  const send = async (names: string, key: string) => {
    const response = await fetch(`${api.url}/trpc/${names}?batch=1`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await tokenOf(identity, clock.now())}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify({ 0: newCreation(), 1: newCreation() }),
    });
    return { status: response.status, body: await response.json() };
  };
  const [one, two] = ['admin.apiKeys.create', 'admin.apiKeys.create,admin.apiKeys.create'];
  expect(await send(two, 'batch')).toMatchObject({
    status: 422,
    body: {
      error: {
        data: {
          problem: {
            code: 'validation_error',
            errors: [{ path: 'header.Idempotency-Key', code: 'too_many_calls' }],
          },
        },
      },
    },
  });
  // Nothing has taken the key.
  expect(await send(one, 'batch')).toMatchObject({ status: 200, body: [{ result: {} }] });
  expect(await send(two, '')).toMatchObject({ status: 200 });
});

test('that a key is stored can be confirmed, once, by whoever may make keys', async () => {
  const app = await as('b', 'holder', null);
  const { id, stored_at } = await app.admin.apiKeys.create.mutate(newCreation());
  expect(stored_at).toBeNull();
  const confirm = () => app.admin.apiKeys.confirmStored.mutate({ key_id: id });
  const at = clock.now().toISOString();
  expect(await confirm()).toMatchObject({ id, stored_at: at });
  clock.advance(1000);
  expect(await confirm()).toMatchObject({ stored_at: at });
  const stored = (await auditOf(api, 'team_b')).filter(({ action }) => action === 'api_key.stored');
  expect(stored).toMatchObject([{ target_id: id, details: {} }]);
  const admin = await as('b', 'admin', null);
  const refused = admin.admin.apiKeys.confirmStored.mutate({ key_id: id });
  expect(await codeOf(refused)).toBe('forbidden');
  const foreign = await as('a', 'holder', null);
  expect(await codeOf(foreign.admin.apiKeys.confirmStored.mutate({ key_id: id }))).toBe(
    'not_found',
  );
});
