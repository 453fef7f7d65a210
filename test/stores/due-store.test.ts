// Which endpoints have something due, among those of two teams with the same ids.
import { beforeEach, describe, expect, test } from 'vitest';
import * as due from '../../src/delivery/waiting-store.ts';
import {
  NOW,
  openTwinDeliveries,
  refsOf,
  seconds,
  type TwinDeliveries,
} from '../support/twin-deliveries.ts';

let twins: TwinDeliveries['twins'];
let set: TwinDeliveries['set'];
let setEndpoint: TwinDeliveries['setEndpoint'];
beforeEach(async () => {
  ({ twins, set, setEndpoint } = await openTwinDeliveries());
});

describe('findNewlyDue', () => {
  const find = (limit = 9, after: due.DuePosition = { at: seconds(-60), id: 'whd_2' }) =>
    due.findNewlyDue(twins.db, { after, now: NOW, limit });

  test('finds the active endpoints of retries that became due since then', async () => {
    await set(
      `status = 'retrying', next_try_at = '2026-11-18T11:59:00Z'`,
      'team_a whd_1',
      'team_b whd_2',
      'team_a whd_5',
      'team_b whd_3',
    );
    await set(
      `status = 'retrying', next_try_at = '2026-11-18T12:00:00Z'`,
      'team_a whd_2',
      'team_a whd_3',
      'team_b whd_4',
    );
    await set(`status = 'retrying', next_try_at = '2026-11-18T12:00:01Z'`, 'team_a whd_4');
    await set(`status = 'pending', next_try_at = '2026-11-18T11:59:30Z'`, 'team_b whd_1');
    await set(
      `status = 'retrying', claimed_by = 8, next_try_at = '2026-11-18T11:59:30Z'`,
      'team_b whd_5',
    );
    // In team A `whe_3` and `whe_5` are not active, in team B `whe_4` is not.
    const { due: found, next } = await find();
    expect(refsOf(found).toSorted()).toEqual(['team_a whe_2', 'team_b whe_3']);
    expect(next).toBeNull();
  });

  test('goes on behind the last one that it looked at', async () => {
    await set(
      `status = 'retrying', next_try_at = '2026-11-18T11:59:30Z'`,
      'team_a whd_2',
      'team_b whd_4',
      'team_a whd_9',
    );
    await set(`status = 'retrying', next_try_at = '2026-11-18T11:59:20Z'`, 'team_a whd_6');
    const first = await find(3);
    expect(refsOf(first.due).toSorted()).toEqual(['team_a whe_1', 'team_a whe_2']);
    expect(first.next).toEqual({ at: '2026-11-18T11:59:30.000Z', id: 'whd_4' });
    const second = await find(9, first.next ?? undefined);
    expect(refsOf(second.due)).toEqual(['team_a whe_4']);
  });
});

test('findActivated finds active endpoints that were activated since', async () => {
  await setEndpoint('team_a whe_1', `activated_at = '2026-11-18T12:00:01Z'`);
  await setEndpoint('team_b whe_2', `activated_at = '2026-11-18T12:00:00Z'`);
  await setEndpoint('team_a whe_3', `activated_at = '2026-11-18T12:00:01Z'`);
  expect(await due.findActivated(twins.db, NOW)).toEqual([
    { team_id: 'team_a', endpoint_id: 'whe_1', activated_at: '2026-11-18T12:00:01.000Z' },
  ]);
});
