import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { teamKey } from '../../src/core/team-key.ts';
import {
  roomOf,
  type EndpointQueue,
  type Flight,
  type Pace,
} from '../../src/delivery/endpoint-queue.ts';
import { createEndpointQueues, type EndpointQueues } from '../../src/delivery/endpoint-queues.ts';
import { fillSlots, newSlots } from '../../src/delivery/slots.ts';
import { fill, launch, retry, row, warm } from '../support/endpoint-queues.ts';

const endpointsOf = (flights: readonly Flight[]): string[] =>
  flights.map(({ row: { endpoint_id } }) => endpoint_id);

describe('turns', () => {
  test('an endpoint with a thousand deliveries does not delay other endpoints', () => {
    const queues = createEndpointQueues({ concurrency: 1, maxPerEndpoint: 8 });
    fill(queues, [...Array.from({ length: 1000 }, () => row('much')), row('one'), row('two')]);
    const order: string[] = [];
    for (let n = 0; n < 5; n += 1) {
      const [flight] = launch(queues);
      if (!flight) break;
      order.push(flight.row.endpoint_id);
      queues.land(flight, 'good', 0);
    }
    expect(order).toEqual(['much', 'one', 'two', 'much', 'much']);
  });

  test('an endpoint with room for more attempts waits for its next turn as well', () => {
    const queues = createEndpointQueues({ concurrency: 4, maxPerEndpoint: 8 });
    warm(queues, 'much');
    fill(queues, [...Array.from({ length: 1000 }, () => row('much')), row('one'), row('two')]);
    expect(endpointsOf(launch(queues))).toEqual(['much', 'one', 'two', 'much']);
  });

  test('first attempts go before retries, within an endpoint and between endpoints', () => {
    const queues = createEndpointQueues({ concurrency: 1, maxPerEndpoint: 8 });
    fill(queues, [retry('a'), retry('b'), row('b'), row('c')]);
    const order: string[] = [];
    for (let flight = queues.next(0); flight; flight = queues.next(0)) {
      order.push(`${flight.row.endpoint_id}${flight.row.attempt}`);
      queues.land(flight, 'good', 0);
    }
    expect(order).toEqual(['b0', 'c0', 'a1', 'b1']);
  });

  test('requested attempts go before everything else of their endpoint', () => {
    const queues = createEndpointQueues({ concurrency: 1, maxPerEndpoint: 8 });
    const asked = row('a', { attempt: 3, urgent: true });
    fill(queues, [row('a'), retry('a'), asked]);
    expect(queues.next(0)?.row.id).toBe(asked.id);
  });

  test('endpoints whose last attempts were slow come after all others', () => {
    const queues = createEndpointQueues({ concurrency: 2, maxPerEndpoint: 8 });
    fill(queues, [row('slow')]);
    const [dragging] = launch(queues);
    queues.park(1);
    if (dragging) queues.land(dragging, 'timeout', 0);
    fill(queues, [row('slow'), retry('b'), row('c')]);
    expect(
      endpointsOf([queues.next(0), queues.next(0)].filter((flight) => flight !== null)),
    ).toEqual(['c', 'b']);
  });
});

test('endpoints whose attempts reach their time limit together leave the slots to others', () => {
  const queues = createEndpointQueues({ concurrency: 3, maxPerEndpoint: 8 });
  const hanging = Array.from({ length: 5 }, (_, n) => `hangs${n}`);
  fill(
    queues,
    hanging.map((name) => row(name)),
  );
  const first = [...launch(queues), ...(queues.park(1) ? launch(queues) : [])];
  queues.park(1);
  fill(
    queues,
    hanging.map((name) => row(name)),
  );
  for (const flight of first) queues.land(flight, 'timeout', 0);
  expect(launch(queues)).toHaveLength(5);
  fill(queues, [row('healthy')]);
  expect(endpointsOf(launch(queues))).toEqual(['healthy']);
  // What answers quickly is like all others again.
  for (const flight of queues.flights) queues.land(flight, 'good', 0);
  fill(queues, [row('hangs0'), row('healthy')]);
  expect(endpointsOf(launch(queues))).toEqual(['hangs0', 'healthy']);
});

