// Which deliveries a worker holds, and which of them it launches.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DELIVERY_ERRORS } from '../../src/core/delivery-errors.ts';
import { teamKey } from '../../src/core/team-key.ts';
import { paceOf } from '../../src/delivery/attempts.ts';
import {
  roomOf,
  SLOW_MS,
  type EndpointQueue,
  type Flight,
  type Pace,
} from '../../src/delivery/endpoint-queue.ts';
import { createQueues, ROUND_MAX, type Queues } from '../../src/delivery/queues.ts';
import { fill, launch, queuesFor, retry, row, warm } from '../support/endpoint-queues.ts';

const endpointsOf = (flights: readonly Flight[]): string[] =>
  flights.map(({ row: { endpoint_id } }) => endpoint_id);

const times = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n));

/** Makes one attempt to the endpoint, which takes so long. */
function attempt(queues: Queues, endpoint: string, pace: Pace, tookMs = 0): EndpointQueue {
  queues.accept(row(endpoint), 0);
  const flight = queues.next(0) as Flight;
  queues.land(flight, pace, tookMs);
  return flight.queue;
}

/** Takes shares of the room, and names their endpoints. */
const take = (queues: Queues, room = queues.capacity()): string[] =>
  queues.takeShares(room).map(({ queue }) => queue.endpointId);

describe('attempts', () => {
  test('an endpoint with a thousand deliveries does not delay other endpoints', () => {
    const queues = queuesFor();
    fill(queues, [...times(1000, () => row('much')), row('one'), row('two')]);
    expect(endpointsOf(launch(queues)).toSorted()).toEqual(['much', 'one', 'two']);
  });

  test('of an endpoint go in the order: requested ones, first ones, retries', () => {
    const queues = queuesFor();
    const asked = row('a', { attempt: 3, urgent: true });
    const rows = [retry('a'), row('a'), asked, row('a')];
    fill(queues, rows);
    const order = rows.map(() => {
      const flight = queues.next(0) as Flight;
      queues.land(flight, 'failed', 0);
      return rows.indexOf(flight.row);
    });
    expect(order).toEqual([2, 1, 3, 0]);
  });

  test('an attempt ends once', () => {
    const queues = queuesFor();
    fill(queues, [row('a')]);
    const [flight] = launch(queues) as [Flight];
    queues.land(flight, 'good', 0);
    expect(() => queues.land(flight, 'good', 0)).toThrow('landed twice');
    expect(queues.stats()).toEqual({ inFlight: 0, slow: 0, queued: 0 });
    expect(flight.queue).toMatchObject({ inFlight: 0, cap: 2 });
  });

  test('none begins while a hundred results of the endpoint wait to be written', () => {
    const queues = queuesFor();
    fill(queues, [row('a')]);
    const queue = queues.queueOf('team_a', 'a');
    queues.addUnwritten(queue, 100);
    expect([launch(queues), roomOf(queue, 8)]).toEqual([[], 0]);
    queues.addUnwritten(queue, -1);
    expect(launch(queues)).toHaveLength(1);
  });
});

describe('the cap of an endpoint', () => {
  test.each([
    [8, [1, 2, 8, 8, 8]],
    [5, [1, 2, 5, 5, 5]],
  ])('begins at one, and successes raise it to its limit of %i', (maxPerEndpoint, expected) => {
    const queues = createQueues({ held: () => 640, maxPerEndpoint });
    fill(
      queues,
      times(100, () => row('a')),
    );
    const sizes = times(5, () => {
      const flights = launch(queues);
      for (const flight of flights) queues.land(flight, 'good', 0);
      return flights.length;
    });
    expect(sizes).toEqual(expected);
  });

  test('is halved by a failure, and one after a timeout', () => {
    const queues = queuesFor();
    const queue = warm(queues, 'a');
    fill(
      queues,
      times(100, () => row('a')),
    );
    const [failing, silent] = launch(queues) as [Flight, Flight];
    expect(queue.cap).toBe(8);
    queues.land(failing, 'failed', 0);
    expect(queue.cap).toBe(4);
    queues.land(silent, 'timeout', 0);
    expect(queue.cap).toBe(1);
  });

  test('is reached by a timeout only if it has the error of one', () => {
    const paces = DELIVERY_ERRORS.map((error) => [error, paceOf({ ok: false, error })]);
    const wanted = DELIVERY_ERRORS.map((error) => [error, error === 'timeout' ? error : 'failed']);
    expect(paces).toEqual(wanted);
    expect(paceOf({ ok: false, error: null })).toBe('failed');
    expect(paceOf({ ok: true, error: null })).toBe('good');
  });
});

