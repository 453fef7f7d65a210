// What is changed of a webhook endpoint, and what its charts show.
import { beforeEach, describe, expect, test } from 'vitest';
import { de } from '../../../src/admin-ui/i18n/de.ts';
import { en } from '../../../src/admin-ui/i18n/en.ts';
import { createFormat } from '../../../src/admin-ui/i18n/formats.ts';
import { toggled } from '../../../src/admin-ui/lib/toggled.ts';
import {
  changesOf,
  enteredValues,
  isSame,
  isSecretUseless,
  valuesOf,
  missingIn,
  withStatus,
} from '../../../src/admin-ui/pages/endpoint-changes.ts';
import type { Delivery } from '../../../src/admin-ui/pages/delivery-outcome.ts';
import { firstBar, topOf } from '../../../src/admin-ui/ui/bars.ts';
import { answerBars, backlogBars, recentOf } from '../../../src/admin-ui/pages/webhook-figures.ts';

const format = createFormat('en');
const VALUES = {
  url: 'https://x.test/',
  events: ['case.created', 'training.completed'],
  description: 'Ours',
};

test('a choice is added at the end, once, or taken out', () => {
  expect(toggled(['a', 'b'], 'c', true)).toEqual(['a', 'b', 'c']);
  expect(toggled(['a', 'b', 'a'], 'a', false)).toEqual(['b']);
  expect(toggled(['a', 'b'], 'a', true)).toEqual(['b', 'a']);
  expect(toggled(['a'], 'c', false)).toEqual(['a']);
});

describe('the settings of an endpoint', () => {
  test('are read from it, with a list of events of their own', () => {
    const read = valuesOf(VALUES);
    expect(read).toEqual(VALUES);
    expect(read.events).not.toBe(VALUES.events);
  });

  test('are saved without spaces around them', () => {
    const entered = { url: ' https://x.test/ ', events: ['case.created'], description: ' Ours ' };
    expect(enteredValues(entered)).toEqual({ ...VALUES, events: ['case.created'] });
    expect(enteredValues({ ...entered, description: '  ' }).description).toBeNull();
  });

  test.each([
    [{}, {}],
    [{ url: 'https://y.test/' }, { url: 'https://y.test/' }],
    [{ description: null }, { description: null }],
    [{ events: ['training.completed', 'case.created'] }, {}],
    [{ events: ['case.created'] }, { events: ['case.created'] }],
    [
      { events: [], description: 'New', url: 'https://z.test/' },
      { events: [], description: 'New', url: 'https://z.test/' },
    ],
  ])('changed by %j are sent as %j', (change, sent) => {
    const after = { ...VALUES, ...change };
    expect(changesOf(VALUES, after)).toStrictEqual(sent);
    expect(isSame(VALUES, after)).toBe(Object.keys(sent).length === 0);
  });
});

test('what is missing of an endpoint is said of all fields at once', () => {
  expect(missingIn({ url: ' ', events: [] })).toEqual(['url', 'events']);
  expect(missingIn({ url: 'https://x.test/', events: [] })).toEqual(['events']);
  expect(missingIn({ url: '', events: ['case.created'] })).toEqual(['url']);
  expect(missingIn({ url: 'x', events: ['case.created'] })).toEqual([]);
});

test('a secret is useless if nobody has stored it, nor an earlier one', () => {
  const earlier = { earlier_secrets_until: '2026-01-31T12:00:00.000Z' };
  expect(isSecretUseless({}, true)).toBe(true);
  expect(isSecretUseless({}, false)).toBe(false);
  expect(isSecretUseless(earlier, true)).toBe(false);
});

test('another status changes this endpoint in the list, and no other', () => {
  const list = { next_cursor: null, data: ['a', 'b'].map((id) => ({ id, status: 'active' })) };
  expect(withStatus(list, 'b', 'disabled')).toEqual({
    next_cursor: null,
    data: [
      { id: 'a', status: 'active' },
      { id: 'b', status: 'disabled' },
    ],
  });
  expect(withStatus(list, 'b', undefined)).toEqual(list);
});

