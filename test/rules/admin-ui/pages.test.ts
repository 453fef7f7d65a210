// How lists are read page by page, and how far a search goes on by itself.
import { QueryClient } from '@tanstack/react-query';
import { describe, expect, test, vi } from 'vitest';
import {
  countRows,
  pagesOptions,
  readFirst,
  refreshesMs,
  searchedBackTo,
  wasSearched,
} from '../../../src/admin-ui/lib/pages.ts';
import { useStandingDate } from './standing-date.ts';

interface Page {
  readonly data: readonly number[];
  readonly next_cursor: string | null;
  readonly searched_back_to?: string | null;
}

useStandingDate(0);

const REACHED = '2026-01-01T00:00:00.000Z';
/** A page of a search that ended before it was full. */
const unfinished = (rows: number, next_cursor = 'next'): Page => ({
  data: Array.from({ length: rows }, (_, row) => row),
  next_cursor,
  searched_back_to: REACHED,
});
const full: Page = { data: [7], next_cursor: 'after', searched_back_to: null };
const last: Page = { data: [8], next_cursor: null };

type Answer = Page | (() => Page | Promise<Page>);

/** Reads the first `count` pages of a service that answers these, one after the other. */
async function read(answers: readonly Answer[], count = 1) {
  const cursors: (string | undefined)[] = [];
  const cache = new QueryClient({ defaultOptions: { queries: { retry: false, gcTime: 0 } } });
  const options = pagesOptions<Page>(['list'], async (cursor) => {
    const answer = answers[cursors.length];
    cursors.push(cursor);
    if (!answer) throw new Error('the service was asked too often');
    return typeof answer === 'function' ? answer() : answer;
  });
  const result = await cache.fetchInfiniteQuery({ ...options, pages: count });
  cache.clear();
  return { pages: result.pages, cursors };
}

describe('a list', () => {
  test('is kept apart from other questions with the same key', () => {
    expect(pagesOptions(['list', 1], () => Promise.resolve(full)).queryKey).toEqual([
      'list',
      1,
      'pages',
    ]);
  });

  test('is read from its beginning, then from each cursor', async () => {
    const { pages, cursors } = await read([full, { ...full, next_cursor: 'third' }, last], 9);
    expect(cursors).toEqual([undefined, 'after', 'third']);
    expect(pages).toEqual([
      { ...full, isSearched: false },
      { ...full, next_cursor: 'third', isSearched: false },
      { ...last, isSearched: false },
    ]);
  });

  test('fails if its first page does', async () => {
    const failing = () => Promise.reject(new Error('no answer'));
    await expect(read([failing])).rejects.toThrow('no answer');
  });

  test('shows the rows of before while others are asked for', () => {
    const { placeholderData } = pagesOptions(['list'], () => Promise.resolve(full));
    const before = { pages: [], pageParams: [] };
    expect((placeholderData as (data: unknown) => unknown)(before)).toBe(before);
  });
});

test('the first rows are read until they are enough, or until there are no more', async () => {
  const first = async (...pages: Page[]) => {
    const found = await readFirst(() => Promise.resolve(pages.shift() ?? full), 2, signal);
    return { rows: found.data, next: found.next_cursor };
  };
  const { signal } = new AbortController();
  const empty = { data: [], next_cursor: 'next' };
  expect(await first(empty, empty, last)).toEqual({ rows: [8], next: null });
  expect(await first(empty, full, full, last)).toEqual({ rows: [7, 7], next: 'after' });
  expect(await first(last, full)).toEqual({ rows: [8], next: null });
});

