// The events that a fan-out takes, and what it makes of them, among those of two teams with the
// same ids.
import { beforeEach, describe, expect, test } from 'vitest';
import type { Tx } from '../../src/db/client.ts';
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
  const take = (limit = 9, from: Date | null = null, before: string | null = null) =>
    twins.inTransaction((tx) => fanOut.takeEvents(tx, { limit, from, before }));
  const linesOf = (rows: readonly fanOut.FanOutRow[]): string[] =>
    rows.map((row) => [row.team_id, row.event_id, row.endpoint_id, row.url].join(' '));
  const eventsOf = (rows: readonly fanOut.FanOutRow[]): string[] => [
    ...new Set(rows.map(({ team_id, event_id }) => `${team_id} ${event_id}`)),
  ];

  describe('takeEvents', () => {
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
      expect(linesOf(await take())).toEqual([
        'team_b evt_2 whe_3 https://of.test/team_b/whe_3',
        'team_a evt_3 whe_1 https://of.test/team_a/whe_1',
        'team_a evt_3 whe_2 https://of.test/team_a/whe_2',
        'team_a evt_1  ',
      ]);
    });

    test('takes those that are paused, too, if that was not before the event', async () => {
      await waitForFanOut('team_a evt_3', 'team_a evt_1');
      await twins.pool.query(
        `update webhook_endpoint
         set status = case id when 'whe_1' then 'active' else 'disabled' end,
           paused_at = case id
             when 'whe_1' then '2026-11-18T10:00:00Z'::timestamptz
             when 'whe_2' then '2026-11-18T11:00:01Z'
           end
         where team_id = 'team_a'`,
      );
      const rows = await take();
      expect(
        rows.map((row) => [row.event_id, row.endpoint_id, row.is_active, row.is_busy]),
      ).toEqual([
        ['evt_3', 'whe_1', true, false],
        ['evt_3', 'whe_2', false, false],
        ['evt_1', 'whe_1', true, false],
      ]);
    });

    test('takes none that are older than it is asked for', async () => {
      await waitForFanOut('team_b evt_2', 'team_a evt_3', 'team_a evt_1');
      const found = await take(9, new Date('2026-11-18T11:00:02Z'));
      expect(eventsOf(found)).toEqual(['team_a evt_3', 'team_a evt_1']);
    });

    test('takes so many, and answers with the oldest first', async () => {
      await waitForFanOut('team_b evt_2', 'team_a evt_3', 'team_a evt_1', 'team_b evt_1');
      expect(eventsOf(await take(2))).toEqual(['team_b evt_2', 'team_a evt_3']);
    });

    test('answers with events of one moment by their ids', async () => {
      await waitForFanOut('team_a evt_3', 'team_a evt_1');
      await twins.pool.query(`update event set created_at = '2026-11-18T11:00:00Z'`);
      expect(eventsOf(await take())).toEqual(['team_a evt_1', 'team_a evt_3']);
    });

    test('leaves events alone that another worker has taken', async () => {
      await waitForFanOut('team_a evt_3', 'team_a evt_1');
      const held = `event where team_id = 'team_a' and id = 'evt_3'`;
      expect(eventsOf(await twins.whileLocked(held, () => take()))).toEqual(['team_a evt_1']);
    });

    test('holds the events and their subscribers', async () => {
      await waitForFanOut('team_a evt_3');
      const takeIn = (tx: Tx) => fanOut.takeEvents(tx, { limit: 9, from: null, before: null });
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
      const rows = await twins.whileLocked(held, () => take());
      const busy = rows.filter(({ is_busy }) => is_busy);
      expect(linesOf(busy)).toEqual(['team_a evt_3 whe_2 https://of.test/team_a/whe_2']);
    });

    test('does not call an event busy that has no subscribers', async () => {
      await waitForFanOut('team_a evt_3');
      await twins.pool.query(`update webhook_endpoint set events = '{member.joined}'`);
      expect((await take()).map(({ is_busy }) => is_busy)).toEqual([false]);
    });
  });

  test('takeEvents takes the first of each team before the second of any', async () => {
    await waitForFanOut('team_a evt_1', 'team_a evt_2', 'team_a evt_3', 'team_b evt_1');
    expect(eventsOf(await take(2))).toEqual(['team_a evt_1', 'team_b evt_1']);
    expect(eventsOf(await take(3))).toEqual(['team_a evt_1', 'team_a evt_2', 'team_b evt_1']);
  });

  test('takeEvents takes the oldest, then the first of teams with few events', async () => {
    const many = Array.from({ length: 4 }, (_, n) => `team_a evt_${n + 1}`);
    await waitForFanOut(...many, 'team_b evt_1', 'team_b evt_2');
    expect(eventsOf(await take(1))).toEqual(['team_a evt_1']);
    expect(eventsOf(await take(2))).toEqual(['team_a evt_1', 'team_b evt_1']);
    expect(eventsOf(await take(4))).toEqual([...many.slice(0, 3), 'team_b evt_1']);
  });

  /** Inserts so many waiting events of the team, from this second on. */
  const flood = (team: string, count: number, fromS: number) =>
    twins.pool.query(
      `insert into event (team_id, id, type, data, created_at)
       select $1, 'evt_flood' || $3 || '_' || i, 'training.completed', '{}',
         '2026-11-18T11:00:00Z'::timestamptz + interval '1 second' * ($3::int + i)
       from generate_series(1, $2::int) i`,
      [team, count, fromS],
    );

  test('takeEvents finds the event of a team among very many, older and newer ones', async () => {
    await twins.pool.query('update event set fanned_out_at = now()');
    await flood('team_a', 700, 0);
    await flood('team_b', 1, 700);
    await flood('team_a', 700, 701);
    const teamsOf = (rows: readonly fanOut.FanOutRow[]) => new Set(rows.map((row) => row.team_id));
    let before: string | null = null;
    const looks: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      const rows: fanOut.FanOutRow[] = await take(2, null, before);
      before = rows[0]?.reached ?? null;
      looks.push([...teamsOf(rows)].join());
    }
    // 200 events a look, from the newest on, and the newest again at each.
    expect(looks).toEqual(['team_a', 'team_a', 'team_a', 'team_a,team_b', 'team_a']);
    expect((await take(2, null, '2026-11-18T11:00:00Z'))[0]?.reached).toBeNull();
  });

  test('takeEvents passes over what another worker has taken of a team', async () => {
    await waitForFanOut('team_a evt_1', 'team_a evt_2', 'team_b evt_1');
    const held = `event where team_id = 'team_b' and id = 'evt_1'`;
    const taken = await twins.whileLocked(held, () => take(2));
    expect(eventsOf(taken)).toEqual(['team_a evt_1', 'team_a evt_2']);
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