describe('an endpoint is slow', () => {
  test.each<[string, Pace, number, boolean]>([
    ['after an attempt that timed out', 'timeout', 0, true],
    ['after a success that took long', 'good', SLOW_MS, true],
    ['after a failure that took long', 'failed', SLOW_MS, true],
    ['but not after a quick success', 'good', SLOW_MS - 1, false],
    ['but not after a quick failure', 'failed', SLOW_MS - 1, false],
  ])('%s', (_when, pace, tookMs, expected) => {
    const queues = queuesFor();
    const queue = attempt(queues, 'a', pace, tookMs);
    expect(queue.isSlow).toBe(expected);
    expect(attempt(queues, 'a', 'good').isSlow).toBe(false);
  });

  test('at the tick at which one of its attempts has taken long', () => {
    const queues = queuesFor();
    const queue = warm(queues, 'a');
    fill(queues, [row('a'), row('b')]);
    launch(queues, 1_000);
    queues.noticeSlow(1_000 + SLOW_MS - 1);
    expect(queue.isSlow).toBe(false);
    queues.noticeSlow(1_000 + SLOW_MS);
    expect(queue.isSlow).toBe(true);
    expect(queues.stats()).toEqual({ inFlight: 2, slow: 2, queued: 0 });
  });
});

describe('what a worker holds', () => {
  test.each([
    [0, ROUND_MAX],
    [640 - ROUND_MAX, ROUND_MAX],
    [639, 1],
    [640, 0],
    [700, 0],
  ])('with %i deliveries leaves room for %i in a round', (held, expected) => {
    const queues = queuesFor();
    for (let n = 0; n < held; n += 1) queues.accept(row(`e${n % 50}`), 0);
    launch(queues);
    queues.setMore(queues.queueOf('team_a', 'other'), 'pending');
    expect([queues.capacity(), queues.canClaim()]).toEqual([expected, expected > 0]);
  });

  test('is by slow endpoints half of all at most', () => {
    const queues = queuesFor(8);
    for (const name of ['s1', 's2', 's3', 's4', 's5', 's6']) {
      attempt(queues, name, 'timeout');
      queues.setMore(queues.queueOf('team_a', name), 'pending');
    }
    const taken = take(queues);
    expect(taken).toEqual(['s1', 's2', 's3', 's4']);
    fill(
      queues,
      taken.map((name) => row(name)),
    );
    expect([queues.capacity(), queues.canClaim(), take(queues)]).toEqual([4, false, []]);
    queues.setMore(queues.queueOf('team_a', 'healthy'), 'pending');
    expect([queues.canClaim(), take(queues)]).toEqual([true, ['healthy']]);
    // As soon as an attempt ends, the next slow endpoint has a share.
    queues.land(queues.next(0) as Flight, 'timeout', 0);
    expect([queues.canClaim(), take(queues)]).toEqual([true, ['s5']]);
  });

  test('is not claimed as it is made for a slow endpoint', () => {
    const queues = queuesFor();
    expect(queues.roomOf(attempt(queues, 'slow', 'timeout'))).toBe(0);
    expect(queues.roomOf(queues.queueOf('team_a', 'new'))).toBe(1);
  });

  test('is no more than may be held now', () => {
    let held = 10;
    const queues = createQueues({ held: () => held, maxPerEndpoint: 8 });
    expect(queues.capacity()).toBe(10);
    held = -1;
    expect(queues.capacity()).toBe(0);
  });
});

