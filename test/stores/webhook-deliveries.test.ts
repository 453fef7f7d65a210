// Which webhook endpoints and deliveries lists, resends, removals and pauses touch, among
// those of two teams with the same ids.
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { fixedClock, type Clock } from '../../src/core/clock.ts';
import type { Tx } from '../../src/db/client.ts';
import { holdRow } from '../../src/db/row-lock.ts';
import * as admin from '../../src/features/webhook-deliveries/admin-store.ts';
import * as removals from '../../src/features/webhook-deliveries/removal-store.ts';
import * as resends from '../../src/features/webhook-deliveries/resend-store.ts';
import { PINGS_PASSED_MAX } from '../../src/features/webhook-deliveries/rules.ts';
import * as deliveries from '../../src/features/webhook-deliveries/store.ts';
import { MAIL_PAUSE } from '../../src/features/webhook-endpoints/jobs.ts';
import * as pauses from '../../src/features/webhook-endpoints/pause-store.ts';
import { mailAdmins, pauseEndpoints } from '../../src/features/webhook-endpoints/pause.ts';
import * as endpoints from '../../src/features/webhook-endpoints/store.ts';
import { openTwinStores, type TwinStores } from '../support/twin-stores.ts';

const AT = new Date('2026-11-20T10:00:00.000Z');
const SINCE = '2026-11-20T09:00:00.000Z';

let twins: TwinStores;
/** Every delivery of both teams failed for good, at `whe_1`, and was made within the hour. */
beforeEach(async () => {
  twins = await openTwinStores();
  await twins.pool.query(
    `delete from webhook_delivery where id not in ('whd_1', 'whd_2', 'whd_3')`,
  );
  await twins.pool.query(
    `update webhook_delivery
     set endpoint_id = 'whe_1', status = 'gave_up', claimed_by = null, urgent = false,
       next_try_at = null, resent = false,
       created_at = '2026-11-20T09:00:00Z'::timestamptz + interval '1 minute' * right(id, 1)::int`,
  );
});

const set = (id: string, text: string) =>
  twins.pool.query(`update webhook_delivery set ${text} where team_id = 'team_a' and id = $1`, [
    id,
  ]);
const inTransaction = <T>(work: (tx: Tx) => T | Promise<T>) => twins.inTransaction(work);
/** The other team's endpoint of the same id stays. */
const deleteEndpoint = (id: string) =>
  twins.pool.query(`delete from webhook_endpoint where team_id = 'team_a' and id = $1`, [id]);
/** Adds deliveries of `whe_1` of team A: `whd_n0001` and so on. */
const addMany = (count: number, createdAt: string) =>
  twins.pool.query(
    `with made as (
       insert into event (team_id, id, type, data, created_at, fanned_out_at)
       select 'team_a', 'evt_n' || n, 'x', '{}', now(), now()
       from generate_series(1, $1::int) n
     )
     insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, attempt, created_at)
     select 'team_a', 'whd_n' || to_char(n, 'FM0000'), 'whe_1', 'evt_n' || n, 'x', 'ok', 1,
       ${createdAt}
     from generate_series(1, $1::int) n`,
    [count],
  );
const RESEND = {
  id: 'whr_1',
  endpoint_id: 'whe_1',
  state: 'running' as const,
  since: SINCE,
  until: null as string | null,
  event_type: null,
  status: null as string | null,
  total: 3,
  has_more: false,
  sent: 0,
  position_at: null,
  position_id: null,
  created_at: AT.toISOString(),
  finished_at: null,
};
const queue = (fields: Partial<typeof RESEND> = {}, limit = 10, room = limit) =>
  inTransaction((tx) =>
    resends.queueBatch(tx, 'team_a', { resend: { ...RESEND, ...fields }, limit, room, now: AT }),
  );
/** The ids of the deliveries that `work` changed, in team A. */
async function touchedBy(work: () => Promise<unknown>): Promise<string[]> {
  const { webhook_delivery = [], ...others } = await twins.changes(work);
  expect(others).toEqual({});
  return [...new Set(webhook_delivery.map((line) => line.replace(/:.*/, '')))];
}

test('makeUrgent marks one delivery', async () => {
  const changed = await twins.changes(() =>
    inTransaction((tx) => deliveries.makeUrgent(tx, 'team_a', 'whd_2')),
  );
  expect(changed).toEqual({ webhook_delivery: ['team_a whd_2: urgent false → true'] });
});

