// Numbers and times as people read them, in both languages.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { de } from '../../../src/admin-ui/i18n/de.ts';
import { en } from '../../../src/admin-ui/i18n/en.ts';
import { atLeast, createFormat, searchedText } from '../../../src/admin-ui/i18n/formats.ts';
import type { Format } from '../../../src/admin-ui/i18n/formats.ts';

const zone = process.env['TZ'];
/** Four hours behind UTC in July: another day than there, late in the evening. */
const EVENING = '2026-07-02T02:04:05.000Z';
let formats: Readonly<Record<'de' | 'en', Format>>;
beforeAll(() => {
  process.env['TZ'] = 'America/New_York';
  formats = { de: createFormat('de'), en: createFormat('en') };
});
afterAll(() => {
  if (zone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = zone;
});

/** Without the narrow spaces that Intl sets. */
const plain = (text: string) => text.replaceAll(/[\u00A0\u202F]/g, ' ');
const both = (write: (format: Format) => string) => [
  plain(write(formats.de)),
  plain(write(formats.en)),
];

describe('a format', () => {
  test.each([
    [0, '0', '0'],
    [1_234_567, '1.234.567', '1,234,567'],
    [1.25, '1,25', '1.25'],
  ])('writes the number %d as %s or %s', (value, german, english) => {
    expect(both(({ number }) => number(value))).toEqual([german, english]);
  });

  test.each([
    [0.1234, '12,3 %', '12.3%'],
    [1, '100 %', '100%'],
    [0.0004, '0 %', '0%'],
    [0.0005, '0,1 %', '0.1%'],
  ])('writes the share %d as %s or %s', (share, german, english) => {
    expect(both(({ percent }) => percent(share))).toEqual([german, english]);
  });

  test.each([
    [0.123, '+12 %', '+12%'],
    [-0.3, '-30 %', '-30%'],
    [0, '0 %', '0%'],
  ])('writes the change %d as %s or %s', (share, german, english) => {
    expect(both(({ change }) => change(share))).toEqual([german, english]);
  });

  test('writes moments in the time zone of the reader', () => {
    expect(both(({ moment }) => moment(EVENING))).toEqual([
      '01.07.2026, 22:04',
      '1 Jul 2026, 22:04',
    ]);
    expect(both(({ second }) => second(EVENING))).toEqual([
      '01.07.2026, 22:04:05',
      '1 Jul 2026, 22:04:05',
    ]);
    expect(both(({ day }) => day(EVENING))).toEqual(['01.07.2026', '1 Jul 2026']);
    expect(both(({ time }) => time(EVENING))).toEqual(['22:04', '22:04']);
    expect(both(({ dayOfYear }) => dayOfYear(EVENING))).toEqual(['1. Juli', '1 July']);
  });

  test('writes a calendar day as it is, wherever the reader is', () => {
    expect(both(({ shortDay }) => shortDay('2026-07-02'))).toEqual(['2. Juli', '2 Jul']);
  });

  test('writes lists', () => {
    expect(both(({ list }) => list(['a', 'b', 'c']))).toEqual(['a, b und c', 'a, b and c']);
    expect(both(({ list }) => list([]))).toEqual(['', '']);
  });

  test.each([
    [60, '1 Minute', '1 minute'],
    [300, '5 Minuten', '5 minutes'],
    [3_540, '59 Minuten', '59 minutes'],
    [3_600, '1 Stunde', '1 hour'],
    [5_400, '90 Minuten', '90 minutes'],
    [7_200, '2 Stunden', '2 hours'],
    [86_400, '24 Stunden', '24 hours'],
  ])('writes %i seconds as %s or %s', (seconds, german, english) => {
    expect(both(({ duration }) => duration(seconds))).toEqual([german, english]);
  });
});

describe('how long ago', () => {
  const MINUTE = 60_000;
  const HOUR = 60 * MINUTE;
  const DAY = 24 * HOUR;
  const NOW = Date.parse(EVENING);

  test.each([
    [0, 'in dieser Minute', 'this minute'],
    [29_999, 'in dieser Minute', 'this minute'],
    [30_001, 'vor 1 Minute', '1 minute ago'],
    [59.4 * MINUTE, 'vor 59 Minuten', '59 minutes ago'],
    [HOUR - 1, 'vor 1 Stunde', '1 hour ago'],
    [HOUR, 'vor 1 Stunde', '1 hour ago'],
    [23.4 * HOUR, 'vor 23 Stunden', '23 hours ago'],
    [DAY - 1, 'gestern', 'yesterday'],
    [DAY, 'gestern', 'yesterday'],
    [3 * DAY, 'vor 3 Tagen', '3 days ago'],
    [-5 * MINUTE, 'in 5 Minuten', 'in 5 minutes'],
    [-HOUR, 'in 1 Stunde', 'in 1 hour'],
    [-DAY, 'morgen', 'tomorrow'],
  ])('%i ms are written as %s or %s', (ms, german, english) => {
    const iso = new Date(NOW - ms).toISOString();
    expect(both(({ ago }) => ago(iso, NOW))).toEqual([german, english]);
  });

  test('counts from now', () => {
    vi.useFakeTimers({ now: NOW + 2 * HOUR, toFake: ['Date'] });
    expect(both(({ ago }) => ago(EVENING))).toEqual(['vor 2 Stunden', '2 hours ago']);
    vi.useRealTimers();
  });
});

test('a count that has not ended says so', () => {
  expect(atLeast(1_000, false, en, formats.en)).toBe('1,000');
  expect(atLeast(1_000, true, en, formats.en)).toBe('at least 1,000');
  expect(atLeast(1_000, true, de, formats.de)).toBe('mindestens 1.000');
});

test('a search says down to which time it has looked', () => {
  expect(searchedText(en, formats.en, EVENING)).toBe('Searched back to 22:04 on 1 July.');
});
