// How much a worker claims at once; see test/rules/endpoint-queues.test.ts for what it launches.
import { describe, expect, test } from 'vitest';
import { createEndpointQueues, type EndpointQueues } from '../../src/delivery/endpoint-queues.ts';
import { fill, launch, row, warm } from '../support/endpoint-queues.ts';

/** A worker with 10 slots. It has up to 40 deliveries in hand while they are slow. */
const TEN_SLOTS = { concurrency: 10, maxPerEndpoint: 8 };

/** A worker with so many attempts in flight, and so many deliveries that wait for their cap. */
function withInHand(inFlight: number, waiting: number): EndpointQueues {
  const queues = createEndpointQueues(TEN_SLOTS);
  for (let n = 0; n < inFlight; n += 1) queues.accept(row(`e${n}`), 0);
  launch(queues);
  for (let n = 0; n < waiting; n += 1) queues.accept(row('e0'), 0);
  expect(queues.stats()).toEqual({ inFlight, parked: 0, queued: waiting });
  return queues;
}

describe('the number of deliveries to claim', () => {
  test.each([
    // While a slot is idle, whatever there is room for.
    [0, 0, 40],
    [0, 39, 1],
    [9, 30, 1],
    // While all slots are busy, nothing less than half of what may be in hand.
    [10, 10, 20],
    [10, 11, 0],
    // Never more than may be in hand.
    [0, 40, 0],
    [0, 50, 0],
    [9, 31, 0],
  ])('with %i attempts in flight and %i that wait is %i', (inFlight, waiting, expected) => {
    expect(withInHand(inFlight, waiting).capacity()).toBe(expected);
  });

  test.each([
    [39, true],
    [40, false],
  ])('with %i deliveries in hand leaves room for another claim: %s', (waiting, expected) => {
    const queues = withInHand(0, waiting);
    queues.setMore(queues.queueOf('team_a', 'other'), 'pending');
    expect(queues.canClaim()).toBe(expected);
  });

  test('halves every 50 ms after a burst, down to four for each slot', () => {
    const queues = createEndpointQueues(TEN_SLOTS);
    for (let n = 0; n < 200; n += 1) {
      queues.accept(row(`e${n % 5}`), 0);
      for (const flight of launch(queues)) queues.land(flight, 'good', 0);
    }
    const capacities = Array.from({ length: 4 }, () => {
      queues.park(0);
      return queues.capacity();
    });
    expect(capacities).toEqual([200, 100, 50, 40]);
  });

  test('is at most forty for each slot, however fast the deliveries are', () => {
    const queues = createEndpointQueues({ concurrency: 1, maxPerEndpoint: 8 });
    for (let n = 0; n < 100; n += 1) {
      queues.accept(row('a'), 0);
      for (const flight of launch(queues)) queues.land(flight, 'good', 0);
    }
    queues.park(0);
    expect(queues.capacity()).toBe(40);
  });
});

describe('the room of a round', () => {
  test.each([
    [['requested'], false, [40, 0, 0]],
    [['pending'], false, [0, 40, 0]],
    [['retrying'], false, [0, 0, 40]],
    [[], true, [0, 40, 0]],
    [['requested', 'pending'], false, [20, 20, 0]],
    [['pending', 'retrying'], false, [0, 30, 10]],
    [['retrying'], true, [0, 30, 10]],
    [['requested', 'retrying'], false, [30, 0, 10]],
    [['requested', 'pending', 'retrying'], true, [18, 18, 6]],
    [[], false, [0, 0, 0]],
  ] as const)('with %j waiting, and new ones: %s, is %j', (waiting, hasNew, expected) => {
    const queues = createEndpointQueues(TEN_SLOTS);
    for (const status of waiting) queues.setMore(queues.queueOf('team_a', status), status);
    const { requested, pending, retrying } = queues.divide(40, hasNew);
    expect([requested, pending, retrying]).toEqual(expected);
  });
});