describe('queueBatch', () => {
  test('makes failed deliveries due now, the oldest first, and says where it ended', async () => {
    let batch: Awaited<ReturnType<typeof queue>> | null = null;
    const changed = await twins.changes(async () => {
      batch = await queue({}, 2);
    });
    expect(changed).toEqual({
      webhook_delivery: ['whd_1', 'whd_2'].flatMap((id) => [
        `team_a ${id}: next_try_at null → 2026-11-20T10:00:00+00:00`,
        `team_a ${id}: resent false → true`,
        `team_a ${id}: status gave_up → retrying`,
      ]),
    });
    expect(batch).toEqual({ count: 2, last: { at: '2026-11-20T09:02:00.000Z', id: 'whd_2' } });
  });

  test.each(['is claimed', 'was marked before'])(
    'marks a delivery that %s, and counts nothing',
    async (state) => {
      await set('whd_1', state === 'is claimed' ? 'claimed_by = 7' : 'resent = true');
      const { webhook_delivery } = await twins.changes(() => queue({}, 1));
      expect(webhook_delivery).toEqual([
        'team_a whd_1: next_try_at null → 2026-11-20T10:00:00+00:00',
        ...(state === 'is claimed' ? ['team_a whd_1: resent false → true'] : []),
        'team_a whd_1: status gave_up → retrying',
      ]);
    },
  );

  test.each([
    ['was delivered', `status = 'ok'`],
    ['is a test', `event_type = 'ping'`],
    ['is of another endpoint', `endpoint_id = 'whe_2'`],
    ['is older', `created_at = '2026-11-20T08:59:59Z'`],
    ['came after the start', `created_at = '2026-11-20T10:00:01Z'`],
    ['is urgent already', `urgent = true`],
  ])('leaves a delivery that %s', async (_case, state) => {
    await set('whd_2', state);
    expect(await touchedBy(queue)).toEqual(['team_a whd_1', 'team_a whd_3']);
  });

  test('leaves what came at the end of the time or later', async () => {
    const until = '2026-11-20T09:02:00.000Z';
    expect(await touchedBy(() => queue({ until }))).toEqual(['team_a whd_1']);
  });

  test('takes one that was made at the very start or end of the time', async () => {
    await set('whd_1', `created_at = '2026-11-20T09:00:00Z'`);
    await set('whd_3', `created_at = '2026-11-20T10:00:00Z'`);
    expect(await touchedBy(queue)).toEqual(['team_a whd_1', 'team_a whd_2', 'team_a whd_3']);
  });

  test('looks at more than it may queue, and ends at the last that it queues', async () => {
    await set('whd_1', `status = 'retrying', next_try_at = '2026-11-20T12:00:00Z'`);
    let batch: Awaited<ReturnType<typeof queue>> | null = null;
    const touched = await touchedBy(async () => {
      batch = await queue({ status: 'gave_up' }, 10, 1);
    });
    expect(touched).toEqual(['team_a whd_2']);
    expect(batch).toEqual({ count: 1, last: { at: '2026-11-20T09:02:00.000Z', id: 'whd_2' } });
  });

  test('passes failed tests, a batch at a time', async () => {
    await set('whd_1', `event_type = 'ping'`);
    let batch: Awaited<ReturnType<typeof queue>> | null = null;
    expect(await touchedBy(async () => (batch = await queue({}, 2)))).toEqual(['team_a whd_2']);
    expect(batch).toEqual({ count: 1, last: { at: '2026-11-20T09:02:00.000Z', id: 'whd_2' } });
    await set('whd_2', `event_type = 'ping', status = 'gave_up', next_try_at = null`);
    expect(await touchedBy(async () => (batch = await queue({}, 2)))).toEqual([]);
    expect(batch).toEqual({ count: 0, last: { at: '2026-11-20T09:02:00.000Z', id: 'whd_2' } });
  });

  test('goes on after the last position', async () => {
    const position = { position_at: '2026-11-20T09:02:00.000Z', position_id: 'whd_2' };
    expect(await touchedBy(() => queue(position as never))).toEqual(['team_a whd_3']);
  });
});

/** All failures of team A. */
const WANTED = {
  endpointId: null,
  since: SINCE,
  until: null,
  eventType: null,
  status: null as string | null,
  at: AT,
  countMax: 10,
};

test('the start of a resend locks its endpoints, in their order', async () => {
  const locks = (tx: Tx) => resends.readStartFacts(tx, 'team_a', null);
  const all = [1, 2, 3, 4, 5].map((number) => `team_a whe_${number}`);
  expect(await twins.lockedBy('webhook_endpoint', locks)).toEqual(all);
});

