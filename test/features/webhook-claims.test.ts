// Which deliveries a worker claims first, and how many: the statements, and the loop.
import { Client } from 'pg';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { fixedClock, systemClock, type Clock } from '../../src/core/clock.ts';
import * as store from '../../src/delivery/claim-store.ts';
import {
  findWaiting,
  FIRST_ENDPOINT,
  type WaitingStatus,
} from '../../src/delivery/waiting-store.ts';
import { loadTestSeed, startTestApi, type TestApi } from '../support/api.ts';
import { stillClock } from '../support/clocks.ts';
import { startDeliveries, type Deliveries, type DeliveriesOptions } from '../support/deliveries.ts';
import { endWaiting, holdLock, lockWhole, untilWaiting } from '../support/locks.ts';
import { openLoopDatabase, type LoopDatabase } from '../support/loop-database.ts';
import { held, startReceiver, status, type Receiver } from '../support/receiver.ts';
import { makeSeed, makeTeam } from '../support/seed.ts';
import { putSeedBack } from '../support/seeded-rows.ts';
import { until } from '../support/until.ts';

const NOW = new Date('2026-11-02T09:00:00.000Z');
const WORKER = 1;
const ENDPOINTS = ['a', 'b', 'c', 'd', 'e'];

let api: TestApi;
let client: Client;
let loop: LoopDatabase;
let receiver: Receiver;
let deliveries: Deliveries | null;

beforeAll(async () => {
  receiver = await startReceiver();
  const webhook_endpoints = ENDPOINTS.map((name) => ({
    id: `whe_${name}`,
    url: `${receiver.url}/${name}`,
    events: [name === 'a' ? ('member.joined' as const) : ('crm.sync.failed' as const)],
  }));
  api = await startTestApi({ seed: makeSeed([makeTeam('x', { webhook_endpoints })]) });
});

beforeEach(async () => {
  deliveries = null;
  receiver.reset();
  await putSeedBack(api);
  client = new Client({ connectionString: api.databaseUrl });
  await client.connect();
  loop = await openLoopDatabase(api.databaseUrl, 'team_x');
});

afterEach(async () => {
  receiver.reset();
  await deliveries?.stop();
  await loop.close();
  await client.end();
});

interface Waiting {
  readonly endpoint: string;
  /** The names of events and deliveries sort like these numbers. */
  readonly from: number;
  readonly to: number;
  readonly attempt?: number;
  readonly urgent?: boolean;
  /** For how long the first is due. Each next one is due a second later. */
  readonly dueForS?: number;
}

/** Writes waiting deliveries, older than any that the loop makes. Higher numbers are due later. */
async function writeDeliveries({
  endpoint,
  from,
  to,
  attempt = 0,
  urgent = false,
  dueForS = 100_000,
}: Waiting): Promise<void> {
  await writeEvents(from, to, true);
  await client.query(
    `insert into webhook_delivery
       (team_id, id, endpoint_id, event_id, event_type, status, attempt, scheduled_attempts,
        urgent, created_at, next_try_at)
     select 'team_x', 'whd_00' || $1 || lpad(i::text, 6, '0'), 'whe_' || $1,
       'evt_' || lpad(i::text, 6, '0'), 'member.joined',
       case when $4::int = 0 then 'pending' else 'retrying' end, $4, $4, $5, $6,
       $6::timestamptz + (i - $2 - $7::float8) * interval '1 second'
     from generate_series($2::int, $3::int) i`,
    [endpoint, from, to, attempt, urgent, NOW, dueForS],
  );
}

/** Writes events that happened one second apart. */
async function writeEvents(
  from: number,
  to: number,
  isFannedOut: boolean,
  type = 'member.joined',
): Promise<void> {
  await client.query(
    `insert into event (team_id, id, type, data, created_at, fanned_out_at)
     select 'team_x', 'evt_' || lpad(i::text, 6, '0'), $5, '{}',
       $4::timestamptz - interval '1 day' + i * interval '1 second', case when $3 then now() end
     from generate_series($1::int, $2::int) i
     on conflict do nothing`,
    [from, to, isFannedOut, NOW, type],
  );
}

