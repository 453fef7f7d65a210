// The events that a fan-out takes, and what it makes of them, among those of two teams with the
// same ids.
import { beforeEach, describe, expect, test } from 'vitest';
import type { Db, Tx } from '../../src/db/client.ts';
import { fanOutInOne, type FanOutAtOnce } from '../../src/delivery/fan-out-at-once-store.ts';
import * as fanOut from '../../src/delivery/fan-out-store.ts';
import { NOW, openTwinDeliveries, type TwinDeliveries } from '../support/twin-deliveries.ts';

let twins: TwinDeliveries['twins'];
beforeEach(async () => {
  ({ twins } = await openTwinDeliveries());
});

describe('the fan-out', () => {
  /** Events that wait, from the oldest to the newest, across the teams. */
  const waitForFanOut = (...keys: string[]) =>
    twins.pool.query(
      `update event
       set fanned_out_at = null, created_at = '2026-11-18T11:00:00Z'::timestamptz
         + interval '1 second' * array_position($1, team_id || ' ' || id)
       where team_id || ' ' || id = any ($1)`,
      [keys],
    );
  const take = (which: 'oldest' | 'newest', limit = 9) =>
    twins.inTransaction((tx) => fanOut.takeEvents(tx, which, limit));
  const linesOf = (rows: readonly fanOut.FanOutRow[]): string[] =>
    rows.map((row) => [row.team_id, row.event_id, row.endpoint_id, row.url].join(' '));
  const eventsOf = (rows: readonly fanOut.FanOutRow[]): string[] => [
    ...new Set(rows.map(({ team_id, event_id }) => `${team_id} ${event_id}`)),
  ];

  describe.each(['oldest', 'newest'] as const)('takeEvents, the %s', (which) => {
    test('takes waiting events, each with its active subscribers', async () => {
      await waitForFanOut('team_b evt_2', 'team_a evt_3', 'team_a evt_1');
      await twins.pool.query(
        `update webhook_endpoint
         set events = '{member.joined}'
         where team_id = 'team_a' and id = 'whe_4'`,
      );
      await twins.pool.query(
        `update webhook_endpoint
         set events = '{member.joined}'
         where team_id = 'team_b' and id <> 'whe_3'`,
      );
      await twins.pool.query(
        `update event set type = 'member.removed' where team_id = 'team_a' and id = 'evt_1'`,
      );
      expect(linesOf(await take(which))).toEqual([
        'team_b evt_2 whe_3 https://of.test/team_b/whe_3',
        'team_a evt_3 whe_1 https://of.test/team_a/whe_1',
        'team_a evt_3 whe_2 https://of.test/team_a/whe_2',
        'team_a evt_1  ',
      ]);
    });

    test('takes so many, and answers with the oldest first', async () => {
      await waitForFanOut('team_b evt_2', 'team_a evt_3', 'team_a evt_1', 'team_b evt_1');
      const expected = {
        oldest: ['team_b evt_2', 'team_a evt_3'],
        newest: ['team_a evt_1', 'team_b evt_1'],
      };
      expect(eventsOf(await take(which, 2))).toEqual(expected[which]);
    });

    test('answers with events of one moment by their ids', async () => {
      await waitForFanOut('team_a evt_3', 'team_a evt_1');
      await twins.pool.query(`update event set created_at = '2026-11-18T11:00:00Z'`);
      expect(eventsOf(await take(which))).toEqual(['team_a evt_1', 'team_a evt_3']);
    });

    test('leaves events alone that another worker has taken', async () => {
      await waitForFanOut('team_a evt_3', 'team_a evt_1');
      const held = `event where team_id = 'team_a' and id = 'evt_3'`;
      expect(eventsOf(await twins.whileLocked(held, () => take(which)))).toEqual(['team_a evt_1']);
    });

    test('holds the events and their subscribers', async () => {
      await waitForFanOut('team_a evt_3');
      const takeIn = (tx: Tx) => fanOut.takeEvents(tx, which, 9);
      expect(await twins.lockedBy('event', takeIn)).toEqual(['team_a evt_3']);
      expect(await twins.lockedBy('webhook_endpoint', takeIn)).toEqual([
        'team_a whe_1',
        'team_a whe_2',
        'team_a whe_4',
      ]);
    });

    test('says which subscribers somebody else has locked, and waits for none', async () => {
      await waitForFanOut('team_a evt_3', 'team_b evt_1');
      const held = `webhook_endpoint where team_id = 'team_a' and id = 'whe_2'`;
      const rows = await twins.whileLocked(held, () => take(which));
      const busy = rows.filter(({ is_busy }) => is_busy);
      expect(linesOf(busy)).toEqual(['team_a evt_3 whe_2 https://of.test/team_a/whe_2']);
    });

    test('does not call an event busy that has no subscribers', async () => {
      await waitForFanOut('team_a evt_3');
      await twins.pool.query(`update webhook_endpoint set events = '{member.joined}'`);
      expect((await take(which)).map(({ is_busy }) => is_busy)).toEqual([false]);
    });
  });

  describe('fanOutInOne', () => {
    const inOne =
      (given: Partial<FanOutAtOnce> = {}) =>
      (db: Db) =>
        fanOutInOne(db, {
          at: NOW,
          worker: 7,
          limit: 9,
          idStem: 'whd_new',
          capacity: 9,
          rooms: [],
          ...given,
        });
    const fanOutNow = (given?: Partial<FanOutAtOnce>) => twins.inTransaction(inOne(given));
    const change = (given?: Partial<FanOutAtOnce>) => twins.changesIn(inOne(given));
    const marked = (key: string) => `${key}: fanned_out_at null → 2026-11-18T12:00:00+00:00`;
    const made = async (): Promise<string[]> => {
      const { rows } = await twins.pool.query<{ line: string }>(
        `select concat_ws(' ', team_id, id, endpoint_id, event_id, claimed_by) as line
         from webhook_delivery
         where id like 'whd_new%'
         order by id`,
      );
      return rows.map(({ line }) => line);
    };
    /** No event has a delivery yet, and each team has two subscribers. */
    beforeEach(async () => {
      await twins.pool.query('delete from webhook_delivery');
      await twins.pool.query(`update webhook_endpoint set status = 'disabled' where id > 'whe_2'`);
    });

    test('inserts a delivery for each active subscriber, and marks the events', async () => {
      await waitForFanOut('team_b evt_2', 'team_a evt_3');
      expect(await change()).toEqual({
        event: [marked('team_a evt_3'), marked('team_b evt_2')],
        event_in_hand: ['+ team_a evt_3 7', '+ team_b evt_2 7'],
        webhook_delivery: [
          '+ team_a whd_new00003',
          '+ team_a whd_new00004',
          '+ team_b whd_new00001',
          '+ team_b whd_new00002',
        ],
      });
      expect(await made()).toEqual([
        'team_b whd_new00001 whe_1 evt_2 7',
        'team_b whd_new00002 whe_2 evt_2 7',
        'team_a whd_new00003 whe_1 evt_3 7',
        'team_a whd_new00004 whe_2 evt_3 7',
      ]);
    });

    test('answers with what an attempt needs, each of its own team', async () => {
      await waitForFanOut('team_b evt_2', 'team_a evt_2');
      const rows = await fanOutNow();
      expect(linesOf(rows)).toEqual([
        'team_b evt_2 whe_1 https://of.test/team_b/whe_1',
        'team_b evt_2 whe_2 https://of.test/team_b/whe_2',
        'team_a evt_2 whe_1 https://of.test/team_a/whe_1',
        'team_a evt_2 whe_2 https://of.test/team_a/whe_2',
      ]);
      expect(rows.map((row) => row.event_data)).toEqual(
        ['team_b evt_2', 'team_b evt_2', 'team_a evt_2', 'team_a evt_2'].map((key) => `"${key}"`),
      );
      expect(rows.map((row) => row.is_claimed)).toEqual([true, true, true, true]);
    });

    test('takes so many events, the oldest ones', async () => {
      await waitForFanOut('team_b evt_2', 'team_a evt_3', 'team_a evt_1');
      expect(eventsOf(await fanOutNow({ limit: 2 }))).toEqual(['team_b evt_2', 'team_a evt_3']);
    });

    test('claims one of each endpoint, or as many as there is room for', async () => {
      await waitForFanOut('team_b evt_1', 'team_b evt_2', 'team_b evt_3', 'team_a evt_3');
      const rooms = [
        { teamId: 'team_b', endpointId: 'whe_1', room: 2 },
        { teamId: 'team_b', endpointId: 'whe_2', room: 0 },
      ];
      await fanOutNow({ rooms });
      expect((await made()).filter((line) => line.endsWith(' 7'))).toEqual([
        'team_b whd_new00001 whe_1 evt_1 7',
        'team_b whd_new00003 whe_1 evt_2 7',
        'team_a whd_new00007 whe_1 evt_3 7',
        'team_a whd_new00008 whe_2 evt_3 7',
      ]);
    });

    test('claims as many as this worker has room for', async () => {
      await waitForFanOut('team_b evt_2', 'team_a evt_3');
      const rows = await fanOutNow({ capacity: 3 });
      expect(rows.map((row) => row.is_claimed)).toEqual([true, true, true, false]);
    });

    test('marks an event without subscribers', async () => {
      await waitForFanOut('team_a evt_3');
      await twins.pool.query(`update webhook_endpoint set events = '{member.joined}'`);
      expect(await change()).toEqual({ event: [marked('team_a evt_3')] });
    });

    test('makes nothing of an event with a locked subscriber, and waits for none', async () => {
      await waitForFanOut('team_a evt_3', 'team_b evt_1');
      const held = `webhook_endpoint where team_id = 'team_a' and id = 'whe_2'`;
      const rows = await twins.whileLocked(held, () => fanOutNow());
      expect(rows.map((row) => [row.event_id, row.must_wait, row.is_claimed])).toEqual([
        ['evt_3', true, null],
        ['evt_3', true, null],
        ['evt_1', false, true],
        ['evt_1', false, true],
      ]);
      expect(await made()).toHaveLength(2);
    });

    test('leaves events alone that another worker has taken', async () => {
      await waitForFanOut('team_a evt_3', 'team_a evt_1');
      const held = `event where team_id = 'team_a' and id = 'evt_3'`;
      const rows = await twins.whileLocked(held, () => fanOutNow());
      expect(eventsOf(rows)).toEqual(['team_a evt_1']);
    });

    test('claims no delivery that exists already, and marks its event', async () => {
      await waitForFanOut('team_a evt_3');
      await fanOutNow();
      await waitForFanOut('team_a evt_3');
      const rows = await fanOutNow({ idStem: 'whd_again' });
      expect(rows.map((row) => row.is_claimed)).toEqual([null, null]);
      expect(await made()).toHaveLength(2);
    });

    test('holds the subscribers until its commit', async () => {
      await waitForFanOut('team_a evt_3');
      expect(await twins.lockedBy('webhook_endpoint', inOne())).toEqual([
        'team_a whe_1',
        'team_a whe_2',
      ]);
    });
  });

  test('insertDeliveries adds the missing ones and marks the events', async () => {
    await waitForFanOut('team_a evt_1', 'team_a evt_2', 'team_b evt_1');
    const delivery = (id: string, eventId: string, isClaimed: boolean) => ({
      teamId: 'team_a',
      id,
      endpointId: 'whe_2',
      eventId,
      eventType: 'training.completed',
      claimed: isClaimed,
    });
    const changed = await twins.changesIn((tx) =>
      fanOut.insertDeliveries(tx, {
        at: NOW,
        worker: 7,
        events: [
          { teamId: 'team_a', id: 'evt_1' },
          // None of its deliveries is claimed.
          { teamId: 'team_b', id: 'evt_1' },
        ],
        // The endpoint has a delivery of `evt_2` already.
        deliveries: [
          delivery('whd_new1', 'evt_1', true),
          delivery('whd_new2', 'evt_3', false),
          delivery('whd_new3', 'evt_2', false),
        ],
      }),
    );
    expect(changed).toEqual({
      event: ['team_a evt_1', 'team_b evt_1'].map(
        (key) => `${key}: fanned_out_at null → 2026-11-18T12:00:00+00:00`,
      ),
      event_in_hand: ['+ team_a evt_1 7'],
      webhook_delivery: ['+ team_a whd_new1', '+ team_a whd_new2'],
    });
    const { rows } = await twins.pool.query<{ claimed_by: number | null }>(
      `select claimed_by from webhook_delivery where id like 'whd_new%' order by id`,
    );
    expect(rows.map(({ claimed_by }) => claimed_by)).toEqual([7, null]);
  });
});
