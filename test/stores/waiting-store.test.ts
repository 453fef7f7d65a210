// Which endpoints have something waiting, among those of two teams with the same ids.
import { beforeEach, describe, expect, test } from 'vitest';
import * as waiting from '../../src/delivery/waiting-store.ts';
import {
  NOW,
  openTwinDeliveries,
  refsOf,
  STATUSES,
  type TwinDeliveries,
} from '../support/twin-deliveries.ts';

let twins: TwinDeliveries['twins'];
let set: TwinDeliveries['set'];
beforeEach(async () => {
  ({ twins, set } = await openTwinDeliveries());
});

describe.each(STATUSES)('findWaiting of %s deliveries', (status) => {
  const other = status === 'pending' ? 'retrying' : 'pending';
  const find = (after = waiting.FIRST_ENDPOINT, limit = 9) =>
    waiting.findWaiting(twins.db, status, { after, limit, now: NOW });
  const wait = (at: string, ...keys: string[]) =>
    set(`status = '${status}', next_try_at = '2026-11-18T${at}Z'`, ...keys);

  test('finds each active endpoint with something due once, in their order', async () => {
    await wait('12:00:00', 'team_b whd_2', 'team_a whd_1', 'team_b whd_1', 'team_a whd_6');
    const { due: found, next } = await find();
    expect(refsOf(found)).toEqual(['team_a whe_1', 'team_b whe_1', 'team_b whe_2']);
    expect(next).toBe(waiting.FIRST_ENDPOINT);
  });

  test('finds none that is not active, or is gone', async () => {
    await wait('12:00:00', 'team_a whd_1', 'team_a whd_2', 'team_a whd_3', 'team_b whd_4');
    await twins.pool.query(
      `delete from webhook_endpoint where team_id = 'team_a' and id = 'whe_1'`,
    );
    expect(refsOf((await find()).due)).toEqual(['team_a whe_2']);
  });

  test('finds none where nothing is due yet', async () => {
    // What is due belongs to the other team or to another endpoint, is claimed, or has been tried.
    await wait('12:00:01', 'team_a whd_7', 'team_b whd_6');
    await wait('11:00:00', 'team_a whd_1', 'team_a whd_2', 'team_b whd_1', 'team_b whd_2');
    await set('claimed_by = 8', 'team_a whd_2', 'team_b whd_1');
    await set(
      `status = '${other}', next_try_at = '2026-11-18T11:00:00Z'`,
      'team_a whd_12',
      'team_b whd_11',
    );
    expect(refsOf((await find()).due)).toEqual(['team_a whe_1', 'team_b whe_2']);
  });

  test.each([`status = '${other}'`, 'claimed_by = 8'])(
    'passes over endpoints whose deliveries have %s',
    async (state) => {
      await wait('12:00:00', 'team_a whd_1', 'team_a whd_2', 'team_b whd_1', 'team_b whd_2');
      await set(state, 'team_a whd_1', 'team_b whd_1');
      // Nothing is found there, and it does not count.
      const { due: found, next } = await find(waiting.FIRST_ENDPOINT, 2);
      expect(refsOf(found)).toEqual(['team_a whe_2', 'team_b whe_2']);
      expect(next).toMatchObject({ team_id: 'team_b', endpoint_id: 'whe_2' });
    },
  );

  test('goes on behind an endpoint, even one with nothing due', async () => {
    await wait('12:00:00', 'team_a whd_1', 'team_a whd_4', 'team_b whd_1');
    await wait('12:00:01', 'team_a whd_2');
    const first = await find(waiting.FIRST_ENDPOINT, 2);
    expect(refsOf(first.due)).toEqual(['team_a whe_1']);
    const second = await find(first.next, 9);
    expect(refsOf(second.due)).toEqual(['team_a whe_4', 'team_b whe_1']);
  });

  test('goes on behind the last one that it has looked at, whatever it passes over', async () => {
    await wait('12:00:01', 'team_a whd_1');
    await wait('12:00:00', 'team_a whd_2', 'team_a whd_4');
    const first = await find(waiting.FIRST_ENDPOINT, 2);
    expect(refsOf(first.due)).toEqual(['team_a whe_2']);
    expect(refsOf((await find(first.next, 2)).due)).toEqual(['team_a whe_4']);
  });

  test('goes on behind one that is not active, too', async () => {
    await wait('12:00:00', 'team_a whd_3', 'team_a whd_4');
    const { due: found, next } = await find(waiting.FIRST_ENDPOINT, 1);
    expect(found).toEqual([]);
    expect(refsOf((await find(next, 1)).due)).toEqual(['team_a whe_4']);
  });

  test('looks at the delivery that would be claimed first', async () => {
    await wait('12:00:00', 'team_a whd_1', 'team_a whd_2');
    await wait('13:00:00', 'team_a whd_6', 'team_a whd_7');
    expect(refsOf((await find()).due)).toEqual(['team_a whe_1', 'team_a whe_2']);
  });
});

