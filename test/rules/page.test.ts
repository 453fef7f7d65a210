import { describe, expect, it, test } from 'vitest';
import { parseCursor, startBefore, toPage, type PagePosition } from '../../src/core/page.ts';

const row = (n: number): PagePosition => ({
  at: `2026-11-02T09:15:0${n}.000Z`,
  id: `mem_0${n}`,
});
const rows = (count: number): PagePosition[] => Array.from({ length: count }, (_, n) => row(n));
const encode = (text: string): string => Buffer.from(text).toString('base64url');

const INVALID = expect.objectContaining({
  code: 'validation_error',
  fields: expect.objectContaining({ field: 'cursor', reason: 'invalid_cursor' }),
});

describe('a page', () => {
  it('without an extra row is the last one', () => {
    expect(toPage('users', rows(2), 2, (last) => last)).toEqual({
      rows: rows(2),
      nextCursor: null,
    });
    expect(toPage('users', [], 2, (last: PagePosition) => last)).toEqual({
      rows: [],
      nextCursor: null,
    });
  });

  it('leaves out the extra row, and its cursor is the position of the last row', () => {
    const page = toPage('users', rows(3), 2, (last) => last);
    expect(page.rows).toEqual(rows(2));
    expect(parseCursor('users', page.nextCursor ?? '')).toEqual(row(1));
  });
});

describe('a cursor', () => {
  it('is not needed for the first page', () => {
    expect(parseCursor('users', undefined)).toBeNull();
  });

  it('keeps an id with separators and letters beyond ASCII', () => {
    const odd = { at: row(0).at, id: 'mem|ü|\n' };
    const { nextCursor } = toPage('users', [odd, row(1)], 1, (last) => last);
    expect(parseCursor('users', nextCursor ?? '')).toEqual(odd);
  });

  it.each([
    ['of another list', encode('trainings|2026-11-02T09:15:00.000Z|trn_01')],
    ['with text before it', encode('X users|2026-11-02T09:15:00.000Z|mem_01')],
    ['without an id', encode('users|2026-11-02T09:15:00.000Z|')],
    ['with a NUL in the id', encode('users|2026-11-02T09:15:00.000Z|a\0')],
    ['with a day that does not exist', encode('users|2026-02-30T09:15:00.000Z|mem_01')],
    ['with a month that does not exist', encode('users|2026-13-01T09:15:00.000Z|mem_01')],
    ['with the year 0', encode('users|0000-01-01T00:00:00.000Z|mem_01')],
    ['with seconds only', encode('users|2026-11-02T09:15:00Z|mem_01')],
    ['in base64 with padding', `${encode('users|2026-11-02T09:15:00.000Z|mem_01')}==`],
    ['that is no base64', '***'],
    ['that is empty', ''],
  ])('%s throws validation_error', (_which, cursor) => {
    expect(() => parseCursor('users', cursor)).toThrow(INVALID);
  });
});

describe('startBefore', () => {
  const at = (time: string, id: string) => ({ limit: 3, after: { at: time, id } });
  const UNTIL = '2026-10-02T00:00:00.000Z';

  test.each([
    ['the beginning', { limit: 3, after: null }, at(UNTIL, '')],
    ['a later position', at('2026-10-03T00:00:00.000Z', 'a'), at(UNTIL, '')],
    ['a position of the same time', at(UNTIL, 'a'), at(UNTIL, '')],
    [
      'an earlier position',
      at('2026-10-01T00:00:00.000Z', 'a'),
      at('2026-10-01T00:00:00.000Z', 'a'),
    ],
  ])('moves %s to the time, unless it is past it', (_, slice, wanted) => {
    expect(startBefore(UNTIL, slice)).toEqual(wanted);
    expect(startBefore(null, slice)).toBe(slice);
  });
});
