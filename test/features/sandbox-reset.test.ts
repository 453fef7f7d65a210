// A reset while another one runs: of the same process, of another one, by a key and by an admin.
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { BASE_PATH } from '../../src/http/api/exchange.ts';
import { startApiProcess, startTestApi, type TestApi } from '../support/api.ts';
import { codeOf } from '../support/app.ts';
import { holdLock, untilWaiting } from '../support/locks.ts';
import { appInSandbox, openSandbox } from '../support/sandbox.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';

let api: TestApi;
let key: string;
beforeAll(async () => {
  api = await startTestApi({ seed: makeSeed([makeTeam('a'), makeTeam('b')]) });
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

  it('waits for one that is over soon', async () => {
    const release = await holdLock(api, AS_A_RESET('a'));
    const reset = api.call(key, 'POST', '/sandbox/reset');
    await untilWaiting(api, 1);
    await release();
    expect((await reset).status).toBe(200);
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
      if (status !== 409) return status;
      await delay(Number(headers.get('retry-after')) * 1000);
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
