// What is shown of two queries that are shown together.
import { describe, expect, test, vi } from 'vitest';
import { alongWith } from '../../../src/admin-ui/lib/queries.ts';

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
