// Addresses of callers: one form for each, and whose they are.
import { describe, expect, test } from 'vitest';
import { isNetwork, networkForLog, networkOf, normalizeIp } from '../../src/core/network.ts';

test.each([
  ['203.0.113.7', '203.0.113.7'],
  ['::ffff:203.0.113.7', '203.0.113.7'],
  ['::FFFF:203.0.113.7', '203.0.113.7'],
  ['::ffff:cb00:7107', '203.0.113.7'],
  ['0:0:0:0:0:ffff:203.0.113.7', '203.0.113.7'],
  ['2001:db8::1', '2001:db8::1'],
  ['fe80::1%eth0', 'fe80::1'],
  ['unknown', null],
  ['', null],
  [undefined, null],
])('the address %s is %s', (given, expected) => {
  expect(normalizeIp(given)).toBe(expected);
});

describe('whose an address is', () => {
  test.each([
    ['203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:DB8:1:2::', '2001:db8:1:2'],
    ['2001:db8:1:3::1', '2001:db8:1:3'],
    ['2001:0db8:0001:0002::9', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['2001:db8::5:6:7:8:9', '2001:db8:0:5'],
    ['::1', '0:0:0:0'],
    [null, '-'],
  ])('%s: %s', (address, expected) => {
    expect(networkOf(address)).toBe(expected);
  });
});

test.each([
  ['203.0.113.7', '203.0.113.0/24'],
  ['2001:db8:1:2::3', '2001:db8:1::/48'],
  ['2001:0DB8:0001:0002:0:0:0:3', '2001:db8:1::/48'],
  ['::1', '0:0:0::/48'],
  [null, undefined],
])('a log says of %s: %s', (address, expected) => {
  expect(networkForLog(address)).toBe(expected);
});

// As Postgres reads them.
test.each([
  ['10.0.0.0/8', true],
  ['10.0.0.0/0', true],
  ['2001:db8::/64', true],
  ['2001:db8::/128', true],
  ['2001:db8::/064', false],
  ['10.0.0.0/08', false],
  ['10.0.0.0/33', false],
  ['2001:db8::/129', false],
  ['10.0.0.0/', false],
  ['fe80::1%eth0', false],
])('the network %s: %s', (text, expected) => {
  expect(isNetwork(text)).toBe(expected);
});