/** Writes the same events for another team, where they wait. */
const giveToTeamY = (condition: string): Promise<unknown> =>
  client.query(
    `insert into event (team_id, id, type, data, created_at)
     select 'team_y', id, type, data, created_at
     from event
     where ${condition}`,
  );

async function read<Row>(text: string): Promise<Row[]> {
  return (await client.query(text)).rows as Row[];
}

const claimDue = async (kind: WaitingStatus, rooms: Record<string, number>): Promise<string[]> => {
  const shares = Object.entries(rooms).map(([name, room]) => ({
    queue: { teamId: 'team_x', endpointId: `whe_${name}` },
    room,
  }));
  return idsOf(await store.claimDue(loop.db, kind, { worker: WORKER, shares, now: NOW }));
};

/** Returns `a1` for the delivery of event 1 to endpoint a. */
const idsOf = (rows: readonly store.ClaimedDelivery[]): string[] =>
  rows.map(({ id }) => id.slice('whd_00'.length).replace(/0+(?=\d)/, ''));

describe('a claim', () => {
  test('takes the oldest first attempts of each endpoint, up to its share, in order', async () => {
    await writeDeliveries({ endpoint: 'a', from: 1, to: 20 });
    await writeDeliveries({ endpoint: 'b', from: 1, to: 2 });
    await writeDeliveries({ endpoint: 'c', from: 1, to: 20 });
    expect(await claimDue('pending', { a: 3, b: 3, c: 1 })).toEqual([
      'a1',
      'a2',
      'a3',
      'b1',
      'b2',
      'c1',
    ]);
    expect(await claimDue('pending', { a: 2, c: 2 })).toEqual(['a4', 'a5', 'c2', 'c3']);
  });

  test('takes the retries that are due longest, whatever the age of their events', async () => {
    await writeDeliveries({ endpoint: 'a', from: 1, to: 5, attempt: 1, dueForS: 100 });
    await writeDeliveries({ endpoint: 'a', from: 6, to: 10, attempt: 1, dueForS: 200 });
    expect(await claimDue('retrying', { a: 7 })).toEqual([
      'a1',
      'a2',
      'a6',
      'a7',
      'a8',
      'a9',
      'a10',
    ]);
  });

  test('of first attempts takes no retries, and the other way round', async () => {
    await writeDeliveries({ endpoint: 'a', from: 1, to: 500, attempt: 1 });
    await writeDeliveries({ endpoint: 'a', from: 501, to: 502, dueForS: 10 });
    expect(await claimDue('pending', { a: 100 })).toEqual(['a501', 'a502']);
    expect(await claimDue('pending', { a: 100 })).toEqual([]);
    expect(await claimDue('retrying', { a: 2 })).toEqual(['a1', 'a2']);
  });

  test('takes deliveries that are due now, and none that are due 1 ms later', async () => {
    await writeDeliveries({ endpoint: 'a', from: 1, to: 1, attempt: 1, dueForS: 0 });
    await writeDeliveries({ endpoint: 'a', from: 2, to: 2, attempt: 1, dueForS: -0.001 });
    expect(await claimDue('retrying', { a: 10 })).toEqual(['a1']);
  });

  test('takes nothing that is claimed, and skips rows that are being claimed', async () => {
    await writeDeliveries({ endpoint: 'a', from: 1, to: 4 });
    await client.query(`update webhook_delivery set claimed_by = 2 where id = 'whd_00a000001'`);
    await client.query('begin');
    await client.query(
      `select from webhook_delivery where team_id = 'team_x' and id = 'whd_00a000002' for update`,
    );
    expect(await claimDue('pending', { a: 10 })).toEqual(['a3', 'a4']);
    await client.query('rollback');
  });

  test('takes the oldest requested attempts of each endpoint, due or not', async () => {
    await writeDeliveries({ endpoint: 'a', from: 1, to: 2, dueForS: 1 });
    await writeDeliveries({
      endpoint: 'a',
      from: 3,
      to: 5,
      attempt: 1,
      urgent: true,
      dueForS: -100,
    });
    await writeDeliveries({ endpoint: 'b', from: 1, to: 2, urgent: true });
    expect(await claimDue('requested', { a: 2, b: 9 })).toEqual(['a3', 'a4', 'b1', 'b2']);
    expect(await claimDue('requested', { a: 2, b: 9 })).toEqual(['a5']);
  });
});