describe('what a resend starts with', () => {
  const countsOf = async (endpointId: string | null, until: string | null = null) => {
    const wanted = { ...WANTED, endpointId, until };
    const counted = await resends.countFailed(twins.db, 'team_a', wanted);
    return Array.from(counted, ([id, { failed }]) => [id, failed]);
  };
  const facts = async () =>
    (await inTransaction((tx) => resends.readStartFacts(tx, 'team_a', 'whe_1')))[0];

  test("is of the team's own endpoints", async () => {
    await deleteEndpoint('whe_5');
    expect((await countsOf(null)).map(([id]) => id)).toEqual(['whe_1', 'whe_2', 'whe_3', 'whe_4']);
  });

  test('is whether a resend of the endpoint runs', async () => {
    await twins.pool.query(`update webhook_resend set state = 'done', finished_at = now()`);
    const idle = { endpoint_id: 'whe_1', status: 'active', is_running: false };
    expect(await facts()).toEqual(idle);
    const run = (id: string, team: string) =>
      twins.pool.query(
        `update webhook_resend
         set state = 'running', finished_at = null
         where team_id = $1 and id = $2`,
        [team, id],
      );
    await run('whr_1', 'team_b');
    await run('whr_2', 'team_a');
    expect(await facts()).toMatchObject({ is_running: false });
    await run('whr_1', 'team_a');
    expect(await facts()).toMatchObject({ is_running: true });
  });

  test.each([
    `status = 'ok'`,
    `event_type = 'ping'`,
    `endpoint_id = 'whe_2'`,
    `created_at = '2026-11-20T08:59:59Z'`,
    `created_at = '2026-11-20T10:00:01Z'`,
  ])('is not a delivery with %s', async (state) => {
    expect(await countsOf('whe_1')).toEqual([['whe_1', 3]]);
    await set('whd_2', state);
    expect(await countsOf('whe_1')).toEqual([['whe_1', 2]]);
  });

  test('is those of one status, among so many, and whether there are more', async () => {
    await set('whd_1', `status = 'retrying', next_try_at = now()`);
    const count = async (fields: Partial<typeof WANTED>) => {
      const wanted = { ...WANTED, endpointId: 'whe_1', ...fields };
      return (await resends.countFailed(twins.db, 'team_a', wanted)).get('whe_1');
    };
    expect(await count({})).toEqual({ failed: 3, hasMore: false });
    expect(await count({ status: 'gave_up' })).toEqual({ failed: 2, hasMore: false });
    expect(await count({ status: 'retrying', countMax: 3 })).toEqual({ failed: 1, hasMore: false });
    expect(await count({ countMax: 2 })).toEqual({ failed: 2, hasMore: true });
    expect(await count({ status: 'gave_up', countMax: 1 })).toEqual({ failed: 1, hasMore: true });
  });

  test('is what is found behind so many failed tests', async () => {
    const count = async (countMax: number) =>
      (await resends.countFailed(twins.db, 'team_a', { ...WANTED, countMax })).get('whe_1');
    await addMany(PINGS_PASSED_MAX, `'2026-11-20T09:00:30Z'`);
    await twins.pool.query(
      `update webhook_delivery
       set event_type = 'ping', status = 'gave_up'
       where team_id = 'team_a' and id like 'whd_n%'`,
    );
    expect(await count(10)).toEqual({ failed: 3, hasMore: false });
    expect(await count(3)).toEqual({ failed: 3, hasMore: false });
    expect(await count(2)).toEqual({ failed: 2, hasMore: true });
    await set('whd_1', `event_type = 'ping'`);
    await set('whd_2', `event_type = 'ping'`);
    // One that follows is not looked at.
    expect(await count(1)).toEqual({ failed: 0, hasMore: true });
    expect(await count(2)).toEqual({ failed: 1, hasMore: true });
    expect(await count(3)).toEqual({ failed: 1, hasMore: false });
  });

  test('is not what came at the end of the time or later', async () => {
    expect(await countsOf('whe_1', '2026-11-20T09:02:00.000Z')).toEqual([['whe_1', 1]]);
  });

  test('without an endpoint, is counted at each of the team', async () => {
    await set('whd_2', `endpoint_id = 'whe_2'`);
    expect(await countsOf(null)).toEqual([
      ['whe_1', 2],
      ['whe_2', 1],
      ['whe_3', 0],
      ['whe_4', 0],
      ['whe_5', 0],
    ]);
  });
});

describe('countDue', () => {
  const due = (countMax = 10) =>
    inTransaction((tx) =>
      resends.countDue(tx, 'team_a', { endpointId: 'whe_1', now: AT, countMax }),
    );
  beforeEach(() =>
    twins.pool.query(`update webhook_delivery set status = 'retrying', next_try_at = $1`, [AT]),
  );

  test('counts retries that are due, up to a number', async () => {
    expect(await due()).toBe(3);
    expect(await due(2)).toBe(2);
  });

  test.each([
    `status = 'pending'`,
    `claimed_by = 7`,
    `next_try_at = '2026-11-20T10:00:01Z'`,
    `endpoint_id = 'whe_2'`,
  ])('does not count one with %s', async (state) => {
    await set('whd_2', state);
    expect(await due()).toBe(2);
  });
});

test('updateResend writes one resend', async () => {
  const { webhook_resend = [] } = await twins.changes(() =>
    inTransaction((tx) => resends.updateResend(tx, 'team_a', { ...RESEND, sent: 99 })),
  );
  expect(webhook_resend.map((line) => line.replace(/: .*/, ''))).toEqual(['team_a whr_1']);
  expect(webhook_resend.some((line) => line.includes('sent'))).toBe(true);
});

