// What the page says of deliveries, when it asks for them again, and what is sent again.
import { describe, expect, test } from 'vitest';
import { de } from '../../../src/admin-ui/i18n/de.ts';
import { en } from '../../../src/admin-ui/i18n/en.ts';
import {
  explanationOf,
  FAILED,
  hasFailed,
  looksAgainMs,
  nameAmong,
  isHeld,
  stateOfTest,
  toneOfDelivery,
} from '../../../src/admin-ui/pages/delivery-outcome.ts';
import type { Endpoint } from '../../../src/admin-ui/pages/endpoint-name.ts';
import {
  endpointChoices,
  hasTwin,
  nameOfEndpoint,
} from '../../../src/admin-ui/pages/endpoint-name.ts';
import { nameOfEvent, SUBSCRIBABLE_EVENTS } from '../../../src/admin-ui/pages/event-types.ts';
import {
  ALL,
  firstChoice,
  isPaused,
  pausedIn,
  looksAgainMs as looksAtResendsMs,
  wantedOf,
  whyNotResend,
} from '../../../src/admin-ui/pages/resend-choice.ts';
import { DELIVERY_ERRORS } from '../../../src/core/delivery-errors.ts';
import { endpointName, visibleText } from '../../../src/core/endpoint-name.ts';
import { EVENT_TYPES, SUBSCRIBABLE_EVENTS as SUBSCRIBABLE } from '../../../src/core/events.ts';
import { useStandingDate } from './standing-date.ts';

const NOW = 100_000;
useStandingDate(NOW);

const endpoint = (id: string, what: Partial<Endpoint> = {}) =>
  ({
    id,
    url: `https://${id}.test/hooks`,
    description: null,
    status: 'active',
    ...what,
  }) as Endpoint;

describe('the words for a delivery', () => {
  const failed = { status: 'retrying', error: null } as const;
  const { explain, todo } = en.deliveries;

  test.each([
    [200, 'other'],
    [299, 'other'],
    [300, '3xx'],
    [399, '3xx'],
    [400, '4xx'],
    [401, '401'],
    [402, '4xx'],
    [403, '401'],
    [404, '404'],
    [407, '401'],
    [408, '4xx'],
    [410, '410'],
    [429, '429'],
    [499, '4xx'],
    [500, '5xx'],
    [599, '5xx'],
  ] as const)('that was answered with %i are those for %s', (code, kind) => {
    const { what, todo: next } = explanationOf(en, { ...failed, response_code: code });
    expect(what).toBe(explain[kind]);
    expect(next).toBe(kind === 'other' ? null : todo[kind]);
  });

  test.each(DELIVERY_ERRORS)('that failed with %s are its own', (error) => {
    for (const t of [de, en]) {
      const outcome = { status: 'retrying', response_code: 500, error };
      const { what, todo: next } = explanationOf(t, outcome);
      expect(what).toBe(t.deliveries.explain[error]);
      expect(next).toBe(t.deliveries.todo[error as keyof typeof t.deliveries.todo] ?? null);
    }
  });

  test.each(['internal', 'simulated'] as const)(
    'that will not be tried again after %s promise no other attempt',
    (error) => {
      for (const t of [de, en]) {
        const outcome = { status: 'gave_up', response_code: null, error };
        const { what, todo: next } = explanationOf(t, outcome);
        expect(what).toBe(t.deliveries.explain[error]);
        expect(next).toBe(t.deliveries.todo.gave_up);
        expect(next).not.toBe(t.deliveries.todo[error]);
      }
    },
  );

  test.each([
    [429, null],
    [500, null],
    [null, 'name_not_resolved'],
  ] as const)('that will not be tried again after %s %s say so', (response_code, error) => {
    for (const t of [de, en]) {
      const { todo: own } = explanationOf(t, { status: 'retrying', response_code, error });
      const { todo: last } = explanationOf(t, { status: 'gave_up', response_code, error });
      expect(last).toBe(`${own} ${t.deliveries.todo.gave_up}`);
    }
  });

  test('that arrived, waits, or failed with something new', () => {
    const none = { response_code: null, error: null };
    expect(explanationOf(en, { status: 'ok', response_code: 500, error: 'timeout' })).toEqual({
      what: explain.ok,
      todo: null,
    });
    expect(explanationOf(en, { status: 'pending', ...none })).toEqual({
      what: explain.pending,
      todo: null,
    });
    expect(explanationOf(en, { status: 'retrying', ...none, error: 'new_one' })).toEqual({
      what: explain.other,
      todo: null,
    });
  });
});