describe('the search for endpoints with due deliveries', () => {
  const look = async (kind: WaitingStatus, after = FIRST_ENDPOINT, limit = 2) => {
    const { due, next } = await findWaiting(loop.db, kind, { after, limit, now: NOW });
    return { due: due.map(({ endpoint_id }) => endpoint_id), next };
  };
  const at = (name: string) =>
    expect.objectContaining({ team_id: 'team_x', endpoint_id: `whe_${name}` });

  test('continues where it ended, and starts again after the last', async () => {
    for (const endpoint of ENDPOINTS) await writeDeliveries({ endpoint, from: 1, to: 20 });
    const first = await look('pending');
    expect(first).toEqual({ due: ['whe_a', 'whe_b'], next: at('b') });
    const second = await look('pending', first.next);
    expect(second).toEqual({ due: ['whe_c', 'whe_d'], next: at('d') });
    expect(await look('pending', second.next)).toEqual({ due: ['whe_e'], next: FIRST_ENDPOINT });
    expect(await look('retrying')).toEqual({ due: [], next: FIRST_ENDPOINT });
  });

  test('skips paused endpoints and those with nothing due, and finds the others', async () => {
    for (const endpoint of ENDPOINTS)
      await writeDeliveries({
        endpoint,
        from: 1,
        to: 20,
        attempt: 1,
        dueForS: endpoint === 'a' ? -1 : 30,
      });
    await client.query(`update webhook_endpoint set status = 'disabled_failures'
      where id in ('whe_b', 'whe_c')`);
    const first = await look('retrying');
    expect(first).toEqual({ due: [], next: at('b') });
    expect(await look('retrying', first.next)).toEqual({ due: ['whe_d'], next: at('d') });
  });
});

/** A clock that advances 1 ms each time it is read, so its times show the order of reads. */
function countingClock(): Clock {
  let readings = 0;
  return { ...systemClock, now: () => new Date(NOW.getTime() + (readings += 1)) };
}

const CLAIMED = 'select event_id from webhook_delivery where claimed_by is not null';

async function startLoop(options: Partial<DeliveriesOptions> = {}): Promise<void> {
  deliveries = await startDeliveries(api, { clock: fixedClock(NOW), ...options });
}

