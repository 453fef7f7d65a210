// What a slow endpoint changes, and what is given back; see also endpoint-queues.test.ts.
import { describe, expect, test } from 'vitest';
import { DELIVERY_ERRORS } from '../../src/core/delivery-errors.ts';
import { teamKey } from '../../src/core/team-key.ts';
import { paceOf } from '../../src/delivery/attempts.ts';
import type { EndpointQueue, Flight, Pace } from '../../src/delivery/endpoint-queue.ts';
import { createEndpointQueues, type EndpointQueues } from '../../src/delivery/endpoint-queues.ts';
import { fill, launch, retry, row, warm } from '../support/endpoint-queues.ts';

const ONE_SLOT = { concurrency: 1, maxPerEndpoint: 8 };

/** The endpoints in the order of their attempts, one after the other. */
function order(queues: EndpointQueues): string[] {
  const endpoints: string[] = [];
  for (let flight = queues.next(0); flight; flight = queues.next(0)) {
    endpoints.push(flight.row.endpoint_id);
    queues.land(flight, 'good', 0);
  }
  return endpoints;
}

/** Makes one attempt to the endpoint. */
function attempt(queues: EndpointQueues, endpoint: string, pace: Pace, isParked = false): void {
  queues.accept(row(endpoint), 0);
  const flight = queues.next(0) as Flight;
  if (isParked) queues.park(0);
  queues.land(flight, pace, 0);
}

describe('turns', () => {
  test('deliveries of one endpoint go in the order in which they were claimed', () => {
    const queues = createEndpointQueues(ONE_SLOT);
    const rows = [row('a'), row('a'), row('a')];
    fill(queues, rows);
    const launched = rows.map(() => {
      const flight = queues.next(0) as Flight;
      queues.land(flight, 'failed', 0);
      return flight.row.id;
    });
    expect(launched).toEqual(rows.map(({ id }) => id));
  });

  test('an endpoint keeps its turn when another delivery for it is claimed', () => {
    const queues = createEndpointQueues(ONE_SLOT);
    fill(queues, [row('a'), row('b'), row('a')]);
    expect(queues.next(0)?.row.endpoint_id).toBe('a');
  });

  test('a requested attempt does not wait because its endpoint is slow', () => {
    const queues = createEndpointQueues(ONE_SLOT);
    attempt(queues, 'slow', 'timeout');
    fill(queues, [retry('b'), row('slow', { attempt: 3, urgent: true })]);
    expect(order(queues)).toEqual(['slow', 'b']);
  });
});

describe('an endpoint is slow', () => {
  test.each<[string, Pace, boolean, string[]]>([
    ['after an attempt that timed out', 'timeout', false, ['b', 'a']],
    ['after an attempt that was silent for long, even if it succeeded', 'good', true, ['b', 'a']],
    ['but not after a quick success', 'good', false, ['a', 'b']],
    ['but not after a quick failure', 'failed', false, ['a', 'b']],
  ])('%s', (_when, pace, isParked, expected) => {
    const queues = createEndpointQueues(ONE_SLOT);
    attempt(queues, 'a', pace, isParked);
    fill(queues, [row('a'), row('b')]);
    expect(order(queues)).toEqual(expected);
  });

  test('as soon as one of its attempts is silent for long', () => {
    const queues = createEndpointQueues(ONE_SLOT);
    attempt(queues, 'a', 'good');
    fill(queues, [row('a'), row('a')]);
    expect(queues.next(0)?.row.endpoint_id).toBe('a');
    queues.accept(row('b'), 0);
    queues.park(0);
    expect(order(queues)).toEqual(['b', 'a']);
  });

  test('until an attempt is quick again', () => {
    const queues = createEndpointQueues(ONE_SLOT);
    attempt(queues, 'a', 'timeout');
    attempt(queues, 'a', 'failed');
    fill(queues, [row('a'), row('b')]);
    expect(order(queues)).toEqual(['a', 'b']);
  });
});

