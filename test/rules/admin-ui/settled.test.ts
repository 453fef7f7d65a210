// What is typed counts once no key has followed for a while.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { settler } from '../../../src/admin-ui/lib/settled.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('thirteen letters are one call, of the last of them', () => {
  const calls: string[] = [];
  const { put } = settler<string>(150, (text) => calls.push(text));
  for (let letters = 1; letters <= 13; letters += 1) {
    put('w'.repeat(letters));
    vi.advanceTimersByTime(149);
  }
  expect(calls).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(calls).toEqual(['w'.repeat(13)]);
});

test('what is given up is no call', () => {
  const calls: string[] = [];
  const { put, cancel } = settler<string>(250, (text) => calls.push(text));
  put('kim');
  cancel();
  vi.advanceTimersByTime(1_000);
  expect(calls).toEqual([]);
});
