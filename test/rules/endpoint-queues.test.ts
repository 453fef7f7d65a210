import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ClaimedRow } from '../../src/delivery/store.ts';
import { createLanes, type Flight, type Lane, type Lanes, type Pace } from '../../src/delivery/endpoint-queues.ts';

let made = 0;

const row = (endpoint: string, fields: Partial<ClaimedRow> = {}): ClaimedRow => ({
  team_id: 'team_a',
  id: `dlv_${(made += 1)}`,
  endpoint_id: endpoint,
  event_id: 'evt_1',
  event_type: 'member.joined',
  status: (fields.attempt ?? 0) > 0 ? 'retrying' : 'pending',
  attempt: 0,
  extra_attempts: 0,
  next_try_at: '2026-11-20T08:00:00.000Z',
  urgent: false,
  url: 'https://example.com/',
  api_version: '2026-11',
  secret_encrypted: Buffer.alloc(0),
  event_data: '{}',
  event_created_at: '2026-11-20T08:00:00.000Z',
  ...fields,
});
const retry = (endpoint: string): ClaimedRow => row(endpoint, { attempt: 1 });

function fill(lanes: Lanes, rows: readonly ClaimedRow[], claimedAtMs = 0): void {
  for (const each of rows) lanes.accept(each, claimedAtMs);
}

/** Launches all that may be launched. */
function launch(lanes: Lanes, nowMs = 0): Flight[] {
  const flights: Flight[] = [];
  for (let flight = lanes.next(nowMs); flight; flight = lanes.next(nowMs)) flights.push(flight);
  return flights;
}

const endpointsOf = (flights: readonly Flight[]): string[] => flights.map(({ row: { endpoint_id } }) => endpoint_id);

/** Lets the endpoint succeed until it has the widest cap. */
function warm(lanes: Lanes, endpoint: string): Lane {
  for (let n = 0; n < 5; n += 1) {
    lanes.accept(row(endpoint), 0);
    for (const flight of launch(lanes)) lanes.land(flight, 'good');
  }
  return lanes.laneOf('team_a', endpoint);
}

describe('turns', () => {
  test('an endpoint with a thousand deliveries gives every other one its turn', () => {
    const lanes = createLanes({ concurrency: 1, maxPerEndpoint: 8 });
    fill(lanes, [...Array.from({ length: 1000 }, () => row('much')), row('one'), row('two')]);
    const order: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      const [flight] = launch(lanes);
      if (!flight) break;
      order.push(flight.row.endpoint_id);
      lanes.land(flight, 'good');
    }
    expect(order).toEqual(['much', 'one', 'two', 'much', 'much']);
  });

  test('first attempts go before retries, within an endpoint and between endpoints', () => {
    const lanes = createLanes({ concurrency: 1, maxPerEndpoint: 8 });
    fill(lanes, [retry('a'), retry('b'), row('b'), row('c')]);
    const order: string[] = [];
    for (let flight = lanes.next(0); flight; flight = lanes.next(0)) {
      order.push(`${flight.row.endpoint_id}${flight.row.attempt}`);
      lanes.land(flight, 'good');
    }
    expect(order).toEqual(['b0', 'c0', 'a1', 'b1']);
  });

  test('what somebody asked for goes before everything else of its endpoint', () => {
    const lanes = createLanes({ concurrency: 1, maxPerEndpoint: 8 });
    const asked = row('a', { attempt: 3, urgent: true });
    fill(lanes, [row('a'), retry('a'), asked]);
    expect(lanes.next(0)?.row.id).toBe(asked.id);
  });

  test('endpoints whose last attempts dragged on come after all others', () => {
    const lanes = createLanes({ concurrency: 2, maxPerEndpoint: 8 });
    fill(lanes, [row('slow')]);
    const [dragging] = launch(lanes);
    lanes.park(1);
    if (dragging) lanes.land(dragging, 'timeout');
    fill(lanes, [row('slow'), retry('b'), row('c')]);
    expect(endpointsOf([lanes.next(0), lanes.next(0)].filter((flight) => flight !== null))).toEqual(['c', 'b']);
  });
});

