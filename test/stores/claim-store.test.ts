// Which deliveries a worker takes and gives back, among those of two teams with the same ids.
import { Client } from 'pg';
import { beforeEach, describe, expect, inject, test } from 'vitest';
import { teamKey } from '../../src/core/team-key.ts';
import type { Db } from '../../src/db/client.ts';
import * as claims from '../../src/delivery/claim-store.ts';
import * as waiting from '../../src/delivery/waiting-store.ts';
import { explain } from '../support/plans.ts';
import {
  expectOwnParts,
  keysOf,
  NOW,
  openTwinDeliveries,
  refsOf,
  released,
  STATUSES,
  type TwinDeliveries,
} from '../support/twin-deliveries.ts';
import { whileSession } from '../support/twin-stores.ts';

let twins: TwinDeliveries['twins'];
let set: TwinDeliveries['set'];
let setEndpoint: TwinDeliveries['setEndpoint'];
beforeEach(async () => {
  ({ twins, set, setEndpoint } = await openTwinDeliveries());
});

const claimed = (...keys: string[]) => ({
  webhook_delivery: keys.map((key) => `${key}: claimed_by null → 7`),
});

describe.each(STATUSES)('claimDue of %s deliveries', (status) => {
  const SHARES = [
    { queue: { teamId: 'team_a', endpointId: 'whe_1' }, room: 2 },
    { queue: { teamId: 'team_a', endpointId: 'whe_2' }, room: 9 },
    { queue: { teamId: 'team_b', endpointId: 'whe_1' }, room: 9 },
  ];
  const claim = (shares = SHARES) =>
    claims.claimDue(twins.db, status, { worker: 7, shares, now: NOW });

  test('takes those of the given endpoints, each with its endpoint and event', async () => {
    await set(
      `status = '${status}', next_try_at = '2026-11-18T12:00:00Z'`,
      'team_a whd_1',
      'team_a whd_2',
      'team_b whd_1',
      'team_b whd_2',
    );
    let rows: claims.ClaimedDelivery[] = [];
    const changed = await twins.changes(async () => {
      rows = await claim();
    });
    expect(changed).toEqual(claimed('team_a whd_1', 'team_a whd_2', 'team_b whd_1'));
    expectOwnParts(rows);
  });

  test('takes the first ones up to the room', async () => {
    const [first, second, last] = ['team_a whd_6', 'team_a whd_11', 'team_a whd_1'];
    const [a, b, c] = status === 'pending' ? [last, second, first] : [first, second, last];
    await set(`status = '${status}', next_try_at = '2026-11-18T11:00:00Z'`, a);
    await set(`status = '${status}', next_try_at = '2026-11-18T11:30:00Z'`, b);
    await set(`status = '${status}', next_try_at = '2026-11-18T12:00:00Z'`, c);
    const rows = await claim();
    expect(keysOf(rows).toSorted()).toEqual([a, b].toSorted());
    expect(keysOf(rows)).toEqual(status === 'pending' ? [a, b] : [b, a]);
  });

  test('returns how many attempts used up the schedule', async () => {
    await set(
      `status = '${status}', next_try_at = '2026-11-18T11:00:00Z', attempt = 4,
       scheduled_attempts = 3`,
      'team_a whd_2',
    );
    expect(await claim()).toMatchObject([{ attempt: 4, scheduled_attempts: 3 }]);
  });

  test.each([
    `status = '${status === 'pending' ? 'retrying' : 'pending'}'`,
    'claimed_by = 8',
    `next_try_at = '2026-11-18T12:00:01Z'`,
    `endpoint_id = 'whe_3'`,
  ])('takes none with %s', async (state) => {
    await set(
      `status = '${status}', next_try_at = '2026-11-18T12:00:00Z'`,
      'team_a whd_2',
      'team_a whd_7',
    );
    await set(state, 'team_a whd_7');
    expect(keysOf(await claim())).toEqual(['team_a whd_2']);
  });

  test('takes again what the worker had inserted, and its death is noticed', async () => {
    await set(
      `status = '${status}', next_try_at = '2026-11-18T12:00:00Z', first_worker = 7`,
      'team_a whd_2',
    );
    expect(keysOf(await claim())).toEqual(['team_a whd_2']);
    expect(await twins.changes(() => claims.releaseDead(twins.db))).toEqual(
      released('team_a whd_2'),
    );
  });

  test('takes none of an endpoint that is not active', async () => {
    // The endpoint of the same id in the other team is active, and so are others in this one.
    await set(`status = '${status}', next_try_at = '2026-11-18T12:00:00Z'`, 'team_a whd_3');
    expect(await claim([{ queue: { teamId: 'team_a', endpointId: 'whe_3' }, room: 9 }])).toEqual(
      [],
    );
  });

  test('passes over what is locked', async () => {
    await set(
      `status = '${status}', next_try_at = '2026-11-18T12:00:00Z'`,
      'team_a whd_2',
      'team_a whd_7',
    );
    const held = `webhook_delivery where team_id = 'team_a' and id = 'whd_2'`;
    expect(keysOf(await twins.whileLocked(held, () => claim()))).toEqual(['team_a whd_7']);
  });
});

