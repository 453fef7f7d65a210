// What is shown of queries that are shown together, of what is unknown, and after a change.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { describe, expect, test, vi } from 'vitest';
import { readAllAnew } from '../../../src/admin-ui/lib/forget.ts';
import {
  alongWith,
  rowsKnown,
  rowsOfPages,
  whileUnknown,
} from '../../../src/admin-ui/lib/queries.ts';

const query = (what: object = {}) => ({
  data: undefined,
  error: null,
  isPlaceholderData: false,
  refetch: vi.fn<() => unknown>(),
  ...what,
});

describe('a query that is shown with another one', () => {
  const one = query({ data: 'one' });
  const other = query({ data: 'other' });
  const lost = query({ error: new Error('lost') });

  test('is here when both are', () => {
    expect(alongWith(one, other)).toMatchObject({ data: ['one', 'other'], error: null });
    expect(alongWith(one, query()).data).toBeUndefined();
    expect(alongWith(query(), other).data).toBeUndefined();
  });

  test('has failed if either has, so that nothing is claimed of what was not read', () => {
    expect(alongWith(one, lost)).toMatchObject({ data: undefined, error: lost.error });
    expect(alongWith(lost, other)).toMatchObject({ data: undefined, error: lost.error });
  });

  test('is read again with the other one', () => {
    alongWith(one, other).refetch();
    expect(one.refetch).toHaveBeenCalledOnce();
    expect(other.refetch).toHaveBeenCalledOnce();
  });

  test('is of before if it says so itself', () => {
    const before = query({ data: 'one', isPlaceholderData: true });
    expect(alongWith(before, other).isPlaceholderData).toBe(true);
    expect(alongWith(one, before).isPlaceholderData).toBe(false);
  });
});

describe('what is unknown', () => {
  test('is what its place says meanwhile, and no rows', () => {
    const list = { data: ['row'], pages: [{ data: ['a'] }, { data: ['b'] }] };
    expect(whileUnknown(query({ data: 'read' }), 'meanwhile')).toBe('read');
    expect(whileUnknown(query(), 'meanwhile')).toBe('meanwhile');
    expect(rowsKnown({ data: list })).toEqual(['row']);
    expect(rowsKnown({ data: undefined })).toEqual([]);
    expect(rowsOfPages({ data: list })).toEqual(['a', 'b']);
    expect(rowsOfPages({ data: undefined })).toEqual([]);
  });

  test('is taken for empty nowhere without a word', () => {
    const folder = join(import.meta.dirname, '../../../src/admin-ui');
    const found = ['pages', 'ui'].flatMap((part) =>
      readdirSync(join(folder, part)).flatMap((name) =>
        readFileSync(join(folder, part, name), 'utf8')
          .split('\n')
          .filter((line) => /\.data\b[\w?.()]*\s*\?\?/.test(line))
          .map((line) => `${name}: ${line.trim()}`),
      ),
    );
    // Use `Loaded`, `alongWith`, or `whileUnknown` and the like of `lib/queries.ts`.
    expect(found).toEqual([]);
  });
});

test('after a change of everything, nothing that was read before is shown again', async () => {
  const cache = new QueryClient();
  const read = vi.fn<() => Promise<string>>(async () => 'of now');
  const shown = new QueryObserver(cache, {
    queryKey: ['shown'],
    queryFn: read,
    staleTime: Infinity,
  });
  cache.setQueryData(['shown'], 'of before');
  cache.setQueryData(['elsewhere'], 'of before');
  const end = shown.subscribe(() => undefined);
  expect(read).not.toHaveBeenCalled();
  await readAllAnew(cache);
  expect(cache.getQueryData(['elsewhere'])).toBeUndefined();
  expect(cache.getQueryData(['shown'])).toBe('of now');
  end();
});
