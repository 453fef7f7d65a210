import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { pageQuery } from '../../src/core/page.ts';
import {
  hostCount,
  hostId,
  hostScore,
  hostState,
  hostText,
} from '../../src/core/platform-shapes.ts';
import {
  dateTimeInput,
  FREE_JSON_MAX_BYTES,
  freeContainer,
  freeObject,
  id,
  knownAddress,
  listOf,
  nameInput,
  newAddress,
} from '../../src/core/shapes.ts';

const accepts = (shape: z.ZodType, value: unknown): boolean => shape.safeParse(value).success;
const letters = (count: number): string => 'a'.repeat(count);
/** An email of so many characters. */
const email = (length: number): string => {
  const end = `${'.'.concat(letters(60)).repeat(3)}.test`;
  return `${letters(length - end.length - 2)}@b${end}`;
};

/** The last value that is accepted, and the first one that is not. */
const LIMITS: readonly [what: string, shape: z.ZodType, last: unknown, next: unknown][] = [
  ['the shortest id', id, 'a', ''],
  ['the longest id', id, letters(10_000), letters(10_001)],
  ['the longest name', nameInput, letters(200), letters(201)],
  ['the shortest list', listOf(z.int(), { min: 1, max: 2 }), [1], []],
  ['the longest list', listOf(z.int(), { max: 2 }), [1, 2], [1, 2, 3]],
  ['the shortest cursor', pageQuery.cursor, 'a', ''],
  ['the longest cursor', pageQuery.cursor, letters(1200), letters(1201)],
  ['the smallest page', pageQuery.limit, 1, 0],
  ['the largest page', pageQuery.limit, 200, 201],
  ['the first year', dateTimeInput, '0001-01-01T00:00:00Z', '0001-01-01T00:00:00+01:00'],
  ['the last year', dateTimeInput, '9999-12-31T23:59:59Z', '9999-12-31T23:59:59-01:00'],
  ['the shortest id of the host application', hostId, 'a', ''],
  ['the longest id of the host application', hostId, letters(200), letters(201)],
  ['the longest text of the host application', hostText, letters(10_000), letters(10_001)],
  ['the smallest count', hostCount, 0, -1],
  ['the largest count', hostCount, 2_147_483_647, 2_147_483_648],
  ['the highest score', hostScore, 10_000, 10_001],
  ['the lowest score', hostScore, -10_000, -10_001],
];

describe('a limit of a value', () => {
  it.each(LIMITS)('%s is accepted, and nothing beyond it', (_what, shape, last, next) => {
    expect([accepts(shape, last), accepts(shape, next)]).toEqual([true, false]);
  });

  it('of free-form JSON is 64 KiB', () => {
    expect(FREE_JSON_MAX_BYTES).toBe(65_536);
  });
});

test('a page has 50 entries unless the request says otherwise', () => {
  expect(pageQuery.limit.parse(undefined)).toBe(50);
});

describe('a list', () => {
  const list = listOf(z.int(), { max: 2 });

  it('that is too long is refused before its items are looked at', () => {
    const long = list.safeParse(Array.from({ length: 1000 }, () => 'x'));
    expect(long.error?.issues).toMatchObject([{ code: 'too_big', maximum: 2, origin: 'array' }]);
  });

  it('tells what is wrong with its items', () => {
    expect(list.safeParse([1, 'x']).error?.issues).toMatchObject([
      { path: [1], code: 'invalid_type' },
    ]);
  });

  it('may be left out where it is optional', () => {
    const shape = z.object({ list: list.optional(), others: list.nullable().optional() });
    expect(shape.parse({})).toEqual({});
    expect(shape.parse({ others: null })).toEqual({ others: null });
    expect(z.object({ list }).safeParse({}).success).toBe(false);
  });
});

describe('the address of a person', () => {
  it.each([newAddress, knownAddress])('loses the white space around it', (shape) => {
    expect(shape.parse(' jo@acme.test\n')).toBe('jo@acme.test');
  });

  it.each([newAddress, knownAddress])('has at most 254 characters', (shape) => {
    expect([email(254).length, email(255).length]).toEqual([254, 255]);
    expect([accepts(shape, email(254)), accepts(shape, email(255))]).toEqual([true, false]);
  });

  it.each(['', 'jo', 'jo@', '@acme.test', 'jo jo@acme.test', 'jo@acme@test'])(
    'must not be %j',
    (text) => {
      expect([accepts(newAddress, text), accepts(knownAddress, text)]).toEqual([false, false]);
    },
  );

  it.each(['jo..x@acme', '"jo"@acme.test'])(
    'is looked up as %s, which nobody can be invited with',
    (text) => {
      expect([accepts(newAddress, text), accepts(knownAddress, text)]).toEqual([false, true]);
    },
  );
});

describe('a status of the host application', () => {
  it.each(['a', 'in_review', letters(40)])('may be %s', (text) => {
    expect(accepts(hostState, text)).toBe(true);
  });

  it.each(['', '_a', 'Open', ' open', 'open ', '1open', 'in review', letters(41)])(
    'must not be %j',
    (text) => expect(accepts(hostState, text)).toBe(false),
  );
});

describe('a free-form value', () => {
  it.each([[undefined], [() => 1], [null], ['text']])('is not %s', (value) => {
    expect([accepts(freeObject, value), accepts(freeContainer, value)]).toEqual([false, false]);
  });
});