describe('requested attempts', () => {
  const SHARES = [
    { queue: { teamId: 'team_a', endpointId: 'whe_1' }, room: 9 },
    { queue: { teamId: 'team_a', endpointId: 'whe_2' }, room: 9 },
    { queue: { teamId: 'team_b', endpointId: 'whe_1' }, room: 9 },
  ];
  const claim = (shares = SHARES) =>
    claims.claimDue(twins.db, 'requested', { worker: 7, shares, now: NOW });
  const find = async () => {
    const search = { after: waiting.FIRST_ENDPOINT, limit: 9, now: NOW };
    return refsOf((await waiting.findWaiting(twins.db, 'requested', search)).due);
  };

  test('are claimed in any state, each with its endpoint and event', async () => {
    await set(`urgent = true, status = 'gave_up'`, 'team_a whd_1', 'team_b whd_1');
    await set(`urgent = true, status = 'pending', next_try_at = '2099-01-01'`, 'team_a whd_2');
    await set(`urgent = true`, 'team_b whd_2');
    let rows: claims.ClaimedDelivery[] = [];
    const changed = await twins.changes(async () => {
      rows = await claim();
    });
    expect(changed).toEqual(claimed('team_a whd_1', 'team_a whd_2', 'team_b whd_1'));
    expectOwnParts(rows);
  });

  test('are claimed up to the room, the first ones by their ids', async () => {
    await set('urgent = true', 'team_a whd_1', 'team_a whd_6', 'team_a whd_11', 'team_b whd_1');
    const rows = await claim([{ queue: { teamId: 'team_a', endpointId: 'whe_1' }, room: 2 }]);
    expect(keysOf(rows)).toEqual(['team_a whd_1', 'team_a whd_11']);
  });

  test.each(['urgent = false', 'claimed_by = 8'])('leave one with %s alone', async (state) => {
    await set('urgent = true', 'team_a whd_1', 'team_a whd_2');
    await set(state, 'team_a whd_1');
    expect(await find()).toEqual(['team_a whe_2']);
    expect(keysOf(await claim())).toEqual(['team_a whd_2']);
  });

  test('are found and claimed while their endpoint is paused, not once it is gone', async () => {
    await set('urgent = true', 'team_a whd_1', 'team_a whd_2', 'team_b whd_1');
    await setEndpoint('team_a whe_2', `status = 'disabled'`);
    await twins.pool.query(
      `delete from webhook_endpoint where team_id = 'team_a' and id = 'whe_1'`,
    );
    expect(await find()).toEqual(['team_a whe_2', 'team_b whe_1']);
    expect(await twins.changes(() => claim())).toEqual(claimed('team_a whd_2', 'team_b whd_1'));
  });

  test('pass over what is locked', async () => {
    await set('urgent = true', 'team_a whd_1', 'team_a whd_2');
    const held = `webhook_delivery where team_id = 'team_a' and id = 'whd_1'`;
    expect(keysOf(await twins.whileLocked(held, () => claim()))).toEqual(['team_a whd_2']);
  });
});