describe('loops that share slots', () => {
  const twoLoops = (count: number) => {
    const slots = newSlots(count);
    const order: string[] = [];
    const loops = ['x', 'y'].map((name) => {
      const queues = createEndpointQueues({ concurrency: count, maxPerEndpoint: 8 }, slots);
      slots.launchers.add(() => {
        const flight = queues.next(0);
        if (flight) order.push(name);
        return flight !== null;
      });
      return queues;
    });
    return { slots, order, loops };
  };
  const landFirst = (queues: EndpointQueues | undefined): void => {
    const [flight] = queues?.flights ?? [];
    if (queues && flight) queues.land(flight, 'good', 0);
  };

  test('take turns, and have no more in flight than there are slots', () => {
    const { slots, order, loops } = twoLoops(3);
    for (const queues of loops)
      fill(
        queues,
        Array.from({ length: 9 }, (_, n) => row(`e${n}`)),
      );
    fillSlots(slots);
    expect(order).toEqual(['x', 'y', 'x']);
    landFirst(loops[0]);
    fillSlots(slots);
    expect(order).toEqual(['x', 'y', 'x', 'y']);
    expect(slots.taken).toBe(3);
  });

  test('give a slot back when an attempt lands or is parked, and never twice', () => {
    const { slots, loops } = twoLoops(2);
    const [x] = loops;
    if (x) fill(x, [row('a'), row('b'), row('c')]);
    fillSlots(slots);
    expect(slots).toMatchObject({ taken: 2, parked: 0 });
    x?.park(1);
    expect(slots).toMatchObject({ taken: 0, parked: 2 });
    fillSlots(slots);
    expect(slots).toMatchObject({ taken: 1, parked: 2 });
    for (let n = 0; n < 3; n += 1) landFirst(x);
    expect(slots).toMatchObject({ taken: 0, parked: 0 });
  });

  test('divide what a worker claims ahead', () => {
    const { slots, loops } = twoLoops(8);
    for (const queues of loops) queues.park(0);
    expect(loops.map((queues) => queues.capacity())).toEqual([16, 16]);
    slots.launchers.clear();
    for (const queues of loops) queues.park(0);
    expect(loops.map((queues) => queues.capacity())).toEqual([32, 32]);
  });
});

describe('caps', () => {
  test('an endpoint starts with one attempt in flight, and successes raise it to its limit', () => {
    const queues = createEndpointQueues({ concurrency: 100, maxPerEndpoint: 8 });
    fill(
      queues,
      Array.from({ length: 100 }, () => row('a')),
    );
    const sizes: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const flights = launch(queues);
      sizes.push(flights.length);
      for (const flight of flights) queues.land(flight, 'good', 0);
    }
    expect(sizes).toEqual([1, 2, 8, 8, 8]);
  });

  test('a failure halves the attempts in flight, a timeout reduces them to one', () => {
    const queues = createEndpointQueues({ concurrency: 100, maxPerEndpoint: 8 });
    const queue = warm(queues, 'a');
    expect(queue.cap).toBe(8);
    fill(
      queues,
      Array.from({ length: 100 }, () => row('a')),
    );
    const [failing, silent] = launch(queues);
    if (failing) queues.land(failing, 'failed', 0);
    expect(queue.cap).toBe(4);
    if (silent) queues.land(silent, 'timeout', 0);
    expect(queue.cap).toBe(1);
  });

  test('a limit that is not a power of two is kept', () => {
    const queues = createEndpointQueues({ concurrency: 100, maxPerEndpoint: 5 });
    warm(queues, 'a');
    fill(
      queues,
      Array.from({ length: 20 }, () => row('a')),
    );
    expect(launch(queues)).toHaveLength(5);
  });

  test('never more attempts in flight than slots, all endpoints together', () => {
    const queues = createEndpointQueues({ concurrency: 3, maxPerEndpoint: 8 });
    fill(
      queues,
      Array.from({ length: 10 }, (_, n) => row(`e${n}`)),
    );
    expect(launch(queues)).toHaveLength(3);
  });
});

test('an attempt ends once', () => {
  const queues = createEndpointQueues({ concurrency: 2, maxPerEndpoint: 8 });
  fill(queues, [row('a')]);
  const [flight] = launch(queues);
  if (!flight) throw new Error('nothing was launched');
  queues.land(flight, 'good', 0);
  expect(() => queues.land(flight, 'good', 0)).toThrow('landed twice');
  expect(queues.stats()).toEqual({ inFlight: 0, parked: 0, queued: 0 });
  expect(flight.queue).toMatchObject({ inFlight: 0, cap: 2 });
});

