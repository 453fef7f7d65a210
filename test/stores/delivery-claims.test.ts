// Which deliveries and events a worker finds, takes and gives back, among those of two teams with
// the same ids.
import { beforeEach, describe, expect, inject, test } from 'vitest';
import { teamKey } from '../../src/core/team-key.ts';
import type { Db, Tx } from '../../src/db/client.ts';
import { readBacklog } from '../../src/delivery/backlog-store.ts';
import * as claims from '../../src/delivery/claim-store.ts';
import * as due from '../../src/delivery/due-store.ts';
import { fanOutInOne, type FanOutAtOnce } from '../../src/delivery/fan-out-at-once-store.ts';
import * as fanOut from '../../src/delivery/fan-out-store.ts';
import * as waiting from '../../src/delivery/waiting-store.ts';
import { openTwinStores, whileSession, type TwinStores } from '../support/twin-stores.ts';

const NOW = new Date('2026-11-18T12:00:00.000Z');
const seconds = (count: number): Date => new Date(NOW.getTime() + count * 1000);
const STATUSES = ['pending', 'retrying'] as const;

let twins: TwinStores;
/** All deliveries are done. Endpoints and events say whose they are. */
beforeEach(async () => {
  twins = await openTwinStores();
  await twins.pool.query(
    `update webhook_delivery
     set status = 'ok', claimed_by = null, urgent = false, next_try_at = null`,
  );
  await twins.pool.query(
    `update webhook_endpoint set url = 'https://of.test/' || team_id || '/' || id`,
  );
  await twins.pool.query(`update event set data = to_json(team_id || ' ' || id)`);
  await twins.pool.query('delete from event_in_hand');
});

/** Sets columns of deliveries, `team_a whd_1`. */
async function set(text: string, ...keys: string[]): Promise<void> {
  await twins.pool.query(
    `update webhook_delivery set ${text} where team_id || ' ' || id = any ($1)`,
    [keys],
  );
}
const setEndpoint = (key: string, text: string) =>
  twins.pool.query(`update webhook_endpoint set ${text} where team_id || ' ' || id = $1`, [key]);
const keysOf = (rows: readonly { team_id: string; id: string }[]): string[] =>
  rows.map(({ team_id, id }) => `${team_id} ${id}`);
const refsOf = (rows: readonly waiting.EndpointRef[]): string[] =>
  rows.map(({ team_id, endpoint_id }) => `${team_id} ${endpoint_id}`);
const claimed = (...keys: string[]) => ({
  webhook_delivery: keys.map((key) => `${key}: claimed_by null → 7`),
});
const released = (...keys: string[]) => ({
  webhook_delivery: keys.map((key) => `${key}: claimed_by 7 → null`),
});

/** Every claimed delivery has the endpoint and the event of its own. */
function expectOwnParts(rows: readonly claims.ClaimedDelivery[]): void {
  for (const { team_id, endpoint_id, event_id, url, event_data } of rows) {
    expect(url).toBe(`https://of.test/${team_id}/${endpoint_id}`);
    expect(event_data).toBe(`"${team_id} ${event_id}"`);
  }
}

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

  // Workers of the version before count in `extra_attempts` only, and resends of theirs in advance.
  test.each([
    ['attempt = 3, extra_attempts = 1', 2],
    ['attempt = 3, extra_attempts = 1, scheduled_attempts = 2', 2],
    ['attempt = 4, extra_attempts = 1, scheduled_attempts = 2', 3],
    ['attempt = 3, extra_attempts = 2, scheduled_attempts = 2', 1],
    ['attempt = 3, extra_attempts = 9, scheduled_attempts = 2', 1],
    ['attempt = 3, extra_attempts = 9', 0],
    ['attempt = 3, extra_attempts = 9, scheduled_attempts = 0', 0],
  ])('knows how many attempts used up the schedule: %s', async (counted, scheduled) => {
    await set(
      `status = '${status}', next_try_at = '2026-11-18T11:00:00Z', ${counted}`,
      'team_a whd_2',
    );
    expect(await claim()).toMatchObject([{ scheduled_attempts: scheduled }]);
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
    const found = await whileWorkersLive(() => due.listWorkers(twins.db));
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

describe('readBacklog', () => {
  const backlog = () => readBacklog(twins.db);

  test('tells the age of the oldest event without deliveries', async () => {
    await twins.pool.query(`update event set created_at = now() - interval '1 hour'`);
    expect(await backlog()).toMatchObject({ fanOutLagS: 0 });
    // Half a minute more than the minutes that are expected: created_at is rounded to milliseconds,
    // up as well, so that an event of exactly nine minutes can be a little younger than that.
    await twins.pool.query(
      `update event
       set fanned_out_at = null,
         created_at = now() - interval '1 minute' * case team_id when 'team_a' then 5.5 else 9.5 end
       where id = 'evt_1'`,
    );
    const { fanOutLagS } = await backlog();
    expect(Math.floor(fanOutLagS / 60)).toBe(9);
  });

  test('counts jobs that are due or that nobody has taken yet, and paused endpoints', async () => {
    const before = await backlog();
    expect(before).toMatchObject({ jobs: 2, pausedEndpoints: 1, oldestDueAt: null });
    await twins.pool.query(
      `select graphile_worker.add_job('x', run_at => now() + make_interval(hours => n))
       from unnest(array[-1, 1]) n`,
    );
    await setEndpoint('team_b whe_5', `status = 'disabled_failures'`);
    expect(await backlog()).toMatchObject({ jobs: 3, pausedEndpoints: 2 });
  });
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