describe('caps', () => {
  test('an endpoint begins with one attempt in flight and comes to its limit by succeeding', () => {
    const lanes = createLanes({ concurrency: 100, maxPerEndpoint: 8 });
    fill(
      lanes,
      Array.from({ length: 100 }, () => row('a')),
    );
    const sizes: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const flights = launch(lanes);
      sizes.push(flights.length);
      for (const flight of flights) lanes.land(flight, 'good');
    }
    expect(sizes).toEqual([1, 2, 8, 8, 8]);
  });

  test('a failure halves the attempts in flight, a timeout leaves one', () => {
    const lanes = createLanes({ concurrency: 100, maxPerEndpoint: 8 });
    const lane = warm(lanes, 'a');
    expect(lane.cap).toBe(8);
    fill(
      lanes,
      Array.from({ length: 100 }, () => row('a')),
    );
    const [failing, silent] = launch(lanes);
    if (failing) lanes.land(failing, 'failed');
    expect(lane.cap).toBe(4);
    if (silent) lanes.land(silent, 'timeout');
    expect(lane.cap).toBe(1);
  });

  test('a limit that is no power of two is kept', () => {
    const lanes = createLanes({ concurrency: 100, maxPerEndpoint: 5 });
    warm(lanes, 'a');
    fill(
      lanes,
      Array.from({ length: 20 }, () => row('a')),
    );
    expect(launch(lanes)).toHaveLength(5);
  });

  test('never more attempts in flight than slots, all endpoints together', () => {
    const lanes = createLanes({ concurrency: 3, maxPerEndpoint: 8 });
    fill(
      lanes,
      Array.from({ length: 10 }, (_, n) => row(`e${n}`)),
    );
    expect(launch(lanes)).toHaveLength(3);
  });
});

describe('parking', () => {
  test('attempts that are silent give their slots to others and go on', () => {
    const lanes = createLanes({ concurrency: 2, maxPerEndpoint: 8 });
    fill(lanes, [row('hangs1'), row('hangs2'), row('waits')]);
    const flights = launch(lanes, 0);
    expect(endpointsOf(flights)).toEqual(['hangs1', 'hangs2']);
    expect(lanes.park(-1)).toBe(false);
    expect(lanes.park(0)).toBe(true);
    expect(endpointsOf(launch(lanes, 300))).toEqual(['waits']);
    expect(lanes.stats()).toEqual({ inFlight: 3, parked: 2, queued: 0 });
    for (const flight of flights) lanes.land(flight, 'timeout');
    expect(lanes.stats()).toEqual({ inFlight: 1, parked: 0, queued: 0 });
  });

  test('there is an end to it: then slots stay taken', () => {
    const lanes = createLanes({ concurrency: 1, maxPerEndpoint: 1 });
    fill(
      lanes,
      Array.from({ length: 40 }, (_, n) => row(`e${n}`)),
    );
    let launched = 0;
    for (let n = 0; n < 40; n += 1) {
      launched += launch(lanes, n).length;
      lanes.park(n);
    }
    expect(launched).toBe(21);
  });

  test('what an endpoint that became slow cannot launch is given back', () => {
    const lanes = createLanes({ concurrency: 100, maxPerEndpoint: 8 });
    const lane = warm(lanes, 'a');
    fill(
      lanes,
      Array.from({ length: 32 }, () => row('a')),
    );
    launch(lanes);
    expect(lanes.withdraw(0)).toHaveLength(0);
    lanes.park(0);
    expect(lanes.withdraw(0)).toHaveLength(24);
    expect(lane.more.pending).toBe(true);
    expect(lanes.roomOf(lane)).toBe(0);
  });
});