describe('what waits at an endpoint', () => {
  test('is nothing, and then nothing is drawn', () => {
    const again = [{ within_s: 0, count: 0 }];
    expect(backlogBars({ first: 0, again, has_more: false }, en, format)).toBeNull();
  });

  test('is drawn in the order in which it is tried', () => {
    const again = [
      { within_s: 0, count: 20 },
      { within_s: 3_600, count: 300 },
      { within_s: null, count: 4_000 },
    ];
    const shown = backlogBars({ first: 1, again, has_more: false }, en, format);
    const { backlogFirst, backlogDue, backlogWithin, backlogLater } = en.webhooks;
    const whens = [backlogFirst, backlogDue, backlogWithin('1 hour'), backlogLater];
    expect(shown?.total).toBe('4,321');
    expect(shown?.bars.map(({ label }) => label)).toEqual(whens);
    expect(shown?.bars.map(({ parts }) => parts)).toEqual([
      [{ tone: 'soft', value: 1 }],
      [{ tone: 'warn', value: 20 }],
      [{ tone: 'warn', value: 300 }],
      [{ tone: 'warn', value: 4_000 }],
    ]);
    expect(shown?.bars.at(-1)?.text).toBe(en.webhooks.backlogBar('4,000', backlogLater));
    expect(shown?.bars.at(-1)?.cells).toEqual(['4,000']);
  });

  test('may be more than was counted', () => {
    const german = createFormat('de');
    const shown = backlogBars({ first: 1_000, again: [], has_more: true }, de, german);
    expect(shown?.total).toBe('mindestens 1.000');
  });
});

describe('the last deliveries', () => {
  const delivery = (status: string, response_ms: number | null = null): Delivery =>
    ({
      id: `whd_${status}`,
      status,
      response_ms,
      response_code: status === 'ok' ? 200 : null,
      error: status === 'ok' ? null : 'timeout',
      created_at: '2026-01-31T12:00:00.000Z',
    }) as Delivery;
  let latestFirst: Delivery[];
  beforeEach(() => {
    latestFirst = [
      delivery('pending'),
      delivery('ok', 20),
      delivery('ok', 10),
      delivery('retrying'),
      delivery('gave_up', 400),
      delivery('ok', 30),
    ];
  });

  test('are in the table with the latest first, and in the chart with the oldest', () => {
    const { tried, arrived, shown } = recentOf(latestFirst);
    expect(tried).toEqual(latestFirst.slice(1).toReversed());
    expect(arrived).toBe(3);
    expect(shown).toEqual(latestFirst.slice(0, 5));
  });

  test('are as high as they took, and a stub without a height if there was no answer', () => {
    const bars = answerBars(recentOf(latestFirst).tried, en, format);
    expect(bars.map(({ parts, stub }) => stub ?? parts)).toEqual([
      [{ tone: 'main', value: 30 }],
      'bad',
      'bad',
      [{ tone: 'main', value: 10 }],
      [{ tone: 'main', value: 20 }],
    ]);
    expect(bars[1]?.parts).toEqual([]);
    // They are no part of the scale, and are read like others.
    expect(topOf(answerBars([delivery('retrying')], en, format))).toBe(2);
    expect(firstBar(answerBars([delivery('retrying')], en, format))).toBe(0);
  });

  test('are read out without a time, if they have none', () => {
    const { explain } = en.deliveries;
    const [shown] = answerBars([{ ...delivery('ok', 20), created_at: null }], en, format);
    expect(shown).toMatchObject({ label: '', text: `20 ms: ${explain.ok}` });
  });

  test('are read out with their time, how long they took, and what came of them', () => {
    const moment = format.moment('2026-01-31T12:00:00.000Z');
    const { explain } = en.deliveries;
    expect(answerBars([delivery('ok', 1_234), delivery('retrying')], en, format)).toMatchObject([
      {
        label: moment,
        text: `${moment}, 1,234 ms: ${explain.ok}`,
        cells: ['1,234 ms', explain.ok],
      },
      { label: moment, text: `${moment}: ${explain.timeout}`, cells: ['', explain.timeout] },
    ]);
  });
});