test('findDelivery shows the delivery with its own endpoint and event', async () => {
  await set('whd_2', `endpoint_id = 'whe_3', event_id = 'evt_4'`);
  await twins.pool.query(
    `update webhook_endpoint set url = 'https://of.test/' || team_id || '/' || id`,
  );
  await twins.pool.query(`update event set data = json_build_object('of', team_id || ' ' || id)`);
  expect(await admin.findDelivery(twins.db, 'team_a', 'whd_2')).toMatchObject({
    id: 'whd_2',
    url: 'https://of.test/team_a/whe_3',
    event_data: '{"of" : "team_a evt_4"}',
  });
  expect(await admin.findDelivery(twins.db, 'team_b', 'whd_2')).toMatchObject({
    url: 'https://of.test/team_b/whe_1',
    event_data: '{"of" : "team_b evt_2"}',
  });
});

test('findDelivery finds none of an endpoint that was deleted', async () => {
  await deleteEndpoint('whe_1');
  expect(await admin.findDelivery(twins.db, 'team_a', 'whd_2')).toBeNull();
});

describe('the list of all deliveries', () => {
  const list = async (
    filters: admin.DeliveryFilters = {},
    limit = 9,
    after: string | null = null,
  ) => {
    const [at = '', id = ''] = after?.split(' ') ?? [];
    const page = { limit, after: after === null ? null : { at, id } };
    const { rows } = await admin.listDeliveries(twins.db, 'team_a', page, filters);
    return rows.map((row) => `${row.id} ${row.endpoint_id}`);
  };

  /** In team B the same deliveries belong to other endpoints. */
  beforeEach(async () => {
    await set('whd_2', `endpoint_id = 'whe_2'`);
    await twins.pool.query(
      `update webhook_delivery
       set endpoint_id =
         case id when 'whd_1' then 'whe_2' when 'whd_2' then 'whe_1' else 'whe_3' end
       where team_id = 'team_b'`,
    );
  });

  test('shows the team its deliveries, the newest first', async () => {
    expect(await list()).toEqual(['whd_3 whe_1', 'whd_2 whe_2', 'whd_1 whe_1']);
    expect(await list({}, 2)).toEqual(['whd_3 whe_1', 'whd_2 whe_2']);
    expect(await list({}, 2, '2026-11-20T09:03:00.000Z whd_3')).toEqual([
      'whd_2 whe_2',
      'whd_1 whe_1',
    ]);
  });

  test('shows those of one moment by their ids', async () => {
    await twins.pool.query(`update webhook_delivery set created_at = $1`, [AT]);
    expect(await list({}, 2)).toEqual(['whd_3 whe_1', 'whd_2 whe_2']);
    expect(await list({}, 2, `${AT.toISOString()} whd_3`)).toEqual(['whd_2 whe_2', 'whd_1 whe_1']);
  });

  test('hides those of deleted endpoints', async () => {
    await deleteEndpoint('whe_1');
    expect(await list()).toEqual(['whd_2 whe_2']);
  });

  test('begins with the given time and ends before the other', async () => {
    const [since, until] = ['2026-11-20T09:02:00.000Z', '2026-11-20T09:03:00.000Z'];
    expect(await list({ since })).toEqual(['whd_3 whe_1', 'whd_2 whe_2']);
    expect(await list({ until })).toEqual(['whd_2 whe_2', 'whd_1 whe_1']);
  });

  test('takes those of one endpoint, or of one type', async () => {
    expect(await list({ endpoint_id: 'whe_1' })).toEqual(['whd_3 whe_1', 'whd_1 whe_1']);
    await set('whd_1', `event_type = 'ping'`);
    expect(await list({ event_type: 'ping' })).toEqual(['whd_1 whe_1']);
  });

  test.each(['retrying', 'ok', 'gave_up'] as const)('takes those that are %s', async (status) => {
    await twins.pool.query(`update webhook_delivery set status = 'pending', next_try_at = now()`);
    const next = status === 'retrying' ? `'2026-11-20Z'` : 'null';
    await set('whd_1', `status = '${status}', next_try_at = ${next}`);
    expect(await list({ status })).toEqual(['whd_1 whe_1']);
  });

  test('takes pending ones, whether a worker has them or not', async () => {
    await twins.pool.query(`update webhook_delivery set status = 'pending', next_try_at = now()`);
    await set('whd_1', 'claimed_by = 7');
    await set('whd_2', `status = 'retrying'`);
    const status = 'pending';
    expect(await list({ status })).toEqual(['whd_3 whe_1', 'whd_1 whe_1']);
    await set('whd_2', 'claimed_by = 7');
    expect(await list({ status })).toEqual(['whd_3 whe_1', 'whd_1 whe_1']);
  });

  test.each([
    ['of one moment', `timestamptz '2026-11-20T11:00Z'`, 'whd_n0210 whe_1'],
    ['of many', `timestamptz '2026-11-20T11:00Z' - interval '1 s' * n`, 'whd_n0001 whe_1'],
  ])('begins with the newest of more than a page, %s', async (_case, createdAt, newest) => {
    await addMany(210, createdAt);
    expect(await list({}, 1)).toEqual([newest]);
  });
});