describe('the share of an endpoint', () => {
  test('is all that it has room for, if no other endpoint has more', () => {
    const queues = queuesFor();
    queues.setMore(warm(queues, 'a'), 'pending');
    expect(queues.takeShares(100).map(({ room }) => room)).toEqual([32]);
  });

  test('is the same for all, and one if there are more endpoints than room', () => {
    const queues = queuesFor();
    for (const name of ['a', 'b', 'c']) queues.setMore(warm(queues, name), 'pending');
    expect(queues.takeShares(30).map(({ room }) => room)).toEqual([10, 10, 10]);
    for (const name of ['a', 'b', 'c']) queues.setMore(warm(queues, name), 'pending');
    expect(queues.takeShares(2).map(({ room }) => room)).toEqual([1, 1]);
  });

  test('comes first the next time, if it got none', () => {
    const queues = queuesFor();
    const names = ['a', 'b', 'c', 'd'];
    for (const name of names) queues.setMore(queues.queueOf('team_a', name), 'pending');
    expect(take(queues, 2)).toEqual(['a', 'b']);
    for (const name of names) queues.setMore(queues.queueOf('team_a', name), 'pending');
    expect(take(queues, 3)).toEqual(['c', 'd', 'a']);
  });

  test('has its turn as well if it waits for more of another kind', () => {
    const queues = queuesFor();
    const both = queues.queueOf('team_a', 'both');
    for (const status of ['retrying', 'pending', 'requested'] as const)
      queues.setMore(both, status);
    queues.setMore(queues.queueOf('team_a', 'retried'), 'retrying');
    const turns = times(4, () => queues.takeShares(1)).flat();
    expect(turns.map(({ queue, status }) => `${queue.endpointId} ${status}`)).toEqual([
      'both requested',
      'retried retrying',
      'both pending',
      'both retrying',
    ]);
  });

  test('counts what is in flight and what waits', () => {
    const queues = queuesFor();
    const queue = warm(queues, 'a');
    fill(
      queues,
      times(11, () => row('a')),
    );
    launch(queues);
    expect([queue.inFlight, queue.waiting.length]).toEqual([8, 3]);
    expect(queues.roomOf(queue)).toBe(32 - 8 - 3);
  });

  test('is none after it, until it is known to have more', () => {
    const queues = queuesFor();
    queues.setMore(queues.queueOf('team_a', 'a'), 'retrying');
    expect([queues.canClaim(), take(queues)]).toEqual([true, ['a']]);
    expect([queues.canClaim(), take(queues)]).toEqual([false, []]);
  });

  test('is none at its cap, until one of its attempts ends', () => {
    const queues = queuesFor();
    queues.accept(row('a'), 0);
    const [flight] = launch(queues) as [Flight];
    queues.setMore(flight.queue, 'pending');
    expect(queues.canClaim()).toBe(false);
    queues.land(flight, 'failed', 0);
    expect(queues.canClaim()).toBe(true);
  });

  test('of slow endpoints is a part of the room, however many others have more', () => {
    const queues = queuesFor();
    attempt(queues, 'slow', 'timeout');
    for (let n = 0; n < 9; n += 1) queues.setMore(queues.queueOf('team_a', `e${n}`), 'pending');
    queues.setMore(queues.queueOf('team_a', 'slow'), 'retrying');
    expect(take(queues, 5)).toEqual(['e0', 'e1', 'e2', 'e3', 'slow']);
  });
});

describe('given back', () => {
  test('is what was claimed too long ago, and then its endpoint has more', () => {
    const queues = queuesFor();
    const rows = [row('a'), row('a'), row('a'), retry('b')];
    for (const [n, each] of rows.entries()) queues.accept(each, n);
    expect(queues.withdraw(1)).toEqual(rows.slice(0, 1));
    expect(queues.waitingKeys()).toEqual(rows.slice(1).map(({ id }) => teamKey('team_a', id)));
    expect(queues.withdraw(9)).toEqual(rows.slice(1));
    expect(queues.stats().queued).toBe(0);
    const moreOf = (endpoint: string) => queues.queueOf('team_a', endpoint).more;
    expect(moreOf('a')).toEqual({ requested: false, pending: true, retrying: false });
    expect(moreOf('b')).toEqual({ requested: false, pending: false, retrying: true });
  });

  test('is what a slow endpoint cannot launch now', () => {
    const queues = queuesFor();
    const queue = warm(queues, 'a');
    fill(
      queues,
      times(32, () => row('a')),
    );
    launch(queues);
    expect(queues.withdraw(0)).toHaveLength(0);
    queues.noticeSlow(SLOW_MS);
    expect(queues.withdraw(0)).toHaveLength(24);
    expect([queue.more.pending, roomOf(queue, 8)]).toEqual([true, 0]);
  });
});

