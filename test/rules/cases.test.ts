import { describe, expect, it, test } from 'vitest';
import { isSameCase } from '../../src/features/cases/platform-rules.ts';
import { requireStorable, type FreeJson } from '../../src/features/cases/rules.ts';

const MAX_BYTES = 65_536;
/** An object whose JSON has so many bytes in UTF-8; each `ü` has two. */
const ofBytes = (bytes: number): object => {
  const left = bytes - '{"a":""}'.length;
  return { a: 'ü'.repeat(Math.floor(left / 2)) + 'x'.repeat(left % 2) };
};
const refusalOf = (field: string) =>
  expect.objectContaining({
    code: 'validation_error',
    fields: expect.objectContaining({ field }),
  });

describe('the free-form JSON of a case', () => {
  it.each<[string, FreeJson]>([
    ['left out', {}],
    ['null', { fields: null, external_ref: null }],
    ['an empty object', { fields: {}, external_ref: {} }],
    ['64 KiB each', { fields: ofBytes(MAX_BYTES), external_ref: ofBytes(MAX_BYTES) }],
  ])('may be %s', (_what, input) => {
    expect(() => requireStorable(input)).not.toThrow();
  });

  it.each(['fields', 'external_ref'])(
    'throws validation_error for more than 64 KiB of %s',
    (name) => {
      expect(Buffer.byteLength(JSON.stringify(ofBytes(MAX_BYTES + 1)))).toBe(MAX_BYTES + 1);
      expect(() => requireStorable({ [name]: ofBytes(MAX_BYTES + 1) })).toThrow(refusalOf(name));
    },
  );
});

describe('a repeated creation of a case', () => {
  const known = { id: 'cas_1', title: 'A', fields: { b: 1, a: 2 }, created_at: '2026-11-02' };

  test.each<[string, object, boolean]>([
    ['the same values', {}, true],
    ['its fields in another order', { fields: { a: 2, b: 1 } }, true],
    ['another time of creation', { created_at: '2026-11-03' }, true],
    ['another title', { title: 'B' }, false],
    ['other free-form fields', { fields: { a: 2, b: 3 } }, false],
  ])('with %s is the same case: %s', (_what, values, expected) => {
    expect(isSameCase(known, { ...known, ...values })).toBe(expected);
  });
});