describe('the last deliveries of an endpoint', () => {
  const list = async (endpointId: string, limit = 9) =>
    (await deliveries.listDeliveries(twins.db, 'team_a', endpointId, limit))?.map(({ id }) => id);

  test('are shown newest first, up to a number', async () => {
    await set('whd_2', `endpoint_id = 'whe_2'`);
    expect(await list('whe_1')).toEqual(['whd_3', 'whd_1']);
    expect(await list('whe_1', 1)).toEqual(['whd_3']);
    expect(await list('whe_2')).toEqual(['whd_2']);
  });

  test('are in the order of their ids if they are of one moment', async () => {
    await twins.pool.query(`update webhook_delivery set created_at = $1`, [AT]);
    expect(await list('whe_1', 2)).toEqual(['whd_3', 'whd_2']);
  });

  test('are none, or unknown', async () => {
    expect(await list('whe_5')).toEqual([]);
    await deleteEndpoint('whe_1');
    expect(await list('whe_1')).toBeUndefined();
  });
});

describe('findDeliveryForUpdate', () => {
  test('finds and locks one delivery', async () => {
    let found: deliveries.DeliveryRow | null = null;
    const locked = await twins.lockedBy('webhook_delivery', async (tx) => {
      found = await deliveries.findDeliveryForUpdate(tx, 'team_a', 'whd_2');
    });
    expect(found).toMatchObject({ id: 'whd_2' });
    expect(locked).toEqual(['team_a whd_2']);
  });

  test('finds none of an endpoint that was deleted', async () => {
    await deleteEndpoint('whe_1');
    const find = (tx: Tx) => deliveries.findDeliveryForUpdate(tx, 'team_a', 'whd_2');
    expect(await inTransaction(find)).toBeNull();
  });
});

describe('a resend', () => {
  const find = () => resends.findResend(twins.db, 'team_a', 'whr_1');
  const findForUpdate = (tx: Tx) => resends.findResendForUpdate(tx, 'team_a', 'whr_1');

  test('is found by its team and id, and locked', async () => {
    expect(await find()).toMatchObject({ id: 'whr_1', total: 7, state: 'running' });
    expect(await resends.findResend(twins.db, 'team_b', 'whr_1')).toMatchObject({ total: 9 });
    let found: resends.ResendRow | null = null;
    const locked = await twins.lockedBy('webhook_resend', async (tx) => {
      found = await findForUpdate(tx);
    });
    expect(found).toMatchObject({ id: 'whr_1', total: 7, state: 'running' });
    expect(locked).toEqual(['team_a whr_1']);
  });

  test('is not found when its endpoint was deleted', async () => {
    await deleteEndpoint('whe_1');
    expect(await find()).toBeNull();
    expect(await inTransaction(findForUpdate)).toBeNull();
  });

  test('locks its endpoint to start, and for a batch', async () => {
    const start = (tx: Tx) => resends.readStartFacts(tx, 'team_a', 'whe_1');
    expect(await twins.lockedBy('webhook_endpoint', start)).toEqual(['team_a whe_1']);
    const lock = (tx: Tx) => resends.lockEndpoint(tx, 'team_a', 'whe_3');
    expect(await twins.lockedBy('webhook_endpoint', lock)).toEqual(['team_a whe_3']);
    expect(await inTransaction(lock)).toBe('disabled');
  });

  test('cannot start at an endpoint that was deleted', async () => {
    await deleteEndpoint('whe_1');
    expect(await inTransaction((tx) => resends.readStartFacts(tx, 'team_a', 'whe_1'))).toEqual([]);
    expect(await inTransaction((tx) => resends.lockEndpoint(tx, 'team_a', 'whe_1'))).toBeNull();
  });

  test('holds all deliveries of a batch, urgent ones too', async () => {
    await set('whd_2', 'urgent = true');
    const locked = await twins.lockedBy('webhook_delivery', (tx) =>
      resends.queueBatch(tx, 'team_a', { resend: RESEND, limit: 2, room: 2, now: AT }),
    );
    expect(locked).toEqual(['team_a whd_1', 'team_a whd_2']);
  });

  test('of one status queues no others, and moves behind those that it has looked at', async () => {
    await set('whd_1', `status = 'retrying', next_try_at = '2026-11-20T12:00:00Z'`);
    const { webhook_delivery = [] } = await twins.changes(async () => {
      const { count, last } = await queue({ status: 'gave_up' }, 2);
      expect({ count, id: last?.id }).toEqual({ count: 1, id: 'whd_2' });
    });
    expect(new Set(webhook_delivery.map((line) => line.replace(/:.*/, '')))).toEqual(
      new Set(['team_a whd_2']),
    );
  });

  test('takes deliveries of one moment by their ids', async () => {
    await twins.pool.query(`update webhook_delivery set created_at = $1`, [AT]);
    const { last } = await queue({}, 2);
    expect(last).toEqual({ at: AT.toISOString(), id: 'whd_2' });
  });
});

