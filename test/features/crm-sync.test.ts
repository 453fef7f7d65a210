import type { ServerResponse } from 'node:http';
import type { JobHelpers } from 'graphile-worker';
import { describe, expect, test } from 'vitest';
import type { Db } from '../../src/db/client.ts';
import { openDatabase } from '../../src/db/connections/database.ts';
import { SYNC_CONNECTION } from '../../src/features/crm/sync/jobs.ts';
import type { SyncDependencies } from '../../src/features/crm/sync/sync-connection.ts';
import { scheduleDue } from '../../src/features/crm/sync/service.ts';
import { crmTasks } from '../../src/features/crm/sync/tasks.ts';
import { TEST_APP_SECRET } from '../support/api.ts';
import { useCrmSync } from '../support/crm-sync.ts';
import { ago, expected, makeDeals, MINUTE, NOW, startWith } from '../support/crm/deals.ts';
import { answer, type FakeRequest } from '../support/crm/fake.ts';
import { holdLock } from '../support/locks.ts';
import { waitToConnect } from '../support/wire.ts';
import { changeTriggers } from '../support/shards.ts';

const { api, clock, connect, connectionRow, events, list, rows, signIn, stored, sync, syncLater } =
  useCrmSync();

describe('one at a time', () => {
  test('two workers at once synchronize once', async () => {
    const crm = await startWith('hubspot');
    const id = await connect(crm);
    const other = waitToConnect(
      openDatabase({ url: api().databaseUrl, poolMax: 4, onError: () => undefined }),
    );
    try {
      const outcomes = await Promise.all([
        sync(id),
        sync(id, { db: other }),
        sync(id),
        sync(id, { db: other }),
      ]);
      expect(outcomes.toSorted()).toEqual(['done', 'skipped', 'skipped', 'skipped']);
      // Those of now, and former ones.
      expect(crm.requests.filter(({ path }) => path.startsWith('/crm/v3/owners'))).toHaveLength(2);
      expect(await stored(id)).toEqual(expected(crm));
    } finally {
      await other.close();
    }
  });

  test('a regular run reads no more than a page of a list that a release has renamed', async () => {
    const crm = await startWith('hubspot');
    const id = await connect(crm);
    expect(await sync(id)).toBe('done');
    await api().db.pool.query(
      `update crm_connection
       set sync_state =
         jsonb_set(sync_state, '{since}', '{"renamed": "2026-11-01T00:00:00.000Z"}')`,
    );
    const pages = crm.pages().length;
    expect(await syncLater(id)).toBe('yielded');
    expect(crm.pages()).toHaveLength(pages + 1);
    expect((await connectionRow(id)).sync_state).toMatchObject({ round: { full: false } });
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
  });

  test('a run that was taken over because it seemed dead writes nothing more', async () => {
    const crm = await startWith('pipedrive');
    const id = await connect(crm);
    const second: string[] = [];
    crm.intercept = async () => {
      if (crm.pages().length !== 2 || second.length > 0) return false;
      clock.advance(3 * MINUTE);
      second.push('under way');
      second.push(await sync(id));
      crm.put({ id: 1, title: 'Only the second run may tell', modified: ago(-2) });
      return false;
    };
    expect(await sync(id)).toBe('lost');
    expect(second).toEqual(['under way', 'done']);
    const [first] = await stored(id);
    expect(first).toMatchObject({ title: 'Deal 1' });
  });

  test('a connection that is paused during a page keeps nothing of that page', async () => {
    const crm = await startWith('hubspot');
    const id = await connect(crm);
    const app = await signIn();
    crm.intercept = async () => {
      if (crm.pages().length === 2) await app.admin.crm.pause.mutate({ connection_id: id });
      return false;
    };
    expect(await sync(id)).toBe('lost');
    expect(await stored(id)).toHaveLength(3);
    expect(await list('/crm/deals')).toEqual([]);
    crm.intercept = null;
    expect(await syncLater(id)).toBe('skipped');
    await (await signIn()).admin.crm.resume.mutate({ connection_id: id });
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
  });

  test('makes no network call inside a transaction', async () => {
    const crm = await startWith('hubspot');
    const open: number[] = [];
    crm.intercept = async () => {
      const { rows } = await api().db.pool.query<{ count: number }>(
        `select count(*)::int as count
         from pg_stat_activity
         where datname = current_database() and state like 'idle in transaction%'`,
      );
      open.push(rows[0]?.count ?? -1);
      return false;
    };
    const id = await connect(crm, 'Einwand:');
    expect(await sync(id)).toBe('done');
    expect(open.length).toBeGreaterThan(8);
    expect(new Set(open)).toEqual(new Set([0]));
  });

  test('removes a deleted deal with all of its objections, of which it may have many', async () => {
    const crm = await startWith('hubspot');
    const id = await connect(crm);
    await sync(id);
    await api().db.pool.query(
      `insert into crm_objection
         (team_id, id, deal_id, connection_id, category, text, lang, created_at, source, synced_at)
       select team_id, 'obj_' || n, id, connection_id, 'price', 'x', 'en', $2, 'note:' || n, $2
       from crm_deal, generate_series(1, 2500) n
       where connection_id = $1 and external_id = '3'`,
      [id, NOW],
    );
    crm.put({ id: 3, modified: ago(-5), deleted: true });
    expect(await syncLater(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
    expect((await api().db.pool.query('select from crm_objection')).rowCount).toBe(0);
  });

  // HubSpot lists those of 90 days, and cannot say which are new.
  test('reads a part of very many deleted deals; the daily round misses none', async () => {
    const crm = await startWith(
      'hubspot',
      makeDeals(2_100, (index) => ({ deleted: index < 2_000 })),
    );
    crm.pageMax = 1_000;
    const id = await connect(crm);
    await sync(id);
    crm.put({ id: 2_100, modified: ago(-5), deleted: true });
    crm.requests.length = 0;
    expect(await syncLater(id)).toBe('done');
    const ofDeleted = ({ path }: FakeRequest): boolean => path === '/crm/v3/objects/deals';
    expect(crm.requests.filter(ofDeleted)).toHaveLength(10);
    clock.advance(24 * 60 * MINUTE);
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
  });

  test('of a deal that a page has twice the later one counts, also if it was deleted', async () => {
    const crm = await startWith('pipedrive', []);
    const id = await connect(crm);
    const deal = (fields: object) => ({ status: 'open', is_deleted: false, ...fields });
    crm.intercept = (_request, response) => {
      if (crm.pages().length !== 1) return false;
      crm.intercept = null;
      const data = [
        deal({ id: 1, title: 'Before' }),
        deal({ id: 2, title: 'Before it was deleted' }),
        deal({ id: 1, title: 'After' }),
        deal({ id: 2, status: 'deleted', is_deleted: true }),
      ];
      answer(response, 200, { success: true, data, additional_data: { next_cursor: null } });
      return true;
    };
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toMatchObject([{ id: 1, title: 'After' }]);
  });

  test('what is asked for during a run follows it once, and reads what it has passed', async () => {
    const crm = await startWith('hubspot');
    const id = await connect(crm);
    const app = await signIn();
    const askAtPage2 = async () => {
      if (crm.pages().length !== 2) return false;
      crm.put({ id: 1, title: 'Changed behind the run', modified: ago(-1) });
      for (let times = 0; times < 2; times += 1)
        expect(await app.admin.crm.syncNow.mutate({ connection_id: id })).toMatchObject({
          syncing: true,
        });
      return false;
    };
    crm.intercept = askAtPage2;
    const { [SYNC_CONNECTION]: task } = crmTasks({
      db: api().db,
      clock,
      secrets: { current: TEST_APP_SECRET, previous: null },
      allowBaseUrl: true,
    });
    await task?.({ teamId: 'team_a', connectionId: id }, { job: { id: '1' } } as JobHelpers);
    crm.intercept = null;
    const { rows: jobs } = await api().db.pool.query(
      `select from graphile_worker.jobs where task_identifier = '${SYNC_CONNECTION}'`,
    );
    expect(jobs).toHaveLength(1);
    clock.advance(1);
    expect(await sync(id)).toBe('done');
    expect((await stored(id))[0]).toMatchObject({ title: 'Changed behind the run' });
    expect(await sync(id)).toBe('skipped');
  });

  test('what is asked for during a run that fails follows it at once', async () => {
    const crm = await startWith('hubspot');
    const id = await connect(crm);
    const app = await signIn();
    crm.intercept = async (_request, response) => {
      if (crm.pages().length !== 2) return false;
      await app.admin.crm.syncNow.mutate({ connection_id: id });
      crm.intercept = null;
      answer(response, 503, {});
      return true;
    };
    expect(await sync(id)).toBe('failed');
    crm.token = 'another';
    expect(await sync(id)).toBe('failed');
    // It was asked for once.
    expect(await sync(id)).toBe('skipped');
  });

  test('a round that goes on after a failure waits among the long ones', async () => {
    const crm = await startWith('pipedrive');
    const id = await connect(crm);
    const refuse = (_request: FakeRequest, response: ServerResponse) => {
      answer(response, 503, {});
      return true;
    };
    crm.intercept = refuse;
    expect(await sync(id)).toBe('failed');
    const failed = { failure_streak: 1, last_error: 'provider_error' };
    clock.advance(2 * MINUTE);
    // A worker that stops has read nothing.
    crm.intercept = null;
    expect(await sync(id, { signal: AbortSignal.abort() })).toBe('yielded');
    expect(await connectionRow(id)).toMatchObject(failed);
    crm.intercept = () => {
      clock.advance(40_000);
      return false;
    };
    expect(await sync(id)).toBe('yielded');
    expect(await connectionRow(id)).toMatchObject({ ...failed, last_error: null });
    expect(await stored(id)).not.toEqual(expected(crm));
    // What fails in each run after some pages is tried less and less often.
    crm.intercept = refuse;
    expect(await sync(id)).toBe('failed');
    expect(await connectionRow(id)).toMatchObject({ ...failed, failure_streak: 2 });
    clock.advance(MINUTE);
    crm.intercept = null;
    expect(await sync(id)).toBe('skipped');
    clock.advance(2 * MINUTE);
    expect(await sync(id)).toBe('done');
    expect(await connectionRow(id)).toMatchObject({ failure_streak: 0, last_error: null });
    expect(await stored(id)).toEqual(expected(crm));
  });

  test('what is asked for before a round goes on follows the round, too', async () => {
    const crm = await startWith('pipedrive');
    const id = await connect(crm);
    crm.intercept = () => {
      clock.advance(40_000);
      return false;
    };
    expect(await sync(id)).toBe('yielded');
    crm.intercept = null;
    await (await signIn()).admin.crm.syncNow.mutate({ connection_id: id });
    clock.advance(1);
    expect(await sync(id)).toBe('again');
    expect(await sync(id)).toBe('done');
  });

  test('a run reads a page however long its list of owners takes', async () => {
    const crm = await startWith('pipedrive');
    const id = await connect(crm);
    crm.intercept = () => {
      if (crm.pages().length === 0) clock.advance(61_000);
      return false;
    };
    expect(await sync(id)).toBe('done');
    expect(await stored(id)).toEqual(expected(crm));
  });

  test('a long run lets others go first and continues later', async () => {
    const crm = await startWith('pipedrive');
    const id = await connect(crm);
    crm.intercept = () => {
      clock.advance(40_000);
      return false;
    };
    expect(await sync(id)).toBe('yielded');
    const pages = crm.pages().length;
    crm.intercept = null;
    expect(await sync(id)).toBe('done');
    expect(crm.pages().length).toBe(3);
    expect(pages).toBeLessThan(3);
    expect(await stored(id)).toEqual(expected(crm));
  });
});

test('a run that fails again is told less and less, until it fails otherwise', async () => {
  const crm = await startWith('pipedrive');
  const id = await connect(crm);
  const told: [failures: number, reason: string][] = [];
  const fail = async (status: number): Promise<void> => {
    crm.intercept = (_request, response) => {
      answer(response, status, { success: false });
      return true;
    };
    await rows(`update crm_connection set next_sync_at = created_at where id = $1`, [id]);
    const onFailure: SyncDependencies['onFailure'] = ({ failures, reason }) =>
      void told.push([failures, reason]);
    expect(await sync(id, { onFailure })).toBe('failed');
  };
  for (let times = 0; times < 9; times += 1) await fail(503);
  await fail(401);
  await fail(401);
  const errors = [1, 2, 4, 8].map((failures) => [failures, 'provider_error']);
  expect(told).toEqual([...errors, [10, 'unauthorized']]);
});

test('a statement that takes too long is a failure of ours, and told like any other', async () => {
  const crm = await startWith('hubspot');
  const id = await connect(crm);
  await sync(id);
  crm.put({ id: 1, title: 'Renamed', modified: ago(-5) });
  clock.advance(16 * MINUTE);
  const release = await holdLock(
    api(),
    `select from crm_deal where team_id = 'team_a' and external_id = '1' for update`,
  );
  const hurried = waitToConnect(
    openDatabase({
      url: api().databaseUrl,
      poolMax: 4,
      onError: () => undefined,
      statementTimeoutMs: 3_000,
    }),
  );
  await expect(sync(id, { db: hurried })).rejects.toMatchObject({ code: 'unavailable' });
  await hurried.close();
  await release();
  expect(await connectionRow(id)).toMatchObject({
    last_error: 'internal',
    failure_streak: 1,
    sync_token: null,
    sync_lease_until: null,
  });
  expect(await events()).toMatchObject([{ connection_id: id, reason: 'internal' }]);
  clock.advance(MINUTE);
  expect(await sync(id)).toBe('done');
  expect(await stored(id)).toEqual(expected(crm));
});

test('a database that cannot work for a moment is no failure of the connection', async () => {
  const crm = await startWith('hubspot');
  const id = await connect(crm);
  await changeTriggers(
    api(),
    `create function refuse() returns trigger language plpgsql as $$
     begin
       raise exception 'not free in time' using errcode = 'lock_not_available';
     end $$`,
    `create trigger refuse before update on crm_connection for each row
     when (old.sync_state is distinct from new.sync_state)
     execute function refuse()`,
  );
  await expect(sync(id)).rejects.toMatchObject({ code: 'unavailable', cause: { code: '55P03' } });
  expect(await connectionRow(id)).toMatchObject({ last_error: null, failure_streak: 0 });
  expect(await events()).toEqual([]);
  await changeTriggers(api(), 'drop trigger refuse on crm_connection');
  clock.advance(3 * MINUTE);
  expect(await sync(id)).toBe('done');
  expect(await stored(id)).toEqual(expected(crm));
});

test('a sweep of many rows goes on where another run has stopped', async () => {
  const crm = await startWith('hubspot');
  const id = await connect(crm, 'Einwand:');
  await sync(id);
  clock.advance(25 * 60 * MINUTE);
  await api().db.pool.query(
    `insert into crm_deal
       (team_id, id, connection_id, external_id, outcome, title, created_at, synced_at)
     select 'team_a', 'many_' || n, $1, to_char(n, 'FM0000000'), 'open', 'Gone', $2,
       case when n % 1000 = 0 then $2 else $3::timestamptz end
     from generate_series(1, 4500) n`,
    [id, NOW, clock.now()],
  );
  const left = async () => (await rows(`select from crm_deal where title = 'Gone'`)).length;
  const stop = new AbortController();
  // The worker stops after the first step that has removed a deal.
  const transaction: Db['transaction'] = async (work) => {
    const result = await api().db.transaction(work);
    if ((await left()) < 4500) stop.abort();
    return result;
  };
  const db = Object.assign(Object.create(api().db) as Db, { transaction });
  expect(await sync(id, { db, signal: stop.signal })).toBe('yielded');
  expect(await left()).toBe(4498);
  expect(await sync(id)).toBe('done');
  expect(await left()).toBe(4496);
});

describe('the worker', () => {
  // The first one stands at its second page, as if its worker had been killed there.
  test.each<[string, (id: string) => Promise<void>]>([
    [
      'is never heard of again',
      async (id) => {
        clock.advance(3 * MINUTE);
        expect(await sync(id)).toBe('done');
      },
    ],
    // The release of a dead worker's jobs lets another one run it.
    ['had its job, which runs again', async (id) => expect(await sync(id, {}, '17')).toBe('done')],
  ])('goes on where a run was that %s', async (_which, takesOver) => {
    const crm = await startWith('hubspot', makeDeals(9));
    const id = await connect(crm);
    const [asked, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    crm.intercept = async () => {
      if (crm.pages().length !== 2) return false;
      crm.intercept = null;
      asked.resolve();
      await goOn.promise;
      return false;
    };
    const first = sync(id, {}, '17');
    await asked.promise;
    expect(await stored(id)).toHaveLength(3);
    crm.requests.length = 0;
    expect(await sync(id)).toBe('skipped');
    await takesOver(id);
    expect(await stored(id)).toEqual(expected(crm));
    expect(JSON.stringify(crm.pages()[0]?.body)).not.toContain('"value":"0"');
    goOn.resolve();
    await first;
    expect(await stored(id)).toEqual(expected(crm));
  });

  test('adds one job for each due connection, and none while it synchronizes', async () => {
    const crm = await startWith('hubspot');
    const id = await connect(crm);
    const jobs = async () =>
      (
        await api().db.pool.query(
          `select task_identifier, queue_name
           from graphile_worker.jobs
           where task_identifier = 'sync_crm_connection'`,
        )
      ).rows;
    await api().db.pool.query(`update crm_connection set sync_lease_until = $1`, [
      new Date(NOW.getTime() + 1000),
    ]);
    await scheduleDue(api().db, clock);
    expect(await jobs()).toEqual([]);
    await api().db.pool.query(`update crm_connection set sync_lease_until = null`);
    await scheduleDue(api().db, clock);
    await scheduleDue(api().db, clock);
    expect(await jobs()).toHaveLength(1);
    await api().db.pool.query(`update team set status = 'suspended'`);
    expect(await sync(id)).toBe('skipped');
  });
});