describe('findWaiting of requested attempts', () => {
  const find = (after = waiting.FIRST_ENDPOINT, limit = 9) =>
    waiting.findWaiting(twins.db, 'requested', { after, limit, now: NOW });
  const request = (...keys: string[]) => set(`status = 'gave_up', urgent = true`, ...keys);

  test('finds each endpoint once, active or not, in their order', async () => {
    await request('team_b whd_2', 'team_b whd_7', 'team_a whd_3', 'team_a whd_1', 'team_a whd_6');
    const { due: found, next } = await find();
    expect(refsOf(found)).toEqual(['team_a whe_1', 'team_a whe_3', 'team_b whe_2']);
    expect(next).toBe(waiting.FIRST_ENDPOINT);
  });

  test('goes on behind an endpoint, even one that is gone', async () => {
    await request('team_a whd_1', 'team_a whd_2', 'team_b whd_1', 'team_b whd_2');
    await twins.pool.query(
      `delete from webhook_endpoint where team_id = 'team_a' and id = 'whe_2'`,
    );
    const first = await find(waiting.FIRST_ENDPOINT, 2);
    expect(refsOf(first.due)).toEqual(['team_a whe_1']);
    expect(first.next).toMatchObject({ team_id: 'team_a', endpoint_id: 'whe_2' });
    const second = await find(first.next, 2);
    expect(refsOf(second.due)).toEqual(['team_b whe_1', 'team_b whe_2']);
    expect(refsOf((await find(second.next, 2)).due)).toEqual([]);
  });

  test('passes over endpoints where all are claimed', async () => {
    await request('team_a whd_1', 'team_a whd_2', 'team_b whd_1', 'team_b whd_2');
    await set('claimed_by = 8', 'team_a whd_1', 'team_b whd_1');
    expect(refsOf((await find()).due)).toEqual(['team_a whe_2', 'team_b whe_2']);
  });
});

describe.each(STATUSES)('findOldestDue of %s deliveries', (status) => {
  const other = status === 'pending' ? 'retrying' : 'pending';
  const wait = (at: string, ...keys: string[]) =>
    set(`status = '${status}', next_try_at = '2026-11-18T${at}Z'`, ...keys);
  const oldest = () => waiting.findOldestDue(twins.db);

  test('finds the earliest time at which something is due, in any team', async () => {
    expect(await oldest()).toBeNull();
    // The last of the endpoints, then the first, then those between.
    const order = 'b5 a4 a1 b2 a2 b1 b3'.split(' ');
    for (const [place, [team, number]] of order.entries()) {
      const key = `team_${team} whd_${number}`;
      await wait(`12:00:0${9 - place}`, key);
      expect(await oldest()).toBe(`2026-11-18T12:00:0${9 - place}.000Z`);
    }
  });

  test('passes over what waits for an endpoint that is not active', async () => {
    await wait('12:00:05', 'team_b whd_3', 'team_a whd_4');
    await wait('12:00:03', 'team_a whd_3', 'team_b whd_4');
    expect(await oldest()).toBe('2026-11-18T12:00:05.000Z');
  });

  test('passes over endpoints that it is told to leave out, and no others of that id', async () => {
    await wait('12:00:03', 'team_a whd_1');
    await wait('12:00:05', 'team_b whd_1');
    const full = { team_id: 'team_a', endpoint_id: 'whe_1' };
    expect(await waiting.findOldestDue(twins.db, [full])).toBe('2026-11-18T12:00:05.000Z');
    expect(await oldest()).toBe('2026-11-18T12:00:03.000Z');
  });

  test('passes over what is claimed', async () => {
    await wait('11:00:00', 'team_a whd_1', 'team_a whd_2', 'team_b whd_1', 'team_b whd_2');
    await set('claimed_by = 8', 'team_a whd_1', 'team_a whd_2', 'team_b whd_1', 'team_b whd_2');
    await wait('12:00:05', 'team_a whd_7', 'team_b whd_6');
    expect(await oldest()).toBe('2026-11-18T12:00:05.000Z');
  });

  test('takes the earlier one of the first attempts and the retries', async () => {
    await wait('12:00:05', 'team_a whd_1');
    await set(`status = '${other}', next_try_at = '2026-11-18T12:00:06Z'`, 'team_a whd_6');
    expect(await oldest()).toBe('2026-11-18T12:00:05.000Z');
  });

  test('takes the delivery of an endpoint that would be claimed first', async () => {
    const [first, second] = ['team_a whd_11', 'team_a whd_6'];
    await wait('12:00:05', first);
    await wait('12:00:06', second);
    await set(`status = '${other}', next_try_at = '2026-11-18T12:00:09Z'`, 'team_a whd_1');
    expect(await oldest()).toBe('2026-11-18T12:00:05.000Z');
  });

  test('takes it of the endpoints behind the first one, too', async () => {
    await wait('12:00:09', 'team_a whd_1');
    await wait('12:00:05', 'team_a whd_12');
    await wait('12:00:06', 'team_a whd_7');
    expect(await oldest()).toBe('2026-11-18T12:00:05.000Z');
  });
});

test('findOldestDue takes first attempts by their ids, whatever their times', async () => {
  await set(`status = 'retrying', next_try_at = '2026-11-18T12:00:09Z'`, 'team_a whd_11');
  await set(`status = 'pending', next_try_at = '2026-11-18T12:00:05Z'`, 'team_a whd_1');
  await set(`status = 'pending', next_try_at = '2026-11-18T12:00:03Z'`, 'team_a whd_6');
  expect(await waiting.findOldestDue(twins.db)).toBe('2026-11-18T12:00:05.000Z');
});
