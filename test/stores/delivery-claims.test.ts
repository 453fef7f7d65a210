// Which deliveries a worker claims and releases, among those of two teams with the same ids.
import { expect, test } from 'vitest';
import { claimDue, releaseClaims } from '../../src/delivery/claim-store.ts';
import { openTwinStores } from '../support/twin-stores.ts';

const NOW = new Date('2026-11-18T12:00:00.000Z');

test('claimDue takes the oldest due deliveries of its endpoints, up to their room', async () => {
  const { changes, db, pool } = await openTwinStores();
  await pool.query(
    `update webhook_delivery
     set status = 'pending', claimed_by = null, urgent = false, endpoint_id = 'whe_1',
       next_try_at = $1::timestamptz + interval '1 second' * (id = 'whd_1')::int`,
    [NOW],
  );
  await pool.query(
    `update webhook_delivery
     set endpoint_id = case when id = 'whd_10' then 'whe_2' else endpoint_id end,
       claimed_by = case when id = 'whd_11' then 8 end,
       status = case when id = 'whd_12' then 'retrying' else status end`,
  );
  const shares = [{ queue: { teamId: 'team_a', endpointId: 'whe_1' }, room: 2 }];
  const changed = await changes(() => claimDue(db, 'pending', { worker: 7, shares, now: NOW }));
  expect(changed).toEqual({
    webhook_delivery: ['team_a whd_13: claimed_by null → 7', 'team_a whd_14: claimed_by null → 7'],
  });
});

test('releaseClaims releases the given deliveries, if this worker has claimed them', async () => {
  const { changes, db, pool } = await openTwinStores();
  await pool.query(
    `update webhook_delivery
     set claimed_by = case when id = 'whd_3' then 8 else 7 end
     where id in ('whd_1', 'whd_2', 'whd_3')`,
  );
  const given = ['whd_1', 'whd_3'].map((id) => ({ team_id: 'team_a', id }));
  let areAllFree = true;
  const changed = await changes(async () => {
    areAllFree = await releaseClaims(db, 7, given);
  });
  expect(changed).toEqual({ webhook_delivery: ['team_a whd_1: claimed_by 7 → null'] });
  expect(areAllFree).toBe(false);
});
