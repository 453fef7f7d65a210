// The forms of ISO 8601 that programs write for the same moment.
import { expect, test } from 'vitest';
import { dateTimeInput, toInstant } from '../../src/core/shapes.ts';

const NINE = '2026-11-26T09:00:00.000Z';

test.each([
  ['JavaScript', '2026-11-26T09:00:00.000Z'],
  ['Java, on a full minute', '2026-11-26T09:00Z'],
  ['Java, with an offset', '2026-11-26T10:00+01:00'],
  ['PHP', '2026-11-26T10:00:00+0100'],
  ['strftime', '2026-11-26T08:00:00-0100'],
  ['Python', '2026-11-26T09:00:00.000000+00:00'],
  ['.NET', '2026-11-26T10:00:00.0000000+01:00'],
  ['Go', '2026-11-26T09:00:00.000000000Z'],
  ['Postgres', '2026-11-26T10:00:00+01'],
  ['RFC 3339, in lower case', '2026-11-26t09:00:00z'],
  ['a comma before the fraction', '2026-11-26T09:00:00,000Z'],
  ['the basic form', '20261126T090000Z'],
  ['the basic form with an offset', '20261126T1000+0100'],
])('%s: %s is taken', (_who, text) => {
  expect(dateTimeInput.parse(text)).toBe(text);
  expect(toInstant(text)).toBe(NINE);
});

test.each([
  ['1 digit of a second', '2026-11-26T09:00:00.5Z', '2026-11-26T09:00:00.500Z'],
  ['9 digits, which are cut', '2026-11-26T09:00:00.123999999Z', '2026-11-26T09:00:00.123Z'],
])('%s', (_what, text, instant) => {
  expect(toInstant(text)).toBe(instant);
});

test.each([
  '2026-11-26',
  '2026-11-26T09:00:00',
  '2026-11-26 09:00:00Z',
  '2026-11-26T09Z',
  '2026-1126T09:00Z',
  '2026-11-26T09:0000Z',
  '2026-11-26T24:00:00Z',
  '2026-02-30T09:00:00Z',
  '2026-00-10T09:00:00Z',
  '2026-11-26T09:00:00+24:00',
  '2026-11-26T09:00:00 01:00',
  '2026-11-26T09:00:00.Z',
  '0000-11-26T09:00:00Z',
  '0001-01-01T00:00:00+23:59',
  `2026-11-26T09:00:00.${'0'.repeat(60)}Z`,
])('%s is refused', (text) => {
  expect(dateTimeInput.safeParse(text).success).toBe(false);
});