describe('parking', () => {
  test('attempts without a response for long free their slots and continue', () => {
    const queues = createEndpointQueues({ concurrency: 2, maxPerEndpoint: 8 });
    fill(queues, [row('hangs1'), row('hangs2'), row('waits')]);
    const flights = launch(queues, 0);
    expect(endpointsOf(flights)).toEqual(['hangs1', 'hangs2']);
    expect(queues.park(-1)).toBe(false);
    expect(queues.park(0)).toBe(true);
    expect(endpointsOf(launch(queues, 300))).toEqual(['waits']);
    expect(queues.stats()).toEqual({ inFlight: 3, parked: 2, queued: 0 });
    for (const flight of flights) queues.land(flight, 'timeout', 0);
    expect(queues.stats()).toEqual({ inFlight: 1, parked: 0, queued: 0 });
  });

  test('only a limited number of attempts is parked; the others keep their slots', () => {
    const queues = createEndpointQueues({ concurrency: 1, maxPerEndpoint: 1 });
    fill(
      queues,
      Array.from({ length: 40 }, (_, n) => row(`e${n}`)),
    );
    let launched = 0;
    for (let n = 0; n < 40; n += 1) {
      launched += launch(queues, n).length;
      queues.park(n);
    }
    expect(launched).toBe(21);
  });

  test('deliveries that a slow endpoint cannot launch are given back', () => {
    const queues = createEndpointQueues({ concurrency: 100, maxPerEndpoint: 8 });
    const queue = warm(queues, 'a');
    fill(
      queues,
      Array.from({ length: 32 }, () => row('a')),
    );
    launch(queues);
    expect(queues.withdraw(0)).toHaveLength(0);
    queues.park(0);
    expect(queues.withdraw(0)).toHaveLength(24);
    expect(queue.more.pending).toBe(true);
    expect(queues.roomOf(queue)).toBe(0);
  });
});

describe('first attempts and retries', () => {
  test('while first attempts never end, each fourth turn is of a retry', () => {
    const queues = createEndpointQueues({ concurrency: 1, maxPerEndpoint: 8 });
    const turns: string[] = [];
    for (let n = 0; n < 8; n += 1) {
      fill(queues, [row(`first${n}`), row(`other${n}`), retry(`retry${n}`)]);
      for (const flight of launch(queues)) {
        turns.push(flight.row.status);
        queues.land(flight, 'good', 0);
      }
    }
    const four = ['pending', 'pending', 'pending', 'retrying'];
    expect(turns).toEqual([...four, ...four]);
  });
});

describe('what to claim', () => {
  test('every endpoint gets a share, and all together no more than the capacity', () => {
    const queues = createEndpointQueues({ concurrency: 10, maxPerEndpoint: 8 });
    const names = Array.from({ length: 6 }, (_, n) => `e${n}`);
    for (const name of names) queues.setMore(warm(queues, name), 'pending');
    const shares = queues.takeShares('pending', queues.capacity());
    expect(shares.map(({ room }) => room)).toEqual(names.map(() => 6));
    expect(queues.takeShares('pending', queues.capacity())).toEqual([]);
  });

  test('endpoints that got no share come first the next time', () => {
    const queues = createEndpointQueues({ concurrency: 1, maxPerEndpoint: 8 });
    for (let n = 0; n < 20; n += 1) queues.setMore(queues.queueOf('team_a', `e${n}`), 'pending');
    const first = queues.takeShares('pending', queues.capacity()).map(({ queue }) => queue);
    for (const queue of first) queues.setMore(queue, 'pending');
    const second = queues.takeShares('pending', queues.capacity()).map(({ queue }) => queue);
    expect(first).toHaveLength(4);
    expect(second).toHaveLength(4);
    expect(second.filter((queue) => first.includes(queue))).toEqual([]);
  });

  test('the faster the deliveries, the more are claimed ahead; fewer when they slow down', () => {
    const queues = createEndpointQueues({ concurrency: 10, maxPerEndpoint: 8 });
    expect(queues.capacity()).toBe(40);
    for (let n = 0; n < 200; n += 1) {
      queues.accept(row(`e${n % 5}`), 0);
      for (const flight of launch(queues)) queues.land(flight, 'good', 0);
    }
    queues.park(0);
    expect(queues.capacity()).toBe(200);
    queues.park(0);
    queues.park(0);
    queues.park(0);
    expect(queues.capacity()).toBe(40);
  });

  test('an endpoint is not claimed from again until it is known to have more', () => {
    const queues = createEndpointQueues({ concurrency: 10, maxPerEndpoint: 8 });
    queues.setMore(queues.queueOf('team_a', 'a'), 'retrying');
    expect(queues.canClaim()).toBe(true);
    queues.takeShares('retrying', queues.capacity());
    expect(queues.canClaim()).toBe(false);
  });

  test('an endpoint at its cap is not claimed from until one of its attempts ends', () => {
    const queues = createEndpointQueues({ concurrency: 10, maxPerEndpoint: 8 });
    queues.accept(row('a'), 0);
    const [flight] = launch(queues);
    queues.setMore(queues.queueOf('team_a', 'a'), 'pending');
    expect(queues.canClaim()).toBe(false);
    if (flight) queues.land(flight, 'failed', 0);
    expect(queues.canClaim()).toBe(true);
  });
});

