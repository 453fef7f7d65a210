// At which addresses of HOST a process is reached from its own machine alone.
import { expect, test } from 'vitest';
import { isLoopbackAddress } from '../../src/core/loopback.ts';

test.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost', 'LOCALHOST', '127.1', '0x7f.1'])(
  '%s is',
  (host) => {
    expect(isLoopbackAddress(host)).toBe(true);
  },
);

test.each([
  '0.0.0.0',
  '0',
  '::',
  '::ffff:0.0.0.0',
  '10.0.0.5',
  'fe80::1',
  'api.internal',
  'a b',
  '',
])('%j is not', (host) => {
  expect(isLoopbackAddress(host)).toBe(false);
});
