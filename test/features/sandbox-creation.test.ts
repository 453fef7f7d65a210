// The creation of a sandbox beside a live team that works meanwhile: by several at once, by one
// that dies, and while the live team changes.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SANDBOX_LIMITS } from '../../src/core/sandbox.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { appAsPlatform, codeOf } from '../support/app.ts';
import { endWaiting, holdLock, lockWhole, untilWaiting } from '../support/locks.ts';
import { performHere } from '../support/operator.ts';
import type { Platform } from '../support/platform.ts';
import { appInSandbox, openSandbox } from '../support/sandbox.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { putSeedBack } from '../support/seeded-rows.ts';

const SANDBOX = 'team_a:sandbox';

let api: TestApi;
beforeAll(async () => {
  // A statement that a test keeps waiting is not ended meanwhile.
  api = await startTestApi({ statementTimeoutMs: 60_000, seed: makeSeed([makeTeam('a')]) });
});
beforeEach(() => putSeedBack(api));

const create = async (scenario: 'typical' | 'large' = 'typical') => {
  const platform = await appAsPlatform(api);
  return platform.platform.teams.createSandbox.mutate({ team_id: 'team_a', scenario });
};
type Update = Parameters<Platform['teams']['update']['mutate']>[0];
const update = async (fields: Omit<Update, 'team_id'>) => {
  const platform = await appAsPlatform(api);
  return platform.platform.teams.update.mutate({ team_id: 'team_a', ...fields });
};
const invite = (email: string) =>
  api.call(api.key('team_a'), 'POST', '/users', { body: { email } });
const read = async (text: string) => (await api.db.pool.query(text, [SANDBOX])).rows;
const rowsLeft = () =>
  read(
    `select id from team where id = $1
     union all
     select id from person where team_id = $1
     union all
     select action from audit_log where target_id = $1`,
  );

/** Begins a creation, which is then in the middle of its scenario until `release`. */
async function beginCreation() {
  const release = await holdLock(api, lockWhole('evaluation'));
  const creation = codeOf(create());
  await untilWaiting(api, 1, '%evaluation%');
  return { creation, release };
}

describe('while a sandbox is filled', () => {
  it('nobody of the live team waits, and nobody sees it', async () => {
    const { creation, release } = await beginCreation();
    expect((await invite('meanwhile@a.test')).status).toBe(201);
    expect(await codeOf(update({ plan: 'enterprise' }))).toBe('ok');
    expect(await read('select id from team where id = $1')).toEqual([]);
    const inSandbox = await appInSandbox(api, 'a');
    expect(await codeOf(inSandbox.admin.members.search.query({}))).toBe('not_found');
    await release();
    expect(await creation).toBe('ok');
    expect(await read('select plan, status, rate_limit_per_min from team where id = $1')).toEqual([
      {
        plan: 'enterprise',
        status: 'active',
        rate_limit_per_min: SANDBOX_LIMITS.requestsPerMinute,
      },
    ]);
  });

  it('a second creation waits for it, and finds it', async () => {
    const { creation, release } = await beginCreation();
    const second = create('large');
    await untilWaiting(api, 2);
    expect((await invite('meanwhile@a.test')).status).toBe(201);
    await release();
    expect(await creation).toBe('ok');
    expect(await second).toMatchObject({ tenant_id: SANDBOX, scenario: 'typical' });
    expect(
      await read(`select action from audit_log where target_id = $1 and team_id = 'team_a'`),
    ).toEqual([{ action: 'sandbox.created' }]);
  });

  it('the death of its process leaves nothing, and the next creation succeeds', async () => {
    const { creation, release } = await beginCreation();
    const second = create('large');
    await untilWaiting(api, 2);
    // Only the first one: Postgres ends the session of a process that is gone.
    await api.db.pool.query(
      `select pg_terminate_backend(pid, 5000)
       from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'
         and query ilike '%evaluation%'`,
    );
    expect(await creation).toBe('unavailable');
    await release();
    // It waited for the one that has died.
    expect(await second).toMatchObject({ tenant_id: SANDBOX, scenario: 'large' });
  });

  it('the death of all leaves nothing', async () => {
    const { creation, release } = await beginCreation();
    await endWaiting(api);
    expect(await creation).toBe('unavailable');
    await release();
    expect(await rowsLeft()).toEqual([]);
    expect(await create()).toMatchObject({ tenant_id: SANDBOX });
  });

  it('the live team may be suspended, and then the sandbox is, too', async () => {
    const { creation, release } = await beginCreation();
    await update({ status: 'suspended' });
    await release();
    expect(await creation).toBe('ok');
    expect(await read('select status from team where id = $1')).toEqual([{ status: 'suspended' }]);
  });

  it('a change of the live team that has not ended when it ends is waited for', async () => {
    const { creation, release } = await beginCreation();
    const changing = await api.db.pool.connect();
    await changing.query('begin');
    await changing.query(`update team set status = 'suspended' where id = 'team_a'`);
    await release();
    await Promise.race([creation, untilWaiting(api, 1, '%team%for no key update%')]);
    await changing.query('commit');
    changing.release();
    expect(await creation).toBe('ok');
    expect(await read('select status from team where id = $1')).toEqual([{ status: 'suspended' }]);
  });

  it('the live team may be erased, and then there is no sandbox', async () => {
    const { creation, release } = await beginCreation();
    await update({ status: 'ended' });
    const platform = await appAsPlatform(api);
    await platform.platform.teams.erase.mutate({ team_id: 'team_a' });
    await release();
    expect(await creation).toBe('not_found');
    expect(await rowsLeft()).toEqual([]);
  });
});

it('a sandbox follows its live team in all that it has taken over', async () => {
  await create();
  await update({ name: 'Renamed', language: 'de', plan: 'enterprise', rate_limit_per_min: 20 });
  const shown = 'select name, language, plan, rate_limit_per_min from team where id = $1';
  const followed = { name: 'Renamed', language: 'de', plan: 'enterprise' };
  expect(await read(shown)).toEqual([{ ...followed, rate_limit_per_min: 20 }]);
  await update({ rate_limit_per_min: 5000 });
  expect(await read(shown)).toEqual([{ ...followed, rate_limit_per_min: 300 }]);
});

describe('while a sandbox is reset', () => {
  it.each([
    ['a change of the live team', () => update({ plan: 'enterprise' })],
    ['its suspension by an operator', () => performHere(api, 'team', 'suspend', 'team_a')],
    [
      'the removal of the sandbox',
      async () => {
        const platform = await appAsPlatform(api);
        return platform.platform.teams.removeSandbox.mutate({ team_id: 'team_a' });
      },
    ],
    [
      'the erasure of the live team',
      async () => {
        await api.db.pool.query(`update team set status = 'ended' where id = 'team_a'`);
        const platform = await appAsPlatform(api);
        return platform.platform.teams.erase.mutate({ team_id: 'team_a' });
      },
    ],
  ])('%s waits without keeping the live team waiting', async (_what, change) => {
    await openSandbox(api, 'a');
    const release = await holdLock(
      api,
      `select from team where id = '${SANDBOX}' for no key update`,
    );
    const changed = codeOf(change());
    await untilWaiting(api, 1);
    // What a call of the live team that counts its members would wait for.
    const locked = await api.db.pool.query(
      `select from team where id = 'team_a' for no key update nowait`,
    );
    expect(locked.rowCount).toBe(1);
    await release();
    expect(await changed).toBe('ok');
  });
});