test('endpoints without deliveries in hand are forgotten when there are very many', () => {
  const queues = createEndpointQueues({ concurrency: 2, maxPerEndpoint: 2 });
  for (let n = 0; n < 10_001; n += 1) queues.queueOf('team_a', `e${n}`);
  const busy = queues.queueOf('team_a', 'busy');
  queues.accept(row('busy'), 0);
  const hungry = queues.queueOf('team_a', 'hungry');
  queues.setMore(hungry, 'pending');
  const idle = queues.queueOf('team_a', 'e0');
  queues.forgetIdle();
  expect(queues.queueOf('team_a', 'busy')).toBe(busy);
  expect(queues.queueOf('team_a', 'hungry')).toBe(hungry);
  expect(queues.queueOf('team_a', 'e0')).not.toBe(idle);
});

const endpoint = fc.integer({ min: 0, max: 5 }).map((n) => `e${n}`);
const kind = fc.constantFrom('pending' as const, 'retrying' as const);
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
    fc.record({ do: fc.constant('park' as const), ago: fc.integer({ min: 0, max: 3 }) }),
    fc.record({ do: fc.constant('withdraw' as const), ago: fc.integer({ min: -1, max: 5 }) }),
    fc.record({ do: fc.constant('more' as const), endpoint, kind }),
    fc.record({ do: fc.constant('ask' as const), kind }),
  ),
  // Without a size fast-check makes ten steps at most.
  { maxLength: 120, size: 'max' },
);
type Step = typeof steps extends fc.Arbitrary<readonly (infer One)[]> ? One : never;
const limits = fc.record({
  concurrency: fc.integer({ min: 1, max: 6 }),
  maxPerEndpoint: fc.integer({ min: 1, max: 9 }),
});

describe('any sequence of events', () => {
  test('the counts are right, no delivery is lost or doubled, and limits are kept', () => {
    fc.assert(
      fc.property(limits, steps, (given, sequence) => {
        const model = createModel(given);
        for (const [index, step] of sequence.entries()) {
          apply(model, step, index + 1);
          checkCounts(model);
        }
        drain(model, sequence.length);
        expect(model.faults).toEqual([]);
        expect(model.queues.stats()).toEqual({ inFlight: 0, parked: 0, queued: 0 });
        // Nothing that is gone counts against what may be in hand.
        expect(model.queues.capacity()).toBeGreaterThanOrEqual(4 * given.concurrency);
      }),
      { numRuns: 500 },
    );
  });
});

/** The queues, and what is known about them from the steps so far. */
interface Model {
  readonly queues: EndpointQueues;
  readonly limits: { readonly concurrency: number; readonly maxPerEndpoint: number };
  /** Ids of accepted deliveries that were neither launched nor withdrawn. */
  readonly waiting: Set<string>;
  readonly flying: Map<string, Flight>;
  readonly faults: string[];
}

function createModel(given: Model['limits']): Model {
  const queues = createEndpointQueues(given);
  return { queues, limits: given, waiting: new Set(), flying: new Map(), faults: [] };
}

function check({ faults }: Model, isTrue: boolean, fault: string): void {
  if (!isTrue) faults.push(fault);
}

