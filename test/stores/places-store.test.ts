// Which events get a place, and which one, among those of two teams with the same ids.
import { beforeEach, describe, expect, test } from 'vitest';
import type { Tx } from '../../src/db/client.ts';
import * as places from '../../src/delivery/beside-store.ts';
import { openTwinDeliveries, type TwinDeliveries } from '../support/twin-deliveries.ts';

let twins: TwinDeliveries['twins'];
beforeEach(async () => {
  ({ twins } = await openTwinDeliveries());
});

/** Events without a place, from the oldest to the newest, across the teams. */
const waitForPlace = (...keys: string[]) =>
  twins.pool.query(
    `update event
     set place = null, created_at = '2026-11-18T11:00:00Z'::timestamptz
       + interval '1 second' * array_position($1, team_id || ' ' || id)
     where team_id || ' ' || id = any ($1)`,
    [keys],
  );
const take = (limit = 9) => twins.inTransaction((tx) => places.takeUnplaced(tx, limit, []));
const linesOf = (rows: readonly places.UnplacedEvent[]): string[] =>
  rows.map((row) => `${row.team_id} ${row.id} ${row.is_own}`);

test('hasUnplaced is about events that were fanned out and have no place', async () => {
  const has = () => twins.inTransaction((tx) => places.hasUnplaced(tx as never));
  expect(await has()).toBe(false);
  await waitForPlace('team_b evt_2');
  expect(await has()).toBe(true);
  await twins.pool.query(`update event set fanned_out_at = null where id = 'evt_2'`);
  expect(await has()).toBe(false);
});

describe('takeUnplaced', () => {
  test('takes the oldest ones, and the lock of their teams', async () => {
    await waitForPlace('team_b evt_2', 'team_a evt_3', 'team_a evt_1', 'team_b evt_1');
    const oldest = ['team_b evt_2 true', 'team_a evt_3 true', 'team_a evt_1 true'];
    expect(linesOf(await take(3))).toEqual(oldest);
    const takeIn = (tx: Tx) => places.takeUnplaced(tx, 2, []);
    expect(await twins.lockedBy('event', takeIn)).toEqual(['team_a evt_3', 'team_b evt_2']);
  });

  test('takes none of the teams that are passed over', async () => {
    await waitForPlace('team_a evt_3', 'team_b evt_2', 'team_a evt_1', 'team_b evt_1');
    const takeIn = (tx: Tx) => places.takeUnplaced(tx, 1, ['team_a']);
    expect(await twins.lockedBy('event', takeIn)).toEqual(['team_b evt_2']);
    expect(
      await twins.inTransaction((tx) => places.takeUnplaced(tx, 9, ['team_a', 'team_b'])),
    ).toEqual([]);
  });

  test('leaves alone what waits for its fan-out, and orders one moment by ids', async () => {
    await waitForPlace('team_a evt_2', 'team_a evt_3', 'team_a evt_1');
    await twins.pool.query(`update event set created_at = '2026-11-18T11:00:00Z'`);
    await twins.pool.query(
      `update event set fanned_out_at = null where team_id = 'team_a' and id = 'evt_2'`,
    );
    expect(linesOf(await take())).toEqual(['team_a evt_1 true', 'team_a evt_3 true']);
  });

  test('skips events that others have locked, and says whose lock others have', async () => {
    await waitForPlace('team_a evt_3', 'team_a evt_1', 'team_b evt_1');
    const held = `event where team_id = 'team_a' and id = 'evt_3'`;
    expect(linesOf(await twins.whileLocked(held, () => take()))).toEqual([
      'team_a evt_1 true',
      'team_b evt_1 true',
    ]);
    const lock = `pg_try_advisory_xact_lock(${places.PLACES_LOCK_CLASS}, hashtext(team_id))`;
    expect(linesOf(await twins.whileLocked(`${held} and ${lock}`, () => take()))).toEqual([
      'team_a evt_1 false',
      'team_b evt_1 true',
    ]);
  });
});

test('givePlaces puts events behind the last one of their team, and behind now', async () => {
  await waitForPlace('team_a evt_1', 'team_b evt_1', 'team_a evt_2');
  const give = (...events: places.NumberedEvent[]) =>
    twins.inTransaction(async (tx) => places.givePlaces(tx, events));
  await twins.pool.query(
    `update event set place = 9000000000000000 where team_id = 'team_b' and id = 'evt_3'`,
  );
  const before = Date.now() * 1000;
  await give(
    { teamId: 'team_a', id: 'evt_1', number: 1 },
    { teamId: 'team_a', id: 'evt_2', number: 2 },
    { teamId: 'team_b', id: 'evt_1', number: 1 },
  );
  const { rows } = await twins.pool.query<{ key: string; place: string }>(
    `select team_id || ' ' || id as key, place
     from event
     where place > 1000000
     order by team_id, place`,
  );
  expect(rows.map(({ key }) => key)).toEqual([
    'team_a evt_1',
    'team_a evt_2',
    'team_b evt_3',
    'team_b evt_1',
  ]);
  const [first, second, , last] = rows.map(({ place }) => Number(place));
  expect(first).toBeGreaterThan(before - 60_000_000);
  expect(second).toBe((first ?? 0) + 1);
  expect(last).toBe(9_000_000_000_000_001);
});