describe('an endpoint without deliveries', () => {
  const isKept = (count: number, busy: (queues: Queues, queue: EndpointQueue) => void): boolean => {
    const queues = queuesFor();
    const queue = queues.queueOf('team_a', 'e0');
    for (let n = 1; n < count; n += 1) queues.queueOf('team_a', `e${n}`);
    busy(queues, queue);
    queues.forgetIdle();
    return queues.queueOf('team_a', 'e0') === queue;
  };

  test.each<[number, string, boolean, (queues: Queues, queue: EndpointQueue) => void]>([
    [10_000, 'nothing', true, () => undefined],
    [10_001, 'nothing', false, () => undefined],
    [10_001, 'one that waits', true, (queues) => queues.accept(row('e0'), 0)],
    [10_001, 'an attempt', true, (queues) => void (queues.accept(row('e0'), 0), launch(queues))],
    [10_001, 'a result', true, (queues, queue) => queues.addUnwritten(queue, 1)],
    [10_001, 'more', true, (queues, queue) => queues.setMore(queue, 'pending')],
  ])('among %i, with %s, is remembered: %s', (count, _what, expected, busy) => {
    expect(isKept(count, busy)).toBe(expected);
  });
});

describe('an endpoint at its own limit', () => {
  const atLimit = (queues: Queues, nowMs: number): string[] =>
    queues.atLimit(nowMs).map(({ team_id, endpoint_id }) => `${team_id} ${endpoint_id}`);

  test('is told while as many attempts as it may have are in flight', () => {
    const queues = queuesFor();
    warm(queues, 'healthy');
    fill(queues, [row('slow'), row('slow'), row('healthy')]);
    launch(queues, 60_000);
    expect(atLimit(queues, 90_000)).toEqual(['team_a slow']);
  });

  test('is told until the next attempt can be claimed, and no longer', () => {
    const queues = queuesFor();
    fill(queues, [row('slow')]);
    const [flight] = launch(queues, 10_000) as [Flight];
    queues.land(flight, 'timeout', 20_000);
    expect(atLimit(queues, 24_000)).toEqual(['team_a slow']);
    expect(atLimit(queues, 26_000)).toEqual([]);
  });
});

const endpoint = fc.integer({ min: 0, max: 5 }).map((n) => `e${n}`);
const steps = fc.array(
  fc.oneof(
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
    fc.record({ do: fc.constant('notice' as const) }),
    fc.record({ do: fc.constant('withdraw' as const), ago: fc.integer({ min: -1, max: 5 }) }),
    fc.record({
      do: fc.constant('more' as const),
      endpoint,
      status: fc.constantFrom('pending' as const, 'retrying' as const),
    }),
    fc.record({ do: fc.constant('claim' as const) }),
  ),
  // Without a size fast-check makes ten steps at most.
  { maxLength: 120, size: 'max' },
);
type Step = typeof steps extends fc.Arbitrary<readonly (infer One)[]> ? One : never;
const limits = fc.record({
  held: fc.integer({ min: 1, max: 40 }),
  maxPerEndpoint: fc.integer({ min: 1, max: 9 }),
});

/** The queues, and what is known about them from the steps so far. */
interface Model {
  readonly queues: Queues;
  readonly held: number;
  readonly maxPerEndpoint: number;
  /** Ids of accepted deliveries that were neither launched nor withdrawn. */
  readonly waiting: Set<string>;
  readonly flying: Map<string, Flight>;
  readonly faults: string[];
}

test('after any steps no delivery is lost or doubled, and all limits are kept', () => {
  fc.assert(
    fc.property(limits, steps, ({ held, maxPerEndpoint }, sequence) => {
      const queues = createQueues({ held: () => held, maxPerEndpoint });
      const known = { waiting: new Set<string>(), flying: new Map<string, Flight>(), faults: [] };
      const model: Model = { queues, held, maxPerEndpoint, ...known };
      for (const [index, step] of sequence.entries()) {
        apply(model, step, (index + 1) * 100);
        checkCounts(model);
      }
      drain(model);
      expect(model.faults).toEqual([]);
      expect(queues.stats()).toMatchObject({ inFlight: 0, queued: 0 });
      expect(queues.capacity()).toBe(held);
    }),
    { numRuns: 500 },
  );
});

