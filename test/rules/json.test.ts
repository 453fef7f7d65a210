import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson, findJsonFault, findRawJsonFault } from '../../src/core/json.ts';
import { freeContainer, freeObject } from '../../src/core/shapes.ts';

const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth));

describe('the JSON of a request', () => {
  it.each<[string, unknown]>([
    ['plain values', { a: [1, 'x', null, true], b: { c: 'ü 😀' } }],
    ['64 levels', nested(64)],
    ['fields that objects have by nature', { constructor: 1, toString: 2 }],
    ['an empty object', {}],
  ])('may have %s', (_what, value) => {
    expect(findJsonFault(value)).toBeNull();
  });

  it.each<[string, string, (string | number)[], string]>([
    ['a NUL in a text', '{"a":["x","\\u0000"]}', ['a', 1], 'invalid_text'],
    ['a NUL in a field name', '{"a":{"\\u0000":1}}', ['a'], 'invalid_text'],
    ['half of a surrogate pair', '{"a":"\\ud83d"}', ['a'], 'invalid_text'],
    ['a number beyond a float', '{"a":[1e400]}', ['a', 0], 'invalid_number'],
    ['a field named __proto__', '{"a":{"__proto__":1}}', ['a', '__proto__'], 'invalid_name'],
  ])('must not have %s', (_what, text, path, code) => {
    expect(findJsonFault(JSON.parse(text))).toEqual({ path, code, message: expect.any(String) });
  });

  it('is searched to the end, before and after valid values', () => {
    const path = ['b'];
    expect(findJsonFault({ a: 'x', b: '\0', c: 'x' })).toMatchObject({ path });
    expect(findJsonFault({ a: { x: 1 }, b: '\0', c: { x: 1 } })).toMatchObject({ path });
  });

  it('must not be nested deeper than 64 levels, however deep it is', () => {
    expect(findJsonFault({ a: nested(64) })).toMatchObject({ path: ['a'], code: 'too_deep' });
    expect(findJsonFault({ a: nested(5_000) })).toMatchObject({ path: ['a'], code: 'too_deep' });
  });
});

describe('the bytes of a request, before they are parsed,', () => {
  const find = (text: string) => findRawJsonFault(Buffer.from(text));
  const values = (count: number): string => `[${'1,'.repeat(count - 1)}1]`;
  const fields = (count: number): string =>
    `{${Array.from({ length: count }, (_, index) => `"${index}":{}`).join(',')}}`;

  it.each<[string, string]>([
    ['many values', values(100_000)],
    ['many fields', fields(20_000)],
    ['commas, colons and brackets in texts', JSON.stringify(',:[{"\\,'.repeat(100_000))],
    ['escaped quotes and backslashes', JSON.stringify(['"', '\\', '\\"', ',']).repeat(3)],
    ['long integers in texts', '["12345678901234567890", "1\\"12345678901234567891"]'],
    [
      'long integers that a float holds',
      '[1000000000000000000000, -9007199254740992, 12300000000000000000000000]',
    ],
    ['integers of 16 digits that a float holds', '[9007199254740991]'],
    [
      'fractions and exponents',
      '[1.2345678901234567891, 12345678901234567891e2, 1e12345678901234]',
    ],
    ['an integer beyond a float, which is refused later', '9'.repeat(400)],
    ['what is not JSON', '"'],
  ])('may have %s', (_what, text) => {
    expect(find(text)).toBeNull();
  });

  it.each<[string, string, string]>([
    ['more values', values(100_001), 'too_many_values'],
    ['more lists', `[${'[],'.repeat(60_000)}[]]`, 'too_many_values'],
    ['more fields', fields(20_001), 'too_many_values'],
    ['a long integer that a float would change', '{"a":[9007199254740993]}', 'invalid_number'],
    ['such an integer with a sign', '{"a":-12345678901234567891}', 'invalid_number'],
    ['such an integer at the end', '12345678901234567891', 'invalid_number'],
    [
      'an integer that a float holds, but writes otherwise',
      '[90071992547409904]',
      'invalid_number',
    ],
    ['a larger one', '[1000000000000000000001048576]', 'invalid_number'],
    ['such an integer after an escape', '["\\\\",12345678901234567891]', 'invalid_number'],
  ])('must not have %s', (_what, text, code) => {
    expect(find(text)).toMatchObject({ path: [], code });
  });
});

/** The parts of a number in JSON, in every spelling. Many have about as many digits as a float. */
const digits = fc
  .tuple(
    fc.constantFrom('', '1', '12345678901234', '900719925474099', '999999999999999'),
    fc.stringMatching(/^[0-9]{1,5}$/),
  )
  .map(([start, end]) => (start + end).replace(/^0+(?=\d)/, ''));
const parts = fc.record({
  before: fc.constantFrom('', '[', '{"a":', '[1,', '["1",', '[ ', '[-1e5,'),
  sign: fc.constantFrom('', '-'),
  integer: digits,
  fraction: fc.constantFrom('', '.0', '.5', '.12345678901234567891'),
  exponent: fc.constantFrom('', 'e2', 'E2', 'e+2', 'E+2', 'e-2', 'E-2', 'E12345678901234'),
});

describe('a number', () => {
  it('is refused just if it is an integer that would come back as another one', () => {
    fc.assert(
      fc.property(parts, ({ before, sign, integer, fraction, exponent }) => {
        const isInteger = fraction === '' && exponent === '';
        const isChanged = isInteger && JSON.stringify(JSON.parse(integer)) !== integer;
        const fault = findRawJsonFault(Buffer.from(before + sign + integer + fraction + exponent));
        expect(fault?.code).toBe(isChanged ? 'invalid_number' : undefined);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('canonical JSON', () => {
  it('is equal for objects whose fields are in another order, at every level', () => {
    expect(canonicalJson({ b: [{ d: 1, c: 2 }], a: null })).toBe('{"a":null,"b":[{"c":2,"d":1}]}');
    expect(canonicalJson({ a: 1, b: 2 })).toBe(canonicalJson({ b: 2, a: 1 }));
  });

  it('leaves out fields that are undefined, and keeps dates as JSON does', () => {
    const at = new Date('2026-11-02T09:00:00Z');
    expect(canonicalJson({ b: undefined, a: [undefined, at] })).toBe(
      '{"a":[null,"2026-11-02T09:00:00.000Z"]}',
    );
  });

  it('differs for arrays in another order', () => {
    expect(canonicalJson([1, 2])).not.toBe(canonicalJson([2, 1]));
  });
});

describe('a free-form value', () => {
  it('is returned as it is, with a field named __proto__', () => {
    const value: unknown = JSON.parse('{"__proto__":{"a":1}}');
    expect(freeObject.parse(value)).toBe(value);
  });

  it('is an object; or also an array, where that is allowed', () => {
    expect(freeObject.safeParse([]).success).toBe(false);
    expect(freeContainer.safeParse([]).success).toBe(true);
    for (const value of [null, 'text', 1])
      expect([freeObject.safeParse(value).success, freeContainer.safeParse(value).success]).toEqual(
        [false, false],
      );
  });
});