describe('the removal of what a deleted endpoint left', () => {
  const OF = { teamId: 'team_a', endpointId: 'whe_1' };
  const remove = (after: { at: string; id: string } | null = null) =>
    removals.removeDeliveries(twins.db, OF, after);

  test('removes its deliveries', async () => {
    await set('whd_2', `endpoint_id = 'whe_2'`);
    await deleteEndpoint('whe_1');
    expect(await twins.changes(() => remove())).toEqual({
      webhook_delivery: ['- team_a whd_1', '- team_a whd_3'],
    });
  });

  test('removes nothing of an endpoint that is there', async () => {
    expect(await twins.changes(() => remove())).toEqual({});
    expect(await twins.changes(() => removals.removeResends(twins.db, OF))).toEqual({});
    expect(await removals.hasRows(twins.db, OF)).toBe(false);
  });

  test('goes on behind a position, and says where it ended', async () => {
    await twins.pool.query(`update webhook_delivery set created_at = $1 where id <> 'whd_3'`, [AT]);
    await deleteEndpoint('whe_1');
    let end: Awaited<ReturnType<typeof remove>> = null;
    const changed = await twins.changes(async () => {
      end = await remove({ at: AT.toISOString(), id: 'whd_2' });
    });
    expect(changed).toEqual({ webhook_delivery: ['- team_a whd_1', '- team_a whd_3'] });
    expect(end).toEqual({ at: '2026-11-20T09:03:00.000Z', id: 'whd_3' });
    expect(await remove(end)).toBeNull();
    // One moment: the last one is the one with the smallest id.
    expect(await remove()).toEqual({ at: AT.toISOString(), id: 'whd_2' });
  });

  test('ends with the smallest id of one moment', async () => {
    await twins.pool.query(`update webhook_delivery set created_at = $1`, [AT]);
    await deleteEndpoint('whe_1');
    expect(await remove()).toEqual({ at: AT.toISOString(), id: 'whd_1' });
  });

  test('takes a batch, the newest ones', async () => {
    await twins.pool.query('delete from webhook_delivery');
    // Two of each moment, and of the oldest moment two.
    await addMany(501, `timestamptz '2026-11-20Z' + interval '1 s' * ((501 - n) / 2)`);
    await deleteEndpoint('whe_1');
    await remove();
    const { rows } = await twins.pool.query<{ id: string }>('select id from webhook_delivery');
    expect(rows).toEqual([{ id: 'whd_n0500' }]);
  });

  test('passes over what is locked', async () => {
    await deleteEndpoint('whe_1');
    const held = `webhook_delivery where team_id = 'team_a' and id = 'whd_2'`;
    const changed = await twins.changes(() => twins.whileLocked(held, () => remove()));
    expect(changed).toEqual({ webhook_delivery: ['- team_a whd_1', '- team_a whd_3'] });
  });

  test('leaves the resends of other endpoints', async () => {
    await deleteEndpoint('whe_1');
    expect(await twins.changes(() => removals.removeResends(twins.db, OF))).toEqual({
      webhook_resend: ['- team_a whr_1'],
    });
  });

  test('removes its resends, and passes over what is locked', async () => {
    await twins.pool.query(`update webhook_resend set endpoint_id = 'whe_1' where id = 'whr_2'`);
    await deleteEndpoint('whe_1');
    expect(await removals.hasRows(twins.db, OF)).toBe(true);
    const held = `webhook_resend where team_id = 'team_a' and id = 'whr_2'`;
    const removeResends = () => removals.removeResends(twins.db, OF);
    const changed = await twins.changes(() => twins.whileLocked(held, removeResends));
    expect(changed).toEqual({ webhook_resend: ['- team_a whr_1'] });
  });

  test('ends when neither deliveries nor resends are left', async () => {
    await deleteEndpoint('whe_1');
    expect(await removals.hasRows(twins.db, OF)).toBe(true);
    await twins.pool.query(`delete from webhook_resend where team_id = 'team_a' and id = 'whr_1'`);
    expect(await removals.hasRows(twins.db, OF)).toBe(true);
    await twins.pool.query(
      `update webhook_delivery set endpoint_id = 'whe_2' where team_id = 'team_a'`,
    );
    expect(await removals.hasRows(twins.db, OF)).toBe(false);
    const resend = `update webhook_resend set endpoint_id = 'whe_1' where team_id = 'team_a'`;
    await twins.pool.query(resend);
    expect(await removals.hasRows(twins.db, OF)).toBe(true);
  });
});