describe('what to claim', () => {
  test('every endpoint gets a share, and all together no more than is wanted', () => {
    const lanes = createLanes({ concurrency: 10, maxPerEndpoint: 8 });
    const names = Array.from({ length: 6 }, (_, n) => `e${n}`);
    for (const name of names) lanes.setMore(warm(lanes, name), 'pending');
    const shares = lanes.ask('pending');
    expect(shares.map(({ room }) => room)).toEqual(names.map(() => 6));
    expect(lanes.ask('pending')).toEqual([]);
  });

  test('endpoints that did not get a share are first the next time', () => {
    const lanes = createLanes({ concurrency: 1, maxPerEndpoint: 8 });
    for (let n = 0; n < 20; n += 1) lanes.setMore(lanes.laneOf('team_a', `e${n}`), 'pending');
    const first = lanes.ask('pending').map(({ lane }) => lane);
    for (const lane of first) lanes.setMore(lane, 'pending');
    const second = lanes.ask('pending').map(({ lane }) => lane);
    expect(first).toHaveLength(4);
    expect(second).toHaveLength(4);
    expect(second.filter((lane) => first.includes(lane))).toEqual([]);
  });

  test('the quicker deliveries go, the more is taken ahead; when they are slow again, less', () => {
    const lanes = createLanes({ concurrency: 10, maxPerEndpoint: 8 });
    expect(lanes.capacity()).toBe(40);
    for (let n = 0; n < 200; n += 1) {
      lanes.accept(row(`e${n % 5}`), 0);
      for (const flight of launch(lanes)) lanes.land(flight, 'good');
    }
    lanes.park(0);
    expect(lanes.capacity()).toBe(200);
    lanes.park(0);
    lanes.park(0);
    lanes.park(0);
    expect(lanes.capacity()).toBe(40);
  });

  test('nothing is asked for again until somebody says that there is more', () => {
    const lanes = createLanes({ concurrency: 10, maxPerEndpoint: 8 });
    lanes.setMore(lanes.laneOf('team_a', 'a'), 'retrying');
    expect(lanes.isHungry()).toBe(true);
    lanes.ask('retrying');
    expect(lanes.isHungry()).toBe(false);
  });

  test('an endpoint with its cap in flight is not asked for until one of them lands', () => {
    const lanes = createLanes({ concurrency: 10, maxPerEndpoint: 8 });
    lanes.accept(row('a'), 0);
    const [flight] = launch(lanes);
    lanes.setMore(lanes.laneOf('team_a', 'a'), 'pending');
    expect(lanes.isHungry()).toBe(false);
    if (flight) lanes.land(flight, 'failed');
    expect(lanes.isHungry()).toBe(true);
  });
});

test('endpoints are forgotten when there are very many, but for those with something in hand', () => {
  const lanes = createLanes({ concurrency: 2, maxPerEndpoint: 2 });
  for (let n = 0; n < 10_001; n += 1) lanes.laneOf('team_a', `e${n}`);
  const busy = lanes.laneOf('team_a', 'busy');
  lanes.accept(row('busy'), 0);
  const hungry = lanes.laneOf('team_a', 'hungry');
  lanes.setMore(hungry, 'pending');
  const idle = lanes.laneOf('team_a', 'e0');
  lanes.forgetIdle();
  expect(lanes.laneOf('team_a', 'busy')).toBe(busy);
  expect(lanes.laneOf('team_a', 'hungry')).toBe(hungry);
  expect(lanes.laneOf('team_a', 'e0')).not.toBe(idle);
});

