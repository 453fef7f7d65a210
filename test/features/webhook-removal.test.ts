// A deleted webhook endpoint: gone at once for everybody, its rows removed in batches by a job, and
// no deadlock with what the delivery loop does meanwhile.
import { beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { statement, type Tx } from '../../src/db/client.ts';
import { claimDue, releaseClaims, releaseForgotten } from '../../src/delivery/claim-store.ts';
import { insertDeliveries, takeEvents } from '../../src/delivery/fan-out-store.ts';
import { findWaiting, FIRST_ENDPOINT, WAITING_STATUSES } from '../../src/delivery/waiting-store.ts';
import { removeDeletedEndpoint } from '../../src/features/webhook-deliveries/removal.ts';
import { resendBatch } from '../../src/features/webhook-deliveries/resend-service.ts';
import { codeOf } from '../support/app.ts';
import { endWaiting, holdLock, untilWaiting } from '../support/locks.ts';
import { openLoopDatabase, type LoopDatabase } from '../support/loop-database.ts';
import {
  api,
  app,
  rows,
  startResend,
  useStoredDeliveries,
  writeDeliveries,
} from '../support/stored-deliveries.ts';

useStoredDeliveries();

/** The database as the delivery loop of team a uses it. */
let loop: LoopDatabase;
beforeEach(async () => {
  loop = await openLoopDatabase(api.databaseUrl, 'team_a');
  return () => loop.close();
});

const WORKER = 7;
const GONE = { teamId: 'team_a', endpointId: 'whe_1' };
const TO_THE_END = { runMs: 100_000 };
const STOPPING = { signal: AbortSignal.abort() };

const remove = (id = 'whe_1') => api.call(api.key('team_a'), 'DELETE', `/webhook-endpoints/${id}`);
const countOf = async (table: string, where = 'true'): Promise<number> =>
  (await rows(`select count(*)::int as n from ${table} where ${where}`))[0].n;
const jobs = () =>
  rows(`select task, key, queue from pending_job where task = 'remove_deliveries'`);

describe('a deleted endpoint', () => {
  test('is gone at once, with its deliveries and resends, before their rows are', async () => {
    await writeDeliveries({ prefix: 'g', count: 3 });
    await writeDeliveries({ prefix: 'r', count: 1, status: 'retrying' });
    await writeDeliveries({ endpoint: 'whe_2', prefix: 'o', count: 2 });
    await rows(`update webhook_delivery set urgent = true where id = 'r00001'`);
    const resend = await startResend();
    expect((await remove()).status).toBe(200);

    expect(await countOf('webhook_delivery', `endpoint_id = 'whe_1'`)).toBe(4);
    const listed = await app.admin.deliveries.list.query({});
    expect(listed.data.map(({ id }) => id).toSorted()).toEqual(['o00001', 'o00002']);
    for (const id of ['g00001', 'r00001']) {
      expect(await codeOf(app.admin.deliveries.get.query({ delivery_id: id }))).toBe('not_found');
      const retry = `/webhook-deliveries/${id}/retry`;
      expect((await api.call(api.key('team_a'), 'POST', retry)).status).toBe(404);
    }
    const { getResend, cancelResend } = app.admin.deliveries;
    expect(await codeOf(getResend.query({ resend_id: resend.id }))).toBe('not_found');
    expect(await codeOf(cancelResend.mutate({ resend_id: resend.id }))).toBe('not_found');
    const now = new Date('2099-01-01');
    const shares = [{ queue: { teamId: 'team_a', endpointId: 'whe_1' }, room: 10 }];
    for (const waits of WAITING_STATUSES) {
      expect(await claimDue(loop.db, waits, { worker: WORKER, shares, now })).toEqual([]);
      const search = { after: FIRST_ENDPOINT, limit: 10, now };
      expect((await findWaiting(loop.db, waits, search)).due).toEqual([]);
    }
    expect(await jobs()).toEqual([
      { task: 'remove_deliveries', key: 'remove_deliveries:team_a:whe_1', queue: 'removals' },
    ]);
  });

  test('does not end the search of the delivery loop', async () => {
    for (const endpoint of ['whe_1', 'whe_2', 'whe_3'])
      await writeDeliveries({ endpoint, prefix: endpoint, count: 1, status: 'retrying' });
    await remove('whe_2');
    const search = { limit: 2, now: new Date('2099-01-01') };
    const first = await findWaiting(loop.db, 'retrying', { after: FIRST_ENDPOINT, ...search });
    const second = await findWaiting(loop.db, 'retrying', { after: first.next, ...search });
    expect([...first.due, ...second.due].map(({ endpoint_id }) => endpoint_id)).toEqual([
      'whe_1',
      'whe_3',
    ]);
  });

  test('waits for a fan-out that has begun, so that the removal finds its deliveries', async () => {
    await rows(`update webhook_endpoint set events = '{member.joined}'`);
    await rows(
      `insert into event (team_id, id, type, data, created_at)
       select 'team_a', 'evt_' || n, 'member.joined', '{}', now()
       from generate_series(1, 2) n`,
    );
    const fanOut = async (tx: Tx): Promise<void> => {
      const taken = await takeEvents(tx, { limit: 1, from: null, before: null });
      insertDeliveries(tx, {
        at: new Date(),
        worker: WORKER,
        events: taken.map((row) => ({ teamId: row.team_id, id: row.event_id })),
        deliveries: taken.map((row) => ({
          teamId: row.team_id,
          id: `${row.event_id} for ${row.endpoint_id}`,
          endpointId: row.endpoint_id ?? '',
          eventId: row.event_id,
          eventType: row.event_type,
          claimed: false,
        })),
      });
    };
    let removed: ReturnType<typeof remove> | undefined;
    await loop.db.transaction(async (tx) => {
      await fanOut(tx);
      await tx.query(statement('test.removal.insert', 'select 1 as done'), []);
      removed = remove();
      await untilWaiting(api, 1);
    });
    expect((await removed)?.status).toBe(200);
    await loop.db.transaction(fanOut);
    expect(await countOf('webhook_delivery', `endpoint_id = 'whe_1'`)).toBe(1);
    expect(await countOf('webhook_delivery', `endpoint_id = 'whe_2'`)).toBe(2);
    await removeDeletedEndpoint(api.db, GONE, TO_THE_END);
    expect(await countOf('webhook_delivery', `endpoint_id = 'whe_1'`)).toBe(0);
  });
});

describe('the removal', () => {
  test('removes everything of the endpoint, and nothing else', async () => {
    await writeDeliveries({ prefix: 'g', count: 1100 });
    await writeDeliveries({ prefix: 'p', count: 10, status: 'pending' });
    await writeDeliveries({ endpoint: 'whe_2', prefix: 'o', count: 5 });
    await rows(`update webhook_delivery set claimed_by = 5 where id = 'p00001'`);
    await startResend();
    await remove();
    await removeDeletedEndpoint(api.db, GONE, TO_THE_END);
    expect(await countOf('webhook_delivery')).toBe(5);
    expect(await countOf('webhook_resend')).toBe(0);
    expect(await countOf('event')).toBe(1115);
  });

  test('leaves an endpoint alone that exists', async () => {
    await writeDeliveries({ prefix: 'g', count: 10 });
    await removeDeletedEndpoint(api.db, GONE, TO_THE_END);
    expect(await countOf('webhook_delivery')).toBe(10);
    expect(await jobs()).toEqual([]);
  });

  test('goes on later if it is told to stop, or if a row is locked', async () => {
    await writeDeliveries({ prefix: 'g', count: 1100 });
    await remove();
    await rows('delete from pending_job');
    await removeDeletedEndpoint(api.db, GONE, STOPPING);
    expect(await countOf('webhook_delivery')).toBe(600);
    expect(await jobs()).toHaveLength(1);
    const release = await holdLock(
      api,
      `select from webhook_delivery where team_id = 'team_a' and id = 'g00001' for update`,
    );
    await removeDeletedEndpoint(api.db, GONE, TO_THE_END);
    expect(await rows('select id from webhook_delivery')).toEqual([{ id: 'g00001' }]);
    await release();
    await removeDeletedEndpoint(api.db, GONE, TO_THE_END);
    expect(await countOf('webhook_delivery')).toBe(0);
  });

  test('goes on where the run before stopped, and ends with what was locked', async () => {
    await writeDeliveries({ prefix: 'g', count: 1100 });
    await remove();
    /** Runs the job that waits, for one batch. */
    const runNext = async (): Promise<string[]> => {
      const [{ payload }] = await rows('delete from pending_job returning payload');
      await removeDeletedEndpoint(api.db, payload, STOPPING);
      return (await rows('select id from webhook_delivery order by id')).map(({ id }) => id);
    };
    const release = await holdLock(
      api,
      `select from webhook_delivery where team_id = 'team_a' and id = 'g01100' for update`,
    );
    expect((await runNext()).slice(-2)).toEqual(['g00599', 'g01100']);
    await release();
    // It does not look at the youngest again.
    expect((await runNext()).slice(-2)).toEqual(['g00099', 'g01100']);
    expect(await runNext()).toEqual(['g01100']);
    // Behind the last one, then from the beginning.
    expect(await runNext()).toEqual(['g01100']);
    expect(await runNext()).toEqual([]);
  });

  test('that breaks off in a batch keeps it, and removes it when it runs again', async () => {
    await writeDeliveries({ prefix: 'g', count: 2000 });
    await rows(`update event set kept_for_deliveries = true where id = 'evt_g00700'`);
    await remove();
    const release = await holdLock(
      api,
      `select from event where team_id = 'team_a' and id = 'evt_g00700' for update`,
    );
    const removal = removeDeletedEndpoint(api.db, GONE, TO_THE_END).then(
      () => 'done',
      () => 'broken',
    );
    // It has deleted a batch, and does not commit that.
    await untilWaiting(api, 1, '%kept_for_deliveries%');
    await endWaiting(api);
    expect(await removal).toBe('broken');
    expect(await countOf('webhook_delivery')).toBeGreaterThan(500);
    await release();
    await removeDeletedEndpoint(api.db, GONE, TO_THE_END);
    expect(await countOf('webhook_delivery')).toBe(0);
  });
});

describe('released claims do not deadlock', () => {
  const claimed = (ids: readonly string[]) => ids.map((id) => ({ team_id: 'team_a', id }));
  const writeClaimed = async (): Promise<string[]> => {
    const ids = await writeDeliveries({ prefix: 'd', count: 3, status: 'retrying' });
    await rows(`update webhook_delivery set claimed_by = ${WORKER}`);
    return ids;
  };

  test('with the deletion of their endpoint', async () => {
    const ids = await writeClaimed();
    const release = await holdLock(
      api,
      `select from webhook_delivery where team_id = 'team_a' and id = '${ids[1]}' for update`,
    );
    const released = releaseClaims(loop.db, WORKER, claimed(ids.toReversed()));
    const removed = remove();
    await Promise.race([untilWaiting(api, 2), Promise.all([released, removed])]);
    await release();
    expect(await released).toBe(false);
    expect((await removed).status).toBe(200);
  });

  test('with a resend of their endpoint', async () => {
    const ids = await writeClaimed();
    // The resend locks the oldest first.
    for (const [n, id] of ids.entries())
      await rows(
        `update webhook_delivery
         set created_at = timestamptz '2026-10-01T00:01:00Z' - $2 * interval '1 second'
         where team_id = 'team_a' and id = $1`,
        [id, n],
      );
    const { id } = await startResend();
    const release = await holdLock(
      api,
      `select from webhook_delivery where team_id = 'team_a' and id = '${ids[1]}' for update`,
    );
    const released = releaseClaims(loop.db, WORKER, claimed(ids.toReversed()));
    const resent = resendBatch(api.db, systemClock, { ...GONE, resendId: id });
    await Promise.race([untilWaiting(api, 2), Promise.all([released, resent]), released]);
    await release();
    expect(await released).toBe(false);
    await resent;
    await releaseForgotten(loop.db, WORKER, []);
    expect(await countOf('webhook_delivery', 'claimed_by is not null')).toBe(0);
  });
});