describe('pauseEndpoints', () => {
  const pause = (pageSize = 100, clock: Clock = fixedClock(AT)) =>
    pauseEndpoints(twins.db, {
      failingUntil: new Date(SINCE),
      failedAfter: new Date(SINCE),
      clock,
      requestId: '01900000-0000-7000-8000-000000000001',
      pageSize,
    });
  const failSince = (at: string, ...keys: string[]) =>
    twins.pool.query(
      `update webhook_endpoint
       set failing_since = $1, hourly_failures = array[$1::timestamptz, $3]
       where team_id || ' ' || id = any ($2)`,
      [at, keys, SINCE],
    );
  const paused = (key: string) => [
    `${key}: paused_at null → 2026-11-20T10:00:00+00:00`,
    `${key}: status active → disabled_failures`,
  ];

  test('pauses active endpoints that have failed for long enough', async () => {
    await failSince(SINCE, 'team_a whe_1', 'team_a whe_3', 'team_b whe_2');
    await failSince('2026-11-20T09:00:01.000Z', 'team_a whe_4', 'team_b whe_1');
    let count = 0;
    const changed = await twins.changes(async () => {
      count = await pause();
    });
    expect(count).toBe(2);
    expect(changed).toEqual({
      webhook_endpoint: [...paused('team_a whe_1'), ...paused('team_b whe_2')],
      audit_log: [
        expect.stringMatching(/^\+ team_a aud_/),
        expect.stringMatching(/^\+ team_b aud_/),
      ],
      pending_job: [
        expect.stringMatching(/^\+ team_a job_/),
        expect.stringMatching(/^\+ team_b job_/),
      ],
    });
  });

  test('gives each the time of its own pause', async () => {
    await failSince(SINCE, 'team_a whe_1', 'team_b whe_2');
    const clock = fixedClock(AT);
    const now = (): Date => {
      clock.advance(1_000);
      return clock.now();
    };
    await pause(100, { ...clock, now });
    const { rows } = await twins.pool.query<{ paused_at: string }>(
      'select paused_at from webhook_endpoint where paused_at is not null order by paused_at',
    );
    expect(rows.map((row) => row.paused_at)).toEqual([
      '2026-11-20T10:00:01.000Z',
      '2026-11-20T10:00:02.000Z',
    ]);
  });

  test('goes through all pages, past those that are locked or cannot be paused', async () => {
    await failSince(SINCE, 'team_a whe_1', 'team_b whe_1', 'team_b whe_2');
    const oldest = `team_id = 'team_b' and id = 'whe_3'`;
    await failSince('2026-11-20T08:00:00.000Z', 'team_b whe_3');
    await twins.whileLocked(`webhook_endpoint where ${oldest}`, async () => {
      expect(await pause(1)).toBe(3);
    });
    const { webhook_endpoint } = await twins.changes(() => pause(1));
    expect(webhook_endpoint).toEqual(paused('team_b whe_3'));

    await failSince(SINCE, 'team_a whe_4', 'team_b whe_4');
    await twins.pool.query(`update webhook_endpoint set status = 'active' where id = 'whe_4'`);
    const allow = () => twins.pool.query('alter table audit_log drop constraint if exists refused');
    onTestFinished(async () => void (await allow()));
    await twins.pool.query(
      `alter table audit_log add constraint refused check (team_id <> 'team_a') not valid`,
    );
    await expect(pause(1)).rejects.toThrow('Some endpoints were not paused yet.');
    await allow();
    const left = await twins.changes(() => pause(1));
    expect(left['webhook_endpoint']).toEqual(paused('team_a whe_4'));
  });

  test('adds a job that mails each active admin of the team, and the owner', async () => {
    await failSince(SINCE, 'team_a whe_1');
    await pause();
    const { rows } = await twins.pool.query<{ payload: unknown }>(
      `delete from pending_job where task = '${MAIL_PAUSE}' returning payload`,
    );
    const job = { teamId: 'team_a', endpointId: 'whe_1' };
    expect(rows).toEqual([{ payload: job }]);
    const { pending_job = [] } = await twins.changes(() =>
      mailAdmins(twins.db, { ...job, after: null }),
    );
    expect(pending_job).toHaveLength(4);
    const added = await twins.pool.query<{ task: string; payload: object }>(
      `select task, payload
       from pending_job
       where team_id = 'team_a' and task like '%pause%'
       order by payload ->> 'memberId'`,
    );
    const mails = ['mem_1', 'mem_9', 'mem_owner'].map((memberId) => ({ ...job, memberId }));
    expect(added.rows.map(({ payload }) => payload)).toEqual([
      ...mails,
      { ...job, after: { role: 'admin', created_at: expect.any(String), id: expect.any(String) } },
    ]);
  });

  test('passes over what is locked', async () => {
    await failSince(SINCE, 'team_a whe_1', 'team_a whe_2');
    const held = `webhook_endpoint where team_id = 'team_a' and id = 'whe_1'`;
    const { webhook_endpoint } = await twins.changes(() => twins.whileLocked(held, pause));
    expect(webhook_endpoint).toEqual(paused('team_a whe_2'));
  });
});

