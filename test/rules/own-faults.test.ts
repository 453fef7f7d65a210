import { expect, test } from 'vitest';
import { isOwnFault } from '../../src/delivery/attempt-result.ts';

test.each([
  ['EADDRNOTAVAIL', '203.0.113.1', true],
  // A machine without IPv6 says so to whatever has no other address.
  ['EADDRNOTAVAIL', '2001:db8::1', false],
  ['ENOBUFS', '203.0.113.1', true],
  ['ECONNRESET', '203.0.113.1', false],
])('%s of %s is a fault of our own: %s', (code, address, expected) => {
  expect(isOwnFault(Object.assign(new Error(code), { code, address }))).toBe(expected);
});