function apply(model: Model, step: Step, now: number): void {
  const { queues, waiting, flying } = model;
  if (step.do === 'accept') {
    const accepted = row(step.endpoint, { attempt: step.attempt, urgent: step.urgent });
    waiting.add(accepted.id);
    queues.accept(accepted, now);
  }
  if (step.do === 'launch') launchAndCheck(model, now);
  if (step.do === 'land') {
    const flight = [...flying.values()][step.which % Math.max(1, flying.size)];
    if (flight) {
      flying.delete(flight.row.id);
      queues.land(flight, step.pace, 0);
    }
  }
  if (step.do === 'park') queues.park(now - step.ago);
  if (step.do === 'withdraw')
    for (const { id } of queues.withdraw(now - step.ago))
      check(model, waiting.delete(id), 'withdrew what did not wait');
  if (step.do === 'more') queues.setMore(queues.queueOf('team_a', step.endpoint), step.kind);
  if (step.do === 'ask') askAndCheck(model, step.kind);
}

function launchAndCheck(model: Model, now: number): void {
  const { queues, limits: given, waiting, flying } = model;
  const hadTurn = new Set<EndpointQueue>();
  for (;;) {
    const modes = new Map(queueSet(queues).map((queue) => [queue, queue.mode]));
    const flight = queues.next(now);
    if (!flight) break;
    const others = [...modes].filter(([, mode]) => mode === modes.get(flight.queue));
    const isInTurn = !hadTurn.has(flight.queue) || others.every(([queue]) => hadTurn.has(queue));
    check(model, isInTurn, 'had a turn before another that was ready');
    hadTurn.add(flight.queue);
    check(model, waiting.delete(flight.row.id), 'launched what did not wait');
    flying.set(flight.row.id, flight);
    const { cap } = flight.queue;
    check(model, inFlightOf(model, flight.queue) <= cap, 'more in flight than the cap');
  }
  const active = [...flying.values()].filter(({ isParked }) => !isParked).length;
  check(model, active <= given.concurrency, 'more in flight than slots');
  // Slots stay free only if no attempt is allowed.
  const mayGo = queueSet(queues).some(
    (queue) => queue.waiting.length > 0 && queue.inFlight < queue.cap,
  );
  check(model, active === given.concurrency || !mayGo, 'a slot is idle');
}

function askAndCheck(model: Model, asked: 'pending' | 'retrying'): void {
  const { queues } = model;
  const capacity = queues.capacity();
  const shares = queues.takeShares(asked, capacity);
  const total = shares.reduce((sum, { room }) => sum + room, 0);
  check(model, total <= capacity, 'asked for more than there is room for');
  const fit = shares.every(
    ({ queue, room }) =>
      room > 0 && room <= roomOf(queue, model.limits.maxPerEndpoint) && Number.isInteger(room),
  );
  check(model, fit, 'a share that does not fit');
}

function checkCounts(model: Model): void {
  const { queues, limits: given, waiting, flying } = model;
  const parked = [...flying.values()].filter(({ isParked }) => isParked).length;
  expect(queues.stats()).toEqual({ inFlight: flying.size, parked, queued: waiting.size });
  expect(new Set(queues.queuedKeys())).toEqual(
    new Set([...waiting].map((id) => teamKey('team_a', id))),
  );
  for (const queue of queueSet(queues)) {
    check(model, queue.inFlight === inFlightOf(model, queue), 'a wrong count in flight');
    const isWithin = queue.cap >= 1 && queue.cap <= given.maxPerEndpoint;
    check(model, isWithin, 'a cap out of its bounds');
  }
}

/** Nothing is stuck: if all attempts succeed, every delivery is launched. */
function drain({ queues, waiting, flying }: Model, now: number): void {
  for (let n = 0; n < 1000 && (waiting.size > 0 || flying.size > 0); n += 1) {
    for (let flight = queues.next(now); flight; flight = queues.next(now)) {
      waiting.delete(flight.row.id);
      flying.set(flight.row.id, flight);
    }
    for (const flight of flying.values()) queues.land(flight, 'good', 0);
    flying.clear();
  }
}

function inFlightOf({ flying }: Model, queue: EndpointQueue): number {
  return [...flying.values()].filter((flight) => flight.queue === queue).length;
}

function queueSet(queues: EndpointQueues): EndpointQueue[] {
  return Array.from({ length: 6 }, (_, n) => queues.queueOf('team_a', `e${n}`));
}