describe('a search that finds little', () => {
  test('goes on, and what it finds is one page', async () => {
    const { pages, cursors } = await read([unfinished(2, 'b'), unfinished(1, 'c'), full]);
    expect(cursors).toEqual([undefined, 'b', 'c']);
    expect(pages).toEqual([{ ...full, data: [0, 1, 0, 7], isSearched: true }]);
  });

  test('goes on from the beginning if it is given no place to go on from', async () => {
    const nowhere = { ...unfinished(1), next_cursor: null };
    expect((await read([nowhere, last])).cursors).toStrictEqual([undefined, undefined]);
  });

  test('ends with what it has when the service fails', async () => {
    const failing = () => Promise.reject(new Error('busy'));
    const { pages, cursors } = await read([unfinished(2, 'b'), unfinished(1, 'c'), failing]);
    expect(cursors).toEqual([undefined, 'b', 'c']);
    const found = { data: [0, 1, 0], next_cursor: 'c', searched_back_to: REACHED };
    expect(pages).toEqual([{ ...found, isSearched: true }]);
  });

  test('reads ten pages at most by itself', async () => {
    const { cursors } = await read(Array.from({ length: 20 }, () => unfinished(0)));
    expect(cursors).toHaveLength(10);
  });

  test.each([
    [49, 2],
    [50, 1],
    [51, 1],
  ])('after %i rows has read %i pages, for fifty are enough', async (rows, count) => {
    const { cursors } = await read([unfinished(rows), last]);
    expect(cursors).toHaveLength(count);
  });

  test.each([
    [3_000, 2],
    [3_001, 1],
  ])('that took %i ms has read %i pages', async (ms, count) => {
    const slow = () => {
      vi.setSystemTime(ms);
      return unfinished(1);
    };
    const { cursors } = await read([slow, last]);
    expect(cursors).toHaveLength(count);
  });

  test('stops when nobody waits for it any more', async () => {
    const { queryFn } = pagesOptions<Page>(['list'], () => Promise.resolve(unfinished(1)));
    const signal = AbortSignal.abort();
    const run = queryFn as (context: object) => Promise<Page>;
    expect((await run({ pageParam: undefined, signal })).data).toEqual([0]);
  });
});

describe('what was read', () => {
  const searched = { ...unfinished(1), isSearched: true };
  const found = { ...full, isSearched: false };

  test('was searched if any page was', () => {
    expect(wasSearched(undefined)).toBe(false);
    expect(wasSearched({ pages: [] })).toBe(false);
    expect(wasSearched({ pages: [found] })).toBe(false);
    expect(wasSearched({ pages: [searched, found] })).toBe(true);
  });

  test('is read again when the reader comes back, unless it is long or was searched', () => {
    const { refetchOnWindowFocus } = pagesOptions(['list'], () => Promise.resolve(full));
    const again = refetchOnWindowFocus as (query: { state: { data: unknown } }) => unknown;
    expect(again({ state: { data: { pages: [found] } } })).toBe('always');
    expect(again({ state: { data: undefined } })).toBe('always');
    expect(again({ state: { data: { pages: [searched] } } })).toBe(false);
    expect(again({ state: { data: { pages: [found, found] } } })).toBe(false);
  });

  test('is read again by itself, unless it is long or was searched', () => {
    expect(refreshesMs(undefined)).toBe(20_000);
    expect(refreshesMs({ pages: [found] })).toBe(20_000);
    expect(refreshesMs({ pages: [found] }, 5)).toBe(5);
    expect(refreshesMs({ pages: [searched] })).toBe(false);
    expect(refreshesMs({ pages: [found, found] })).toBe(false);
  });

  test('says how far its last page has looked', () => {
    expect(searchedBackTo(undefined)).toBeNull();
    expect(searchedBackTo({ pages: [] })).toBeNull();
    expect(searchedBackTo({ pages: [searched, found] })).toBeNull();
    expect(searchedBackTo({ pages: [found, searched] })).toBe(REACHED);
    expect(searchedBackTo({ pages: [{ ...last, isSearched: false }] })).toBeNull();
  });

  test('has the rows of all pages, which are unknown while others are asked for', () => {
    const data = { pages: [found, { ...unfinished(3), isSearched: true }] };
    expect(countRows({ data, isPlaceholderData: false })).toBe(4);
    expect(countRows({ data, isPlaceholderData: true })).toBeUndefined();
    expect(countRows({ data: undefined, isPlaceholderData: false })).toBeUndefined();
    expect(countRows({ data: { pages: [] }, isPlaceholderData: false })).toBe(0);
  });
});