describe('a delivery', () => {
  const STATUSES = Object.keys(en.deliveries.states);

  test('is coloured by its status', () => {
    const tones = [...STATUSES, 'new_one'].map((status) => [status, toneOfDelivery(status)]);
    expect(Object.fromEntries(tones)).toEqual({
      pending: 'plain',
      ok: 'good',
      retrying: 'warn',
      gave_up: 'bad',
      failed: 'plain',
      new_one: 'plain',
    });
  });

  test('can be tried again if it failed', () => {
    expect(STATUSES.filter(hasFailed)).toEqual(['retrying', 'gave_up']);
    expect(FAILED).toEqual(['retrying', 'gave_up']);
  });

  test.each([
    ['pending', 0, 2_000],
    ['ok', 0, false],
    ['retrying', NOW - 20_000, false],
    ['retrying', NOW - 19_999, 2_000],
    ['ok', NOW, 2_000],
  ] as const)('that is %s and was tried again at %i is asked for: %j', (status, at, ms) => {
    expect(looksAgainMs({ status }, at)).toBe(ms);
  });

  test.each([
    ['pending', 'disabled', true],
    ['retrying', 'disabled', true],
    ['retrying', 'disabled_failures', true],
    ['retrying', 'active', false],
    ['gave_up', 'disabled', false],
    ['ok', 'disabled', false],
  ])('that is %s at an endpoint that is %s is held back: %j', (status, endpointStatus, held) => {
    expect(isHeld({ status }, { status: endpointStatus })).toBe(held);
    expect(isHeld({ status }, undefined)).toBe(false);
  });

  test('that is not here yet is asked for once', () => {
    expect(looksAgainMs(undefined, 0)).toBe(false);
    expect(looksAgainMs(undefined, NOW)).toBe(2_000);
  });

  test.each([
    [undefined, 'running'],
    [{ status: 'pending', attempt: 0 }, 'running'],
    [{ status: 'ok', attempt: 1 }, 'arrived'],
    [{ status: 'retrying', attempt: 1 }, 'failed'],
    [{ status: 'gave_up', attempt: 2 }, 'failed'],
  ] as const)('of a test, %j, is %s', (delivery, state) => {
    expect(stateOfTest(delivery)).toBe(state);
  });
});

describe('an endpoint', () => {
  test('is called by its description, or by its host', () => {
    expect(nameOfEndpoint(endpoint('whe-1'))).toBe('whe-1.test');
    expect(nameOfEndpoint(endpoint('whe-1', { description: 'Ours' }))).toBe('Ours');
    expect(endpointName(endpoint('whe-1', { description: 'Ours' }))).toBe('Ours');
    expect(endpointName(endpoint('whe-1'))).toBe('whe-1.test');
    expect(nameOfEndpoint({ url: 'https://x.test:8443/a', description: null })).toBe('x.test:8443');
  });

  test.each(['', '   ', '\u200b', '\u2060\u00ad \ufeff'])(
    'has no description if nothing of it can be seen: %j',
    (description) => {
      expect(visibleText(description)).toBeNull();
    },
  );

  test('is told from others of its name where one is chosen, and is cut', () => {
    const at = (id: string, url: string, description: string | null = null) => ({
      id,
      url: `https://${url}`,
      description,
    });
    const choices = endpointChoices([
      at('whe-1', 'x.test/a?token=1'),
      at('whe-2', 'x.test/b'),
      at('whe-3', 'x.test/b?token=2'),
      at('whe-4', 'y.test/c'),
      at('whe-5', 'y.test/d', 'n'.repeat(5_000)),
    ]);
    expect(choices).toEqual([
      ['whe-1', 'x.test /a'],
      ['whe-2', 'x.test /b (whe-2)'],
      ['whe-3', 'x.test /b (whe-3)'],
      ['whe-4', 'y.test'],
      ['whe-5', `${'n'.repeat(80)}…`],
    ]);
  });

  test('of a delivery is named once the endpoints are here', () => {
    const two = [endpoint('whe-1'), endpoint('whe-2')];
    expect(nameAmong(two, 'whe-2')).toBe('whe-2.test');
    expect(nameAmong(two, 'whe-3')).toBe('whe-3');
    expect(nameAmong([], 'whe-3')).toBe('');
  });
});

describe('an event', () => {
  test('is offered if customers can subscribe to it', () => {
    expect(SUBSCRIBABLE_EVENTS.toSorted()).toEqual(SUBSCRIBABLE.toSorted());
    expect(SUBSCRIBABLE_EVENTS).not.toContain('ping');
  });

  test.each([de, en])('has a name, or is called by its type', (t) => {
    const names: Readonly<Record<string, string>> = t.webhooks.eventNames;
    for (const type of EVENT_TYPES) expect(nameOfEvent(t, type)).toBe(names[type]);
    expect(nameOfEvent(t, 'case.painted')).toBe('case.painted');
  });
});