describe('releaseClaims', () => {
  const release = (...keys: string[]) =>
    claims.releaseClaims(
      twins.db,
      7,
      keys.map((key) => ({ team_id: key.split(' ')[0] ?? '', id: key.split(' ')[1] ?? '' })),
    );

  test('releases the given deliveries, if this worker has claimed them', async () => {
    await set('claimed_by = 7', 'team_a whd_1', 'team_a whd_2', 'team_b whd_1');
    await set('claimed_by = 8', 'team_a whd_3');
    let areAllFree = true;
    const changed = await twins.changes(async () => {
      areAllFree = await release('team_a whd_1', 'team_a whd_3');
    });
    expect(changed).toEqual(released('team_a whd_1'));
    expect(areAllFree).toBe(false);
    expect(await release('team_a whd_2')).toBe(true);
  });

  test('releases nothing else when another worker has claimed it', async () => {
    await set('claimed_by = 7', 'team_a whd_1', 'team_b whd_3', 'team_b whd_4');
    await set('claimed_by = 8', 'team_a whd_3');
    expect(await twins.changes(() => release('team_a whd_3'))).toEqual({});
  });

  test('passes over what is locked', async () => {
    await set('claimed_by = 7', 'team_a whd_1', 'team_a whd_2');
    const held = `webhook_delivery where team_id = 'team_a' and id = 'whd_1'`;
    const changed = await twins.changes(() =>
      twins.whileLocked(held, () => release('team_a whd_1', 'team_a whd_2')),
    );
    expect(changed).toEqual(released('team_a whd_2'));
  });
});

/** Lets a worker have claimed deliveries when it inserted them. */
async function claimFirst(worker: number, ...keys: string[]): Promise<void> {
  await set(
    `status = 'pending', attempt = 0, next_try_at = created_at, claimed_by = ${worker},
     first_worker = ${worker}`,
    ...keys,
  );
  await twins.pool.query(
    `insert into event_in_hand (team_id, event_id, worker)
     select distinct team_id, event_id, $1::int
     from webhook_delivery
     where team_id || ' ' || id = any ($2)`,
    [worker, keys],
  );
}

describe('releaseForgotten', () => {
  beforeEach(async () => {
    await set('claimed_by = 7', 'team_a whd_1', 'team_a whd_2', 'team_b whd_3');
    await set('claimed_by = 8', 'team_a whd_4');
  });
  const IN_HAND = [teamKey('team_a', 'whd_1')];

  test('releases the delivery of another team that has the id of one in its hand', async () => {
    await set('claimed_by = 7', 'team_b whd_1');
    const release = () => claims.releaseForgotten(twins.db, 7, IN_HAND);
    expect(await twins.changes(release)).toEqual(
      released('team_a whd_2', 'team_b whd_1', 'team_b whd_3'),
    );
  });

  test('releases the claims of this worker that are not in its hand', async () => {
    expect(await twins.changes(() => claims.releaseForgotten(twins.db, 7, IN_HAND))).toEqual(
      released('team_a whd_2', 'team_b whd_3'),
    );
  });

  test('looks each claim up among those in hand, with a plan without values, too', async () => {
    const client = new Client({ connectionString: twins.url });
    await client.connect();
    const release = (db: Db) => claims.releaseForgotten(db, 7, IN_HAND);
    const plan = await explain(client, release, 'generic');
    await client.end();
    expect(plan.map(({ Filter }) => Filter ?? '').join()).toContain('hashed SubPlan');
  });

  test('passes over what is locked', async () => {
    const held = `webhook_delivery where team_id = 'team_a' and id = 'whd_2'`;
    const changed = await twins.changes(() =>
      twins.whileLocked(held, () => claims.releaseForgotten(twins.db, 7, IN_HAND)),
    );
    expect(changed).toEqual(released('team_b whd_3'));
  });

  test('releases what it claimed by inserting it', async () => {
    await claimFirst(7, 'team_a whd_1', 'team_a whd_2', 'team_b whd_2');
    await claimFirst(8, 'team_a whd_5');
    expect(await twins.changes(() => claims.releaseForgotten(twins.db, 7, IN_HAND))).toEqual(
      released('team_a whd_2', 'team_b whd_2', 'team_b whd_3'),
    );
  });
});

