// A reset while another one runs, by a key and by an admin. What a reset removes.
import { beforeAll, describe, expect, it, test } from 'vitest';
import type { TenantTable } from '../../src/db/tenant-tables.ts';
import { REMOVED_BY_RESET } from '../../src/features/sandbox/store.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { codeOf } from '../support/app.ts';
import { beginToWait, holdLock } from '../support/locks.ts';
import { appInSandbox, openSandbox } from '../support/sandbox.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { serviceStatements } from '../support/statements.ts';

let api: TestApi;
let key: string;
beforeAll(async () => {
  api = await startTestApi({
    statementTimeoutMs: 60_000,
    seed: makeSeed([makeTeam('a'), makeTeam('b')]),
  });
  key = await openSandbox(api, 'a');
});

const AS_A_RESET = (team: string) =>
  `select from team where id = 'team_${team}:sandbox' for no key update`;

describe('a reset', () => {
  it('that finds another one running is 409, and is not kept', async () => {
    const app = await appInSandbox(api, 'a', 'admin');
    const release = await holdLock(api, AS_A_RESET('a'));
    const reset = () =>
      api.call(key, 'POST', '/sandbox/reset', { headers: { 'idempotency-key': 'again' } });
    const [byKey, byAdmin] = await Promise.all([
      reset(),
      codeOf(app.v1.sandbox.reset.mutate({ scenario: 'empty' })),
    ]);
    expect(byKey).toMatchObject({
      status: 409,
      body: { code: 'conflict', retry_after: 2, detail: expect.stringMatching(/being reset/) },
    });
    expect(byKey.headers['retry-after']).toBe('2');
    expect(byAdmin).toBe('conflict');
    await release();
    const again = await reset();
    expect(again).toMatchObject({ status: 200, body: { scenario: 'typical' } });
    expect(again.headers['idempotency-replayed']).toBeUndefined();
    expect((await reset()).headers['idempotency-replayed']).toBe('true');
  });

  it('429: 30 resets an hour; Retry-After says when the next one passes', async () => {
    const other = await openSandbox(api, 'b');
    const reset = () => api.call(other, 'POST', '/sandbox/reset', { body: { scenario: 'large' } });
    await api.db.pool.query(
      `insert into audit_log (team_id, id, created_at, actor_kind, actor_id, action, request_id)
       select 'team_b:sandbox', 'aud_' || n, now() - interval '50 minutes', 'api_key', 'x',
         'sandbox.reset', 'x'
       from generate_series(1, 29) n`,
    );
    expect((await api.call(other, 'POST', '/sandbox/reset')).status).toBe(200);
    const refused = await reset();
    expect(refused).toMatchObject({
      status: 429,
      body: { code: 'rate_limited', detail: 'A sandbox may be reset 30 times per hour.' },
    });
    expect(Number(refused.headers['retry-after'])).toBeCloseTo(600, -2);
    expect(refused.headers).toHaveProperty('ratelimit-remaining');
    const app = await appInSandbox(api, 'b', 'owner');
    expect(await codeOf(app.v1.sandbox.reset.mutate({}))).toBe('rate_limited');
    expect((await api.call(key, 'POST', '/sandbox/reset')).status).toBe(200);
    await api.db.pool.query(
      `update audit_log
       set created_at = created_at - interval '11 minutes'
       where team_id = 'team_b:sandbox' and id = 'aud_1'`,
    );
    expect((await api.call(other, 'POST', '/sandbox/reset')).status).toBe(200);
    expect((await reset()).status).toBe(429);
  });

  it('releases the whole catalog again', async () => {
    const app = await appInSandbox(api, 'a', 'admin');
    const before = await app.v1.catalog.get.query({});
    await app.admin.team.release.set.mutate({ released: [] });
    await app.admin.team.policy.set.mutate({ blocked: ['per_calm'] });
    expect(await app.v1.catalog.get.query({})).not.toEqual(before);
    expect((await api.call(key, 'POST', '/sandbox/reset')).status).toBe(200);
    expect(await app.v1.catalog.get.query({})).toEqual(before);
  });

  it('waits for one that is over soon', async () => {
    let status = 409;
    // It waits for 2 s, which may pass before it is let go.
    while (status === 409) {
      const release = await holdLock(api, AS_A_RESET('a'));
      const reset = await beginToWait(api, () => api.call(key, 'POST', '/sandbox/reset'));
      await release();
      ({ status } = await reset.outcome);
    }
    expect(status).toBe(200);
  });
});

describe('what a reset removes', () => {
  test('is what the statements remove, and all that a scenario writes', () => {
    const tablesOf = (start: string): string[] =>
      serviceStatements()
        .filter(({ name }) => name.startsWith(start))
        .map(({ name }) => name.slice(start.length));
    expect(tablesOf('sandbox.remove.').toSorted()).toEqual([...REMOVED_BY_RESET].toSorted());
    for (const table of tablesOf('sandbox.insert.')) expect(REMOVED_BY_RESET).toContain(table);
  });

  test('takes no row of another table with it but those that only the owner has', async () => {
    const { rows } = await api.db.pool.query<{ parent: string; child: TenantTable }>(
      `select distinct confrelid::regclass::text as parent, conrelid::regclass::text as child
       from pg_constraint
       where contype = 'f' and confdeltype = 'c'`,
    );
    const taken = rows
      .filter(({ parent }) => REMOVED_BY_RESET.some((table) => table === parent))
      .map(({ child }) => child)
      .filter((child) => !REMOVED_BY_RESET.some((table) => table === child));
    expect(taken.toSorted()).toEqual(['alert_subscription', 'announcement_mail']);
  });
});