describe('the delivery loop', () => {
  const numbersAt = (path: string): number[] =>
    receiver
      .requestsTo(path)
      .map(({ headers }) => Number(String(headers['svc-event-id']).slice(4)));

  test('first attempts do not wait for a large older backlog of retries', async () => {
    const gate = held(status(200));
    receiver.on('/a', gate.behaviour);
    await writeDeliveries({ endpoint: 'a', from: 1, to: 2000, attempt: 1 });
    await writeDeliveries({ endpoint: 'a', from: 2001, to: 2040 });
    await startLoop();
    await receiver.arrived('/a');
    gate.open();
    await receiver.arrived('/a', 200);
    // Attempts in flight at the same time, at most eight, may overtake each other.
    const arrived = numbersAt('/a');
    expect(arrived.slice(0, 32).filter((number) => number <= 2000)).toEqual([]);
    expect(arrived.filter((number) => number > 2000)).toHaveLength(40);
  });

  /** The number of an event that happens now. */
  const NEW = 86_400;

  test('a new event of an endpoint is sent after its older waiting ones', async () => {
    await writeDeliveries({ endpoint: 'a', from: 1, to: 100 });
    await writeEvents(NEW, NEW, false);
    await startLoop();
    await receiver.arrived('/a', 101);
    expect(numbersAt('/a').indexOf(NEW)).toBeGreaterThanOrEqual(92);
  });

  test('it is when a claim of those has failed, too', async () => {
    const gate = held(status(200));
    receiver.on('/a', gate.behaviour);
    await writeDeliveries({ endpoint: 'a', from: 1, to: 100 });
    // The next round claims, and does nothing before: no tick asks it to.
    await startLoop({ tickMs: 3_600_000 });
    await receiver.arrived('/a');
    await client.query('begin');
    await client.query(lockWhole('event'));
    gate.open();
    await untilWaiting(api, 1);
    await endWaiting(api);
    await until(() => /could not use the database/.test(deliveries?.logged.join() ?? ''));
    await writeEvents(NEW, NEW, false);
    await client.query('commit');
    // Some of the others may come twice.
    await until(() => numbersAt('/a').includes(NEW));
    expect(numbersAt('/a').indexOf(NEW)).toBeGreaterThanOrEqual(92);
  });

  test('of many events at once it claims no more for an endpoint than it may attempt', async () => {
    // No endpoint is slow, so no claim is released for that reason.
    const gate = held(status(200));
    receiver.on('/a', gate.behaviour);
    await writeEvents(1, 40, false);
    await startLoop({ clock: stillClock(NOW) });
    await until(async () => (await read('select from webhook_delivery')).length === 40);
    await receiver.arrived('/a');
    expect(await read(CLAIMED)).toEqual([{ event_id: 'evt_000001' }]);
    gate.open();
  });

  test('of many events it takes those for whose deliveries it has room', async ({ skip }) => {
    skip(loop.isShard, 'The loops of all shards share the room.');
    // No endpoint is slow, and the loop has not waited long for room.
    const count = async (what: string) => (await read(`select from ${what}`)).length;
    // Four endpoints subscribe. Each has answered so often that it may have 32 in hand.
    await startLoop({ clock: stillClock(NOW), held: 128 });
    await writeEvents(1, 12, false, 'crm.sync.failed');
    await until(async () => (await count(`webhook_delivery where status = 'ok'`)) === 48);
    const gate = held(status(200));
    for (const path of ['/b', '/c', '/d', '/e']) receiver.on(path, gate.behaviour);
    await writeEvents(13, 52, false, 'crm.sync.failed');
    await until(async () => (await count('webhook_delivery where claimed_by > 0')) === 128);
    expect(await count('webhook_delivery')).toBe(176);
    expect(await count('event where fanned_out_at is null')).toBe(8);
    gate.open();
    await until(async () => (await count(`webhook_delivery where status = 'ok'`)) === 208);
  });

  test('an event waits for all of its subscribers if one of them is locked', async () => {
    await writeEvents(1, 1, false, 'crm.sync.failed');
    await writeEvents(2, 2, false);
    const locked = `webhook_endpoint where team_id = 'team_x' and id = 'whe_b'`;
    const release = await holdLock(api, `select from ${locked} for update`);
    // It finds both events in its first round.
    await startLoop();
    await receiver.arrived('/a');
    const ofFirst = `select from webhook_delivery where event_id = 'evt_000001'`;
    expect(await read(ofFirst)).toEqual([]);
    await release();
    for (const path of ['/b', '/c', '/d', '/e']) await receiver.arrived(path);
    expect(await read(ofFirst)).toHaveLength(4);
  });

  test('events of two teams with the same ids are sent once each', async ({ skip }) => {
    skip(loop.isShard, 'Two teams may be in two shards, with a loop each.');
    const webhook_endpoints = [
      { id: 'whe_y', url: `${receiver.url}/y`, events: ['member.joined' as const] },
    ];
    await loadTestSeed({ url: api.databaseUrl }, makeSeed([makeTeam('y', { webhook_endpoints })]));
    // More than one fan-out takes, so that the next one takes several steps.
    await writeEvents(1, 100, false);
    await giveToTeamY('true');
    await startLoop();
    const waiting = `select from webhook_delivery where status <> 'ok'`;
    await until(async () => (await read('select from webhook_delivery')).length === 200);
    await until(async () => (await read(waiting)).length === 0);
    const inOrder = Array.from({ length: 100 }, (_, n) => n + 1);
    for (const path of ['/a', '/y'])
      expect(numbersAt(path).toSorted((one, other) => one - other)).toEqual(inOrder);
  });

  test('while very many events wait, it takes the oldest, few at first, at most 50', async () => {
    await client.query(`update webhook_endpoint set status = 'disabled'`);
    await writeEvents(1, 340, false);
    await startLoop({ clock: countingClock() });
    const waiting = 'select from event where fanned_out_at is null';
    await until(async () => (await read(waiting)).length === 0);
    const taken = await read<{ first: number; last: number; count: number }>(
      `select min(right(id, 6)::int) as first, max(right(id, 6)::int) as last,
         count(*)::int as count
       from event group by fanned_out_at order by fanned_out_at`,
    );
    let next = 1;
    for (const { first, last, count } of taken) {
      expect([first, last]).toEqual([next, next + count - 1]);
      next += count;
    }
    const counts = taken.map(({ count }) => count);
    expect(counts[0]).toBeLessThan(10);
    expect(Math.max(...counts)).toBe(50);
  });

  test('an event among very many of another team is found long before most of them', async () => {
    await client.query(`update webhook_endpoint set status = 'disabled'`);
    await loadTestSeed({ url: api.databaseUrl }, makeSeed([makeTeam('y')]));
    await writeEvents(1, 600, false);
    await giveToTeamY(`id = 'evt_000300'`);
    await startLoop({ clock: countingClock() });
    const [y] = await until(async () => {
      const found = await read<{ at: Date }>(
        `select fanned_out_at as at
         from event
         where team_id = 'team_y' and fanned_out_at is not null`,
      );
      return found.length > 0 ? found : null;
    });
    const before = await read(
      `select from event where team_id = 'team_x' and fanned_out_at < '${y?.at.toISOString()}'`,
    );
    expect(before.length).toBeLessThan(100);
  });

  test('while very many events wait, no fan-out makes more deliveries than fit', async () => {
    const webhook_endpoints = Array.from({ length: 20 }, (_, n) => ({
      id: `whe_${n}`,
      url: `${receiver.url}/${n}`,
      events: ['member.joined' as const],
    }));
    await loadTestSeed({ url: api.databaseUrl }, makeSeed([makeTeam('y', { webhook_endpoints })]));
    await writeEvents(1, 60, true);
    await giveToTeamY('true');
    const gate = held(status(200));
    for (const { id } of webhook_endpoints) receiver.on(id.replace('whe_', '/'), gate.behaviour);
    // While no attempt ends, each of the twenty has one delivery in hand, and none is slow.
    await startLoop({ clock: { ...countingClock(), monotonicMs: () => 0 } });
    const waiting = 'select from event where fanned_out_at is null';
    await until(async () => (await read(waiting)).length === 0);
    gate.open();
    const taken = await read<{ count: number }>(
      `select count(*)::int as count
       from event
       where team_id = 'team_y'
       group by fanned_out_at
       order by fanned_out_at`,
    );
    // Of twenty deliveries each: a round has room for 200. At first, an event may have 50.
    expect(taken.map(({ count }) => count)).toEqual([4, 8, 10, 10, 10, 10, 8]);
  });
});
