// Which deliveries a bulk resend and a retry change, among those of two teams with the same ids.
import { beforeEach, describe, expect, test } from 'vitest';
import type { Tx } from '../../src/db/client.ts';
import { findDelivery } from '../../src/features/webhook-deliveries/admin-store.ts';
import * as resends from '../../src/features/webhook-deliveries/resend-store.ts';
import { makeUrgent } from '../../src/features/webhook-deliveries/store.ts';
import { openTwinStores, type TwinStores } from '../support/twin-stores.ts';

const AT = new Date('2026-11-20T10:00:00.000Z');
const SINCE = '2026-11-20T09:00:00.000Z';

let twins: TwinStores;
/** Every delivery of both teams failed for good, at `whe_1`, and was made within the hour. */
beforeEach(async () => {
  twins = await openTwinStores();
  await twins.pool.query(`delete from webhook_attempt`);
  await twins.pool.query(
    `delete from webhook_delivery where id not in ('whd_1', 'whd_2', 'whd_3')`,
  );
  await twins.pool.query(
    `update webhook_delivery
     set endpoint_id = 'whe_1', status = 'gave_up', claimed_by = null, urgent = false,
       next_try_at = null, extra_attempts = 0,
       created_at = '2026-11-20T09:00:00Z'::timestamptz + interval '1 minute' * right(id, 1)::int`,
  );
});

const set = (id: string, text: string) =>
  twins.pool.query(`update webhook_delivery set ${text} where team_id = 'team_a' and id = $1`, [
    id,
  ]);
const inTransaction = async <T>(work: (tx: Tx) => T | Promise<T>) =>
  twins.db.transaction(async (tx) => work(tx));
const RESEND = {
  id: 'whr_1',
  endpoint_id: 'whe_1',
  state: 'running' as const,
  since: SINCE,
  total: 3,
  has_more: false,
  sent: 0,
  position_at: null,
  position_id: null,
  created_at: AT.toISOString(),
  finished_at: null,
};
const queue = (fields: Partial<typeof RESEND> = {}, limit = 10) =>
  inTransaction((tx) =>
    resends.queueBatch(tx, 'team_a', { resend: { ...RESEND, ...fields }, limit, now: AT }),
  );
/** The ids of the deliveries that `work` changed, in team A. */
async function touchedBy(work: () => Promise<unknown>): Promise<string[]> {
  const { webhook_delivery = [], ...others } = await twins.changes(work);
  expect(others).toEqual({});
  return [...new Set(webhook_delivery.map((line) => line.replace(/:.*/, '')))];
}

test('makeUrgent marks one delivery', async () => {
  const changed = await twins.changes(() =>
    inTransaction((tx) => makeUrgent(tx, 'team_a', 'whd_2')),
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
        `team_a ${id}: extra_attempts 0 → 1`,
        `team_a ${id}: next_try_at null → 2026-11-20T10:00:00+00:00`,
        `team_a ${id}: status gave_up → retrying`,
      ]),
    });
    expect(batch).toEqual({ count: 2, last: { at: '2026-11-20T09:02:00.000Z', id: 'whd_2' } });
  });

  test('lets a delivery that a worker has end its attempt first', async () => {
    await set('whd_1', `status = 'retrying', claimed_by = 7, next_try_at = now()`);
    const { webhook_delivery } = await twins.changes(() => queue({}, 1));
    expect(webhook_delivery).toEqual(['team_a whd_1: urgent false → true']);
  });

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

  test('takes one that was made at the very start or end of the time', async () => {
    await set('whd_1', `created_at = '2026-11-20T09:00:00Z'`);
    await set('whd_3', `created_at = '2026-11-20T10:00:00Z'`);
    expect(await touchedBy(queue)).toEqual(['team_a whd_1', 'team_a whd_2', 'team_a whd_3']);
  });

  test('goes on after the last position', async () => {
    const position = { position_at: '2026-11-20T09:02:00.000Z', position_id: 'whd_2' };
    expect(await touchedBy(() => queue(position as never))).toEqual(['team_a whd_3']);
  });
});

describe('readStartFacts', () => {
  const facts = () =>
    inTransaction((tx) =>
      resends.readStartFacts(tx, 'team_a', {
        endpointId: 'whe_1',
        since: SINCE,
        at: AT,
        countMax: 10,
      }),
    );

  test('counts the failed deliveries of the time, and finds a running resend', async () => {
    await twins.pool.query(`update webhook_resend set state = 'done', finished_at = now()`);
    expect(await facts()).toEqual({ status: 'active', is_running: false, failed: 3 });
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
  ])('does not count a delivery with %s', async (state) => {
    await set('whd_2', state);
    expect(await facts()).toMatchObject({ failed: 2 });
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
  expect(await findDelivery(twins.db, 'team_a', 'whd_2')).toMatchObject({
    id: 'whd_2',
    url: 'https://of.test/team_a/whe_3',
    event_data: '{"of" : "team_a evt_4"}',
  });
});
