import { expect, test } from 'vitest';
import { isLater } from '../../src/features/evaluations/platform-rules.ts';

const AT = '2026-11-02T09:00:00.000Z';

test.each<[string, string | null, boolean]>([
  ['the first one', null, true],
  ['a millisecond later', '2026-11-02T08:59:59.999Z', true],
  ['at the same time', AT, false],
  ['a millisecond earlier', '2026-11-02T09:00:00.001Z', false],
])('an evaluation that was saved %s replaces the stored one: %s', (_name, storedAt, replaces) => {
  expect(isLater(AT, storedAt === null ? null : { saved_at: storedAt })).toBe(replaces);
});
