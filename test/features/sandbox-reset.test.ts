// A reset while another one runs: of the same process, of another one, by a key and by an admin.
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { startApiProcess } from '../support/processes.ts';
import { codeOf } from '../support/app.ts';
import { isOnCitus } from '../support/database.ts';
import { beginToWait, holdLock, lockWhole, untilWaiting } from '../support/locks.ts';
import { appInSandbox, openSandbox } from '../support/sandbox.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

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

  it('by two processes at once is 409 until the one before is over', async () => {
    const other = await openSandbox(api, 'b');
    const processes = await Promise.all([
      startApiProcess(api.databaseUrl),
      startApiProcess(api.databaseUrl),
    ]);
    const reset = async (url: string): Promise<Response> =>
      fetch(`${url}${BASE_PATH}/sandbox/reset`, {
        method: 'POST',
        headers: { authorization: `Bearer ${other}` },
      });
    const resetUntilDone = async (url: string): Promise<number> => {
      const { status, headers } = await reset(url);
      // A process on a busy machine answers 503 now and then.
      if (status !== 409 && status !== 503) return status;
      await delay(Number(headers.get('retry-after') ?? 1) * 1000);
      return resetUntilDone(url);
    };
    // A process that is new has no connection yet.
    for (const { url } of processes) expect(await resetUntilDone(url)).toBe(200);
    const release = await holdLock(api, AS_A_RESET('b'));
    const refused = await Promise.all(processes.map(({ url }) => reset(url)));
    expect(refused.map(({ status }) => status)).toEqual(processes.map(() => 409));
    const done = processes.map(({ url }) => resetUntilDone(url));
    await untilWaiting(api, 1);
    await release();
    expect(await Promise.all(done)).toEqual(processes.map(() => 200));
    await Promise.all(processes.map((one) => one.kill('SIGTERM')));
    const { rows } = await api.db.pool.query(
      `select (select count(*)::int from training where team_id = t.id) as trainings,
         (select count(*)::int from audit_log
          where team_id = t.id and action = 'sandbox.reset') as resets
       from team t
       where id = 'team_b:sandbox'`,
    );
    expect(rows).toEqual([{ trainings: 60, resets: 2 * processes.length }]);
  });
});

describe('resets of 10,000 trainings at once', () => {
  const large = (of: Pick<TestApi, 'call'>, testKey: string) =>
    of.call(testKey, 'POST', '/sandbox/reset', { body: { scenario: 'large' } });
  const trainingsOf = async ({ db }: TestApi, team: string): Promise<unknown> =>
    (
      await db.pool.query(
        `select (select count(*)::int from training where team_id = $1) as trainings,
           (select sum(scored)::int from analytics_person where team_id = $1) as scored`,
        [`team_${team}:sandbox`],
      )
    ).rows[0];

  it('in two sandboxes of an empty database both succeed, as do their creations', async () => {
    const empty = await startTestApi({
      statementTimeoutMs: 60_000,
      seed: makeSeed([makeTeam('c'), makeTeam('d')]),
    });
    const keys = await Promise.all(['c', 'd'].map((team) => openSandbox(empty, team, 'large')));
    const resets = await Promise.all(keys.map((testKey) => large(empty, testKey)));
    expect(resets.map(({ status }) => status)).toEqual([200, 200]);
    for (const team of ['c', 'd'])
      expect(await trainingsOf(empty, team)).toEqual({ trainings: 10_000, scored: 8001 });
  });

  it('in one sandbox the second succeeds after the first or is 409', async () => {
    const resets = await Promise.all([large(api, key), large(api, key), large(api, key)]);
    const statuses = resets.map(({ status }) => status);
    expect(statuses).toContain(200);
    for (const status of statuses) expect([200, 409]).toContain(status);
    expect(await trainingsOf(api, 'a')).toEqual({ trainings: 10_000, scored: 8001 });
  });

  it('in one sandbox the second is 409 while the first is still writing', async ({ skip }) => {
    // The nodes do not know how long the transaction would wait for a lock.
    skip(isOnCitus(), 'On Citus it waits as long as a statement may.');
    const slow = await startTestApi({
      statementTimeoutMs: 60_000,
      seed: makeSeed([makeTeam('e')]),
    });
    const testKey = await openSandbox(slow, 'e');
    const release = await holdLock(slow, lockWhole('evaluation'));
    const first = large(slow, testKey);
    await untilWaiting(slow, 1, '%evaluation%');
    expect(await large(slow, testKey)).toMatchObject({
      status: 409,
      body: { code: 'conflict', retry_after: 2 },
    });
    await release();
    expect((await first).status).toBe(200);
    expect(await trainingsOf(slow, 'e')).toEqual({ trainings: 10_000, scored: 8001 });
  });
});
