import { expect, test } from 'vitest';
import { decimalOf } from '../../src/features/crm/providers/values.ts';

test.each([
  ['12500', '12500'],
  ['-0.50', '-0.50'],
  ['.5', '0.5'],
  ['1.25E3', '1250'],
  ['1.25e-3', '0.00125'],
  ['1e21', '1000000000000000000000'],
  ['007.10', '7.10'],
  ['', null],
  ['.', null],
  ['12,50', null],
  ['NaN', null],
  [null, null],
])('the amount %s is kept as %s', (given, kept) => {
  expect(decimalOf(given)).toBe(kept);
});