describe('forgetEvents', () => {
  const forget = () => twins.changes(() => claims.forgetEvents(twins.db, 7));

  test('forgets the events of which the worker has no first attempt in hand', async () => {
    await claimFirst(7, 'team_a whd_1', 'team_a whd_2', 'team_b whd_2', 'team_b whd_3');
    await claimFirst(8, 'team_a whd_4');
    // Attempted, released, claimed by another worker.
    await set(`status = 'ok', attempt = 1, next_try_at = null, claimed_by = null`, 'team_a whd_1');
    await set('claimed_by = null', 'team_b whd_2');
    await set('claimed_by = 8', 'team_b whd_3');
    const gone = ['team_a evt_1 7', 'team_b evt_2 7', 'team_b evt_3 7'];
    expect(await forget()).toEqual({ event_in_hand: gone.map((key) => `- ${key}`) });
    expect(await forget()).toEqual({});
  });

  test('keeps an event while one of its deliveries is claimed', async () => {
    await set(`event_id = 'evt_1'`, 'team_a whd_1', 'team_a whd_2');
    await claimFirst(7, 'team_a whd_1', 'team_a whd_2');
    await set('claimed_by = null', 'team_a whd_1');
    expect(await forget()).toEqual({});
    await set('claimed_by = null', 'team_a whd_2');
    expect(await forget()).toEqual({ event_in_hand: ['- team_a evt_1 7'] });
  });
});

describe('workers', () => {
  /** Workers 5 and 9 live. Other locks, and those of another database, are no workers. */
  const whileWorkersLive = <T>(work: () => Promise<T>): Promise<T> => {
    const lockClass = claims.WORKER_LOCK_CLASS;
    const locks = `
      select pg_advisory_lock(${lockClass}, n) from unnest(array[5, 9]) n;
      select pg_advisory_lock(${lockClass + 1}, 6);
      select pg_advisory_lock((${lockClass}::bigint << 32) + 7)`;
    const elsewhere = `select pg_advisory_lock(${lockClass}, 8)`;
    return whileSession(twins.url, locks, () =>
      whileSession(inject('testServerUrl'), elsewhere, work),
    );
  };

  test('listWorkers lists the living workers of this database', async () => {
    const found = await whileWorkersLive(() => claims.listWorkers(twins.db));
    expect(found.toSorted((a, b) => a - b)).toEqual([5, 9]);
  });

  test('releaseDead releases what dead workers have claimed, and nothing else', async () => {
    await set('claimed_by = 5', 'team_a whd_1');
    await set('claimed_by = 6', 'team_a whd_2', 'team_b whd_2');
    await set('claimed_by = 7', 'team_a whd_3');
    await set('claimed_by = 8', 'team_a whd_4');
    await set('claimed_by = 9', 'team_b whd_5');
    const changed = await twins.changes(() => whileWorkersLive(() => claims.releaseDead(twins.db)));
    expect(changed).toEqual({
      webhook_delivery: [
        'team_a whd_2: claimed_by 6 → null',
        'team_a whd_3: claimed_by 7 → null',
        'team_a whd_4: claimed_by 8 → null',
        'team_b whd_2: claimed_by 6 → null',
      ],
    });
  });

  test('releaseDead finds first claims by their events, and forgets these', async () => {
    await claimFirst(5, 'team_a whd_1');
    await claimFirst(6, 'team_a whd_2', 'team_b whd_2');
    // A dead worker has left an event, but no claim.
    await claimFirst(8, 'team_b whd_4');
    await set('claimed_by = null', 'team_b whd_4');
    const changed = await twins.changes(() => whileWorkersLive(() => claims.releaseDead(twins.db)));
    expect(changed).toEqual({
      event_in_hand: ['- team_a evt_2 6', '- team_b evt_2 6', '- team_b evt_4 8'],
      webhook_delivery: ['team_a whd_2: claimed_by 6 → null', 'team_b whd_2: claimed_by 6 → null'],
    });
  });

  test('releaseDead keeps the event of a first claim that is locked', async () => {
    await claimFirst(7, 'team_a whd_2', 'team_b whd_2');
    const held = `webhook_delivery where team_id = 'team_a' and id = 'whd_2'`;
    const changed = await twins.changes(() =>
      twins.whileLocked(held, () => claims.releaseDead(twins.db)),
    );
    expect(changed).toEqual({
      event_in_hand: ['- team_b evt_2 7'],
      ...released('team_b whd_2'),
    });
    expect(await twins.changes(() => claims.releaseDead(twins.db))).toEqual({
      event_in_hand: ['- team_a evt_2 7'],
      ...released('team_a whd_2'),
    });
  });

  test('releaseDead passes over what is locked', async () => {
    await set('claimed_by = 7', 'team_a whd_2', 'team_b whd_2');
    const held = `webhook_delivery where team_id = 'team_a' and id = 'whd_2'`;
    const changed = await twins.changes(() =>
      twins.whileLocked(held, () => claims.releaseDead(twins.db)),
    );
    expect(changed).toEqual(released('team_b whd_2'));
  });
});