describe('what is sent again', () => {
  const ONE = [endpoint('whe-1')];
  const TWO = [...ONE, endpoint('whe-2')];
  const nothing = { endpoint: undefined, times: {}, type: undefined, status: undefined };

  test.each([
    [ONE, undefined, 'whe-1'],
    [TWO, undefined, ALL],
    [TWO, 'whe-2', 'whe-2'],
    [[], undefined, undefined],
    [TWO, 'whe-gone', ALL],
    [ONE, 'whe-gone', 'whe-1'],
    [[], 'whe-gone', undefined],
  ])('is of the endpoint of the filter, of all, or of the only one', (endpoints, first, id) => {
    expect(firstChoice(endpoints, { ...nothing, endpoint: first }).endpointId).toBe(id);
  });

  test('is of the times of the filter, or of a day', () => {
    const custom = { past: 'custom', since: '2026-01-01T00:00:00.000Z' } as const;
    expect(firstChoice(ONE, nothing).times).toEqual({ past: '24h' });
    expect(firstChoice(ONE, { ...nothing, times: { since: custom.since } }).times).toEqual({
      past: '24h',
    });
    expect(firstChoice(ONE, { ...nothing, times: custom }).times).toBe(custom);
  });

  test.each([
    ['retrying', 'retrying'],
    ['gave_up', 'gave_up'],
    ['failed', undefined],
    ['ok', undefined],
    [undefined, undefined],
  ])('with the filter %s has the status %s', (status, expected) => {
    const { which } = firstChoice(ONE, { ...nothing, type: 'case.created', status });
    expect(which).toEqual({ type: 'case.created', status: expected });
  });

  test('is no test', () => {
    expect(firstChoice(ONE, { ...nothing, type: 'ping' }).which.type).toBeUndefined();
  });

  test('is said to the service', () => {
    const which = { type: 'case.created', status: 'gave_up' } as const;
    const times = { since: '2026-01-01T00:00:00.000Z', until: '2026-01-02T00:00:00.000Z' };
    expect(wantedOf('whe-1', which, times)).toEqual({
      endpoint_id: 'whe-1',
      ...times,
      event_type: 'case.created',
      status: 'gave_up',
    });
    const all = { type: undefined, status: undefined };
    expect(wantedOf(ALL, all, { since: undefined, until: undefined })).toEqual({
      endpoint_id: undefined,
      since: '1970-01-01T00:00:00.000Z',
      until: undefined,
      event_type: undefined,
      status: undefined,
    });
  });

  test.each([
    ['active', false, 1, null],
    ['active', false, 0, 'nothing'],
    ['active', true, 0, 'counting'],
    ['disabled', true, 1, 'counting'],
    ['disabled', false, 1, 'paused'],
    ['disabled_failures', false, 0, 'paused'],
    ['disabled', false, undefined, 'paused'],
    // The count has failed: nobody knows whether there is anything.
    ['active', false, undefined, 'uncounted'],
  ] as const)(
    'to one that is %s (counting: %j), %s of them: %s',
    (status, isCounting, total, why) => {
      expect(whyNotResend({ endpoint: { status }, isCounting, total })).toBe(why);
      expect(isPaused({ status })).toBe(status !== 'active');
    },
  );

  test('can be sent to all endpoints, although some are paused', () => {
    expect(whyNotResend({ endpoint: undefined, isCounting: false, total: 1 })).toBeNull();
    expect(isPaused(undefined)).toBe(false);
  });

  test('is kept back by the chosen endpoint, or by those that were counted, if they pause', () => {
    const [active, paused, quiet] = [
      endpoint('whe-1'),
      endpoint('whe-2', { status: 'disabled' }),
      endpoint('whe-3', { status: 'disabled' }),
    ];
    const all = [active, paused, quiet];
    const counted = [{ endpoint_id: 'whe-1' }, { endpoint_id: 'whe-2' }];
    expect(pausedIn(all, undefined, counted)).toEqual([paused]);
    expect(pausedIn(all, quiet, [])).toEqual([quiet]);
    expect(pausedIn(all, active, counted)).toEqual([]);
  });

  test('is looked at until it is done', () => {
    expect(looksAtResendsMs(undefined)).toBe(false);
    expect(looksAtResendsMs([])).toBe(false);
    expect(looksAtResendsMs([{ state: 'done' }, { state: 'cancelled' }])).toBe(false);
    expect(looksAtResendsMs([{ state: 'done' }, { state: 'running' }])).toBe(1_500);
  });
});

test('an endpoint has a twin if another one sends some of its events to its address', () => {
  const one = { id: 'a', url: 'https://x.test', events: ['case.created', 'member.joined'] };
  const twin = { id: 'b', url: 'https://X.test:443/', events: ['case.created'] };
  expect([hasTwin(one, [one, twin]), hasTwin(twin, [one, twin])]).toEqual([true, true]);
  const others = [
    { ...twin, events: ['training.completed'] },
    { ...twin, url: 'https://x.test/?a' },
    { ...twin, url: 'https://y.test/' },
  ];
  expect(hasTwin(one, [one, ...others])).toBe(false);
  // As it is entered.
  for (const url of ['', 'https://', 'x.test'])
    expect(hasTwin({ ...one, id: '', url }, [one, twin])).toBe(false);
  expect(hasTwin({ ...one, id: '', url: ' https://x.test' }, [one])).toBe(true);
});
