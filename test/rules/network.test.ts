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
  // What proxies write beside an address.
  ['203.0.113.7:51234', '203.0.113.7'],
  ['  203.0.113.7 ', '203.0.113.7'],
  ['"203.0.113.7:51234"', '203.0.113.7'],
  ['[203.0.113.7]:51234', '203.0.113.7'],
  ['203.0.113.7:_port', '203.0.113.7'],
  ['::ffff:203.0.113.7:51234', '203.0.113.7'],
  ['[::ffff:203.0.113.7]:51234', '203.0.113.7'],
  ['[::FFFF:CB00:7107]', '203.0.113.7'],
  ['[2001:db8::1]', '2001:db8::1'],
  ['[2001:db8::1]:443', '2001:db8::1'],
  ['"[2001:DB8::1]:443"', '2001:DB8::1'],
  ['2001:db8::1:51234', '2001:db8::1'],
  ['2001:db8:1:2:3:4:5:6:8080', '2001:db8:1:2:3:4:5:6'],
  ['[fe80::1%25eth0]:443', 'fe80::1'],
  ['for=203.0.113.7', '203.0.113.7'],
  ['For="[2001:db8::1]:443"; proto=https', '2001:db8::1'],
  ['proto=https;for=203.0.113.7:51234;by=10.0.0.1', '203.0.113.7'],
  // Four digits or fewer may be a part of the address.
  ['2001:db8::1:443', '2001:db8::1:443'],
  ['unknown', null],
  ['"unknown"', null],
  ['_hidden', null],
  ['for=_hidden', null],
  ['proto=https', null],
  ['-', null],
  ['[]', null],
  ['[2001:db8::1', null],
  ['2001:db8::1]:443', null],
  ['[2001:db8::1]443', null],
  ['[2001:db8::1]:65536', null],
  ['203.0.113.7:65536', null],
  ['203.0.113.7:', null],
  ['203.0.113.7:http', null],
  ['203.0.113.7:80:80', null],
  ['203.0.113.7/32', null],
  ['203.0.113.7 198.51.100.1', null],
  ['203.0.113', null],
  ['203.0.113.007', null],
  ['0xcb007107', null],
  ['localhost:80', null],
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
