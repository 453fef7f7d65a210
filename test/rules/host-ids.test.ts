// The ids that the host application gives are printed by commands and shown to people.
import { expect, test } from 'vitest';
import { hostId } from '../../src/core/platform-shapes.ts';

test.each(['usr_1', 'ünïcode', 'a b', 'שלום', 'مرحبا', '用户', 'a\u200db', '🎯'])(
  '%j is an id',
  (text) => {
    expect(hostId.safeParse(text).success).toBe(true);
  },
);

test.each([
  'a\u0000b',
  'a\nb',
  'a\u001b[2Jb',
  'a\u007fb',
  'a\u009bb',
  'a\u200eb',
  'a\u202eb',
  'a\u2066b',
  'a\u2028b',
])('%j is refused', (text) => {
  expect(hostId.safeParse(text).success).toBe(false);
});