describe('given back', () => {
  const keyOf = (id: string | undefined) => teamKey('team_a', id ?? '');
  const claimedAt = (queues: EndpointQueues, at: number, endpoint = 'a'): string => {
    const added = row(endpoint);
    queues.accept(added, at);
    return added.id;
  };

  test('is what was claimed too long ago, and nothing else', () => {
    const queues = createEndpointQueues(ONE_SLOT);
    const [old, young, younger] = [1, 2, 3].map((at) => claimedAt(queues, at));
    expect(queues.withdraw(2).map(({ id }) => id)).toEqual([old]);
    expect(queues.queuedKeys()).toEqual([keyOf(young), keyOf(younger)]);
    expect(queues.stats().queued).toBe(2);
  });

  test('is also a single delivery, and then its endpoint has more in the database', () => {
    const queues = createEndpointQueues(ONE_SLOT);
    const first = claimedAt(queues, 1, 'a');
    const again = retry('b');
    queues.accept(again, 1);
    expect(queues.withdraw(2).map(({ id }) => id)).toEqual([first, again.id]);
    const moreOf = (endpoint: string) => queues.queueOf('team_a', endpoint).more;
    expect(moreOf('a')).toEqual({ requested: false, pending: true, retrying: false });
    expect(moreOf('b')).toEqual({ requested: false, pending: false, retrying: true });
  });

  test('is not what a slow endpoint can launch now', () => {
    const queues = createEndpointQueues(ONE_SLOT);
    attempt(queues, 'a', 'timeout');
    const [first, second, third] = [1, 1, 1].map((at) => claimedAt(queues, at));
    expect(queues.withdraw(0).map(({ id }) => id)).toEqual([second, third]);
    expect(queues.queuedKeys()).toEqual([keyOf(first)]);
  });
});

describe('an endpoint without deliveries in hand', () => {
  const withQueues = (count: number): EndpointQueues => {
    const queues = createEndpointQueues(ONE_SLOT);
    for (let n = 0; n < count; n += 1) queues.queueOf('team_a', `e${n}`);
    return queues;
  };
  const isKept = (queues: EndpointQueues, queue: EndpointQueue): boolean => {
    queues.forgetIdle();
    return queues.queueOf(queue.teamId, queue.endpointId) === queue;
  };

  test.each([
    [10_000, true],
    [10_001, false],
  ])('is remembered among %i endpoints: %s', (count, expected) => {
    const queues = withQueues(count);
    expect(isKept(queues, queues.queueOf('team_a', 'e0'))).toBe(expected);
  });

  test('is remembered while an attempt is in flight', () => {
    const queues = withQueues(10_001);
    queues.accept(row('e0'), 0);
    launch(queues);
    expect(isKept(queues, queues.queueOf('team_a', 'e0'))).toBe(true);
  });

  test('is remembered while a result waits to be written', () => {
    const queues = withQueues(10_001);
    queues.addUnwritten(queues.queueOf('team_a', 'e0'), 1);
    expect(isKept(queues, queues.queueOf('team_a', 'e0'))).toBe(true);
  });
});

describe('an endpoint at its own limit', () => {
  const atLimit = (queues: EndpointQueues, nowMs: number): string[] =>
    queues.atLimit(nowMs).map(({ team_id, endpoint_id }) => `${team_id} ${endpoint_id}`);

  test('is told while as many attempts as it may have are in flight', () => {
    const queues = createEndpointQueues({ concurrency: 9, maxPerEndpoint: 8 });
    warm(queues, 'healthy');
    fill(queues, [row('slow'), row('slow'), row('healthy')]);
    launch(queues, 60_000);
    expect(atLimit(queues, 90_000)).toEqual(['team_a slow']);
  });

  test('is told until the next attempt can be claimed, and no longer', () => {
    const queues = createEndpointQueues(ONE_SLOT);
    fill(queues, [row('slow')]);
    const [flight] = launch(queues, 10_000);
    queues.land(flight as Flight, 'timeout', 20_000);
    expect(atLimit(queues, 24_000)).toEqual(['team_a slow']);
    expect(atLimit(queues, 26_000)).toEqual([]);
  });

  test('is not told if it is the slots of the worker that are taken', () => {
    const queues = createEndpointQueues(ONE_SLOT);
    fill(queues, [row('first'), row('second')]);
    launch(queues, 60_000);
    expect(atLimit(queues, 60_000)).toEqual(['team_a first']);
  });
});

test('an attempt is slow if it has timed out, however else it may fail', () => {
  const paces = DELIVERY_ERRORS.map((error) => [error, paceOf({ ok: false, error })]);
  const wanted = DELIVERY_ERRORS.map((error) => [error, error === 'timeout' ? error : 'failed']);
  expect(paces).toEqual(wanted);
  expect(paceOf({ ok: false, error: null })).toBe('failed');
  expect(paceOf({ ok: true, error: null })).toBe('good');
});