describe('findPauseMailRow', () => {
  const ids = { teamId: 'team_a', memberId: 'mem_1', endpointId: 'whe_1' };
  const find = (teamId = 'team_a') => pauses.findPauseMailRow(twins.db, { ...ids, teamId });

  /** Everything says whose it is. All endpoints are paused, and all deliveries failed. */
  beforeEach(async () => {
    await twins.pool.query(`update member set email = team_id || '.' || id || '@of.test'`);
    await twins.pool.query(
      `update webhook_endpoint
       set status = 'disabled_failures', url = 'https://of.test/' || team_id || '/' || id,
         description = team_id || ' ' || id`,
    );
    await twins.pool.query(
      `update webhook_delivery
       set error = team_id || ' ' || id,
         last_attempt_at =
           created_at + case team_id when 'team_b' then interval '1 h' else '0' end`,
    );
  });

  test('finds the admin, the endpoint and its last failure', async () => {
    expect(await find()).toMatchObject({
      email: 'team_a.mem_1@of.test',
      language: 'de',
      team_name: 'Twin a',
      url: 'https://of.test/team_a/whe_1',
      description: 'team_a whe_1',
      error: 'team_a whd_3',
    });
    await twins.pool.query(
      `update member set role = 'admin' where team_id = 'team_b' and id = 'mem_1'`,
    );
    expect(await find('team_b')).toMatchObject({
      email: 'team_b.mem_1@of.test',
      language: 'en',
      team_name: 'Twin b',
      url: 'https://of.test/team_b/whe_1',
      description: 'team_b whe_1',
      error: 'team_b whd_3',
    });
  });

  test.each([
    `endpoint_id = 'whe_2'`,
    'last_attempt_at = null',
    `event_type = 'ping'`,
    `status = 'ok'`,
  ])('passes over a delivery with %s', async (state) => {
    await set('whd_3', state);
    expect(await find()).toMatchObject({ error: 'team_a whd_2' });
  });

  test('takes the one with the last id of one moment', async () => {
    await twins.pool.query(`update webhook_delivery set last_attempt_at = $1`, [AT]);
    expect(await find()).toMatchObject({ error: 'team_a whd_3' });
  });

  test('finds the admin when nothing is left of the deliveries', async () => {
    await twins.pool.query(`delete from webhook_delivery where team_id = 'team_a'`);
    expect(await find()).toMatchObject({ email: 'team_a.mem_1@of.test', error: null });
  });

  test.each([
    ['the endpoint', `webhook_endpoint set status = 'active'`, 'whe_1'],
    ['the member', `member set role = 'member', rights = '{}'`, 'mem_1'],
    ['the membership', `member set status = 'ended'`, 'mem_1'],
  ])('finds nothing when %s changed meanwhile', async (_what, change, id) => {
    await twins.pool.query(`update ${change} where team_id = 'team_a' and id = $1`, [id]);
    expect(await find()).toBeUndefined();
  });
});

describe('insertPing', () => {
  const ping = {
    endpointId: 'whe_3',
    eventId: 'evt_new',
    deliveryId: 'whd_new',
    at: AT,
    data: '{}',
    requestId: 'req_new',
  };
  const hold = (tx: Tx) =>
    holdRow(tx, 'webhook_endpoint', { teamId: 'team_a', id: ping.endpointId });

  test('queues one to the endpoint, whatever its status', async () => {
    const insert = async (tx: Tx) => endpoints.insertPing(tx, 'team_a', ping);
    const changed = await twins.changesIn(insert);
    expect(changed).toEqual({
      event: ['+ team_a evt_new'],
      webhook_delivery: ['+ team_a whd_new'],
    });
    const { rows } = await twins.pool.query(
      `select endpoint_id, urgent from webhook_delivery where id = 'whd_new'`,
    );
    expect(rows).toEqual([{ endpoint_id: 'whe_3', urgent: true }]);
  });

  test('needs the endpoint held, so that a deletion finds the delivery', async () => {
    expect(await twins.lockedBy('webhook_endpoint', hold)).toEqual(['team_a whe_3']);
    expect(await twins.inTransaction(hold)).toBe(true);
    await deleteEndpoint('whe_3');
    expect(await twins.inTransaction(hold)).toBe(false);
  });
});