function check({ faults }: Model, isTrue: boolean, fault: string): void {
  if (!isTrue) faults.push(fault);
}

function accept(model: Model, endpointId: string, now: number, fields = {}): void {
  const accepted = row(endpointId, fields);
  model.waiting.add(accepted.id);
  model.queues.accept(accepted, now);
}

function apply(model: Model, step: Step, now: number): void {
  const { queues, waiting, flying } = model;
  if (step.do === 'accept')
    accept(model, step.endpoint, now, { attempt: step.attempt, urgent: step.urgent });
  if (step.do === 'launch') launchAll(model, now);
  if (step.do === 'land') {
    const flight = [...flying.values()][step.which % Math.max(1, flying.size)];
    if (flight) {
      flying.delete(flight.row.id);
      queues.land(flight, step.pace, now);
    }
  }
  if (step.do === 'notice') queues.noticeSlow(now);
  if (step.do === 'withdraw')
    for (const { id } of queues.withdraw(now - step.ago * 100))
      check(model, waiting.delete(id), 'withdrew what did not wait');
  if (step.do === 'more') queues.setMore(queues.queueOf('team_a', step.endpoint), step.status);
  if (step.do === 'claim') claim(model, now);
}

function launchAll(model: Model, now: number): void {
  const { queues, waiting, flying } = model;
  for (let flight = queues.next(now); flight; flight = queues.next(now)) {
    check(model, waiting.delete(flight.row.id), 'launched what did not wait');
    flying.set(flight.row.id, flight);
    check(model, flight.queue.inFlight <= flight.queue.cap, 'more in flight than the cap');
  }
  const mayGo = queueSet(queues).some(
    (queue) => queue.waiting.length > 0 && queue.inFlight < queue.cap,
  );
  check(model, !mayGo, 'an attempt waits for nothing');
}

/** Claims whole shares, as if there were always enough in the database. */
function claim(model: Model, now: number): void {
  const { queues, held, maxPerEndpoint } = model;
  const capacity = queues.capacity();
  const slowBefore = queues.stats().slow;
  const shares = queues.takeShares(capacity);
  const sum = (some: typeof shares): number => some.reduce((all, { room }) => all + room, 0);
  check(model, sum(shares) <= capacity, 'claimed more than there is room for');
  const slow = sum(shares.filter(({ queue }) => queue.isSlow));
  check(model, slow === 0 || slowBefore + slow <= held / 2, 'more than half is of slow ones');
  for (const { queue, room } of shares) {
    check(model, room > 0 && room <= roomOf(queue, maxPerEndpoint), 'a share that does not fit');
    for (let n = 0; n < room; n += 1) accept(model, queue.endpointId, now);
  }
}

function checkCounts(model: Model): void {
  const { queues, maxPerEndpoint, waiting, flying } = model;
  const all = queueSet(queues);
  const slow = all.filter(({ isSlow }) => isSlow);
  const held = slow.reduce((sum, queue) => sum + queue.inFlight + queue.waiting.length, 0);
  expect(queues.stats()).toEqual({ inFlight: flying.size, slow: held, queued: waiting.size });
  expect(new Set(queues.waitingKeys())).toEqual(
    new Set([...waiting].map((id) => teamKey('team_a', id))),
  );
  for (const queue of all) {
    const own = [...flying.values()].filter((flight) => flight.queue === queue);
    check(model, queue.inFlight === own.length, 'a wrong count in flight');
    check(model, queue.cap >= 1 && queue.cap <= maxPerEndpoint, 'a cap out of its bounds');
  }
}

/** Nothing is stuck: if all attempts succeed, every delivery is launched. */
function drain(model: Model): void {
  const { queues, waiting, flying } = model;
  for (let n = 0; n < 1000 && (waiting.size > 0 || flying.size > 0); n += 1) {
    launchAll(model, n);
    for (const flight of flying.values()) queues.land(flight, 'good', 0);
    flying.clear();
  }
}

function queueSet(queues: Queues): EndpointQueue[] {
  return times(6, (n) => queues.queueOf('team_a', `e${n}`));
}
