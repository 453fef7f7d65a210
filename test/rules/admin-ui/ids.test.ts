// Ids as people paste them into the search, with what stands around them.
import { describe, expect, test } from 'vitest';
import { beginOfKey, holdsSecret, idIn, requestIdIn } from '../../../src/admin-ui/lib/ids.ts';

const ID = '01a1ee19-75a2-7c4e-8d3f-0123456789ab';

describe('the id of a request', () => {
  test.each([
    ['alone', ID],
    ['in a message', `Please look at request ${ID}.`],
    ['in an address', `https://x.test/admin/requests/${ID}?a=1`],
    ['in capitals', ID.toUpperCase()],
  ])('is found %s', (_, text) => {
    expect(requestIdIn(text)).toBe(ID);
  });

  test.each([
    '',
    ID.slice(0, -1),
    ID.slice(1),
    ID.replaceAll('-', ''),
    ID.replace('-75a2', ''),
    ID.replace('75a2', '75a'),
    ID.replace('7c4e', '7c4e1'),
    ID.replace('a', 'g'),
    'mem_01jc4f3x',
  ])('is not in %j', (text) => {
    expect(requestIdIn(text)).toBeNull();
  });

  test('is the first one of several', () => {
    expect(requestIdIn(`${ID} ${ID.replaceAll('0', '1')}`)).toBe(ID);
  });
});

describe('another id', () => {
  test.each([
    ['mem_01jc4f3x', 'mem', 'mem_01jc4f3x'],
    ['see whd_0a-b_C (failed)', 'whd', 'whd_0a-b_C'],
    ['key_abc', 'key', 'key_abc'],
    ['https://x.test/webhooks/whe_1ab?x', 'whe', 'whe_1ab'],
    ['key_1ab, key_2cd', 'key', 'key_1ab'],
  ])('in %j has the kind %s', (text, kind, id) => {
    expect(idIn(text)).toEqual({ kind, id });
  });

  test.each(['', 'mem', 'mem_', 'mem_ab', 'me_01jc4', 'memb_01jc4', 'MEM_01jc4', 'mem_Abc', ID])(
    'is not in %j',
    (text) => {
      expect(idIn(text)).toBeNull();
    },
  );
});

test('the prefix of a key says whether it is a test key', () => {
  expect(beginOfKey('tabcdefghijk')).toBe('svck_test_');
  expect(beginOfKey('abcdefghijkt')).toBe('svck_live_');
});

test.each([
  ['svck_live_abc', true],
  ['my key svck_test_abc', true],
  ['whsec_abc', true],
  ['svck_', false],
  ['svck_other_abc', false],
  ['whsec', false],
  ['key_01jc4', false],
])('%j holds a secret: %j', (text, expected) => {
  expect(holdsSecret(text)).toBe(expected);
});