describe('whatever happens in whatever order', () => {
  const endpoint = fc.integer({ min: 0, max: 5 }).map((n) => `e${n}`);
  const step = fc.oneof(
    fc.record({
      do: fc.constant('accept' as const),
      endpoint,
      attempt: fc.integer({ min: 0, max: 1 }),
      urgent: fc.boolean(),
    }),
    fc.record({ do: fc.constant('launch' as const) }),
    fc.record({
      do: fc.constant('land' as const),
      which: fc.nat(50),
      pace: fc.constantFrom<Pace>('good', 'failed', 'timeout'),
    }),
    fc.record({ do: fc.constant('park' as const), ago: fc.integer({ min: 0, max: 3 }) }),
    fc.record({ do: fc.constant('withdraw' as const), ago: fc.integer({ min: -1, max: 5 }) }),
    fc.record({
      do: fc.constant('more' as const),
      endpoint,
      kind: fc.constantFrom('pending' as const, 'retrying' as const),
    }),
    fc.record({ do: fc.constant('ask' as const), kind: fc.constantFrom('pending' as const, 'retrying' as const) }),
  );
  const limits = fc.record({
    concurrency: fc.integer({ min: 1, max: 6 }),
    maxPerEndpoint: fc.integer({ min: 1, max: 9 }),
  });

  test('the counts are right, no delivery is lost or doubled, and no limit is passed', () => {
    fc.assert(
      fc.property(limits, fc.array(step, { maxLength: 120 }), (given, steps) => {
        const lanes = createLanes(given);
        const faults: string[] = [];
        const check = (isTrue: boolean, what: string): void => {
          if (!isTrue) faults.push(what);
        };
        const waiting = new Set<string>();
        const flying = new Map<string, Flight>();
        const inFlightOf = (lane: Lane): number => [...flying.values()].filter((flight) => flight.lane === lane).length;
        let now = 0;
        for (const action of steps) {
          now += 1;
          if (action.do === 'accept') {
            const accepted = row(action.endpoint, { attempt: action.attempt, urgent: action.urgent });
            waiting.add(accepted.id);
            lanes.accept(accepted, now);
          }
          if (action.do === 'launch') {
            for (let flight = lanes.next(now); flight; flight = lanes.next(now)) {
              check(waiting.delete(flight.row.id), 'launched what did not wait');
              flying.set(flight.row.id, flight);
              check(inFlightOf(flight.lane) <= flight.lane.cap, 'more in flight than the cap');
            }
            const active = [...flying.values()].filter(({ isParked }) => !isParked).length;
            check(active <= given.concurrency, 'more in flight than slots');
            // Slots are left over only when nothing may go.
            const mayGo = laneSet(lanes).some((lane) => lane.queue.length > 0 && lane.inFlight < lane.cap);
            check(active === given.concurrency || !mayGo, 'a slot is idle');
          }
          if (action.do === 'land') {
            const flight = [...flying.values()][action.which % Math.max(1, flying.size)];
            if (flight) {
              flying.delete(flight.row.id);
              lanes.land(flight, action.pace);
            }
          }
          if (action.do === 'park') lanes.park(now - action.ago);
          if (action.do === 'withdraw')
            for (const { id } of lanes.withdraw(now - action.ago))
              check(waiting.delete(id), 'withdrew what did not wait');
          if (action.do === 'more') lanes.setMore(lanes.laneOf('team_a', action.endpoint), action.kind);
          if (action.do === 'ask') {
            const capacity = lanes.capacity();
            const shares = lanes.ask(action.kind);
            check(shares.reduce((sum, { room }) => sum + room, 0) <= capacity, 'asked for more than there is room for');
            check(
              shares.every(({ lane, room }) => room > 0 && room <= lanes.roomOf(lane) && Number.isInteger(room)),
              'a share that does not fit',
            );
          }
          const parked = [...flying.values()].filter(({ isParked }) => isParked).length;
          expect(lanes.stats()).toEqual({ inFlight: flying.size, parked, queued: waiting.size });
          expect(new Set(lanes.queuedIds())).toEqual(waiting);
          for (const lane of laneSet(lanes)) {
            check(lane.inFlight === inFlightOf(lane), 'a wrong count in flight');
            check(lane.cap >= 1 && lane.cap <= given.maxPerEndpoint, 'a cap out of its bounds');
          }
        }
        // Nothing is stuck: with everything landing well, all of it goes.
        for (let n = 0; n < 1000 && (waiting.size > 0 || flying.size > 0); n += 1) {
          for (let flight = lanes.next(now); flight; flight = lanes.next(now)) {
            waiting.delete(flight.row.id);
            flying.set(flight.row.id, flight);
          }
          for (const flight of flying.values()) lanes.land(flight, 'good');
          flying.clear();
        }
        expect(faults).toEqual([]);
        expect(lanes.stats()).toEqual({ inFlight: 0, parked: 0, queued: 0 });
      }),
      { numRuns: 500 },
    );
  });
});

function laneSet(lanes: Lanes): Lane[] {
  return Array.from({ length: 6 }, (_, n) => lanes.laneOf('team_a', `e${n}`));
}