describe('the share of an endpoint', () => {
  test('is all that it has room for, if no other endpoint has more', () => {
    const queues = createEndpointQueues(TEN_SLOTS);
    queues.setMore(warm(queues, 'a'), 'pending');
    expect(queues.takeShares('pending', queues.capacity()).map(({ room }) => room)).toEqual([32]);
  });

  test('is one, if there are more endpoints than deliveries to claim', () => {
    const queues = createEndpointQueues({ concurrency: 1, maxPerEndpoint: 8 });
    for (let n = 0; n < 6; n += 1) queues.setMore(warm(queues, `e${n}`), 'pending');
    expect(queues.takeShares('pending', queues.capacity()).map(({ room }) => room)).toEqual([
      1, 1, 1, 1,
    ]);
  });

  test('counts what is in flight and what waits', () => {
    const queues = createEndpointQueues(TEN_SLOTS);
    const queue = warm(queues, 'a');
    fill(
      queues,
      Array.from({ length: 11 }, () => row('a')),
    );
    launch(queues);
    expect([queue.inFlight, queue.waiting.length]).toEqual([8, 3]);
    expect(queues.roomOf(queue)).toBe(32 - 8 - 3);
  });
});

describe('while no more attempts can be parked', () => {
  /** One slot, so that 20 attempts are parked and 4 deliveries in hand at most. */
  const allParked = (): EndpointQueues => {
    const queues = createEndpointQueues({ concurrency: 1, maxPerEndpoint: 8 });
    const names = Array.from({ length: 26 }, (_, n) => `slow${n}`);
    // Each is slow from its first attempt on.
    for (const name of names) {
      fill(queues, [row(name)]);
      for (const flight of launch(queues)) {
        queues.park(1);
        queues.land(flight, 'good', 0);
      }
    }
    fill(
      queues,
      names.map((name) => row(name)),
    );
    launch(queues);
    expect(queues.stats()).toEqual({ inFlight: 20, parked: 20, queued: 6 });
    return queues;
  };

  test('what waits for slow endpoints leaves the room of the others as it is', () => {
    const queues = allParked();
    queues.setMore(queues.queueOf('team_a', 'healthy'), 'pending');
    expect([queues.capacity(), queues.canClaim()]).toEqual([4, true]);
    expect(queues.takeShares('pending', 4).map(({ queue }) => queue.endpointId)).toEqual([
      'healthy',
    ]);
  });

  test('nothing is claimed for slow endpoints, but what somebody requests', () => {
    const queues = allParked();
    const [slow, other] = ['slow3', 'slow4'].map((name) => queues.queueOf('team_a', name));
    if (!slow || !other) throw new Error('there are 26 endpoints');
    queues.setMore(slow, 'pending');
    queues.setMore(other, 'retrying');
    expect([queues.canClaim(), queues.roomOf(slow)]).toEqual([false, 0]);
    expect(queues.divide(4, false)).toEqual({ requested: 0, pending: 0, retrying: 0 });
    expect(queues.takeShares('pending', 4)).toEqual([]);
    queues.setMore(other, 'requested');
    expect(queues.takeShares('requested', 4)).toEqual([{ queue: other, room: 1 }]);
  });

  test('first attempts and retries of slow endpoints take turns', () => {
    const queues = allParked();
    queues.withdraw(1);
    const retries = queues.queueOf('team_a', 'slow3');
    const turns = Array.from({ length: 5 }, () => {
      const flight = [...queues.flights].find(({ queue }) => queue !== retries);
      if (flight) queues.land(flight, 'good', 0);
      queues.setMore(retries, 'retrying');
      const taken = (['pending', 'retrying'] as const).flatMap((status) => {
        const shares = queues.takeShares(status, 4);
        for (const { queue } of shares) queues.accept(row(queue.endpointId), 0);
        return shares.map(() => status);
      });
      launch(queues);
      return taken.join();
    });
    expect(turns).toEqual(['pending', 'pending', 'pending', 'retrying', 'pending']);
  });

  test('what is made meanwhile takes no turn of what waits', () => {
    const queues = allParked();
    queues.withdraw(1);
    const fresh = queues.queueOf('team_a', 'slow7');
    for (const flight of [...queues.flights].slice(0, 9)) queues.land(flight, 'good', 0);
    fresh.isSlow = true;
    expect(queues.roomOf(fresh)).toBe(0);
  });

  test('as much is claimed for slow endpoints as can be parked again', () => {
    const queues = allParked();
    queues.withdraw(1);
    const flights = [...queues.flights].slice(0, 2);
    for (const flight of flights) queues.land(flight, 'good', 0);
    expect(queues.takeShares('pending', 4).map(({ room }) => room)).toEqual([1, 1]);
  });
});
