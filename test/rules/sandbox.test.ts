// What becomes of a sandbox, by its last use and its last warning.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isRemovedByReset } from '../../src/core/sandbox.ts';
import { judge } from '../../src/features/sandbox/rules.ts';
import { ENDPOINTS } from '../../src/routers/endpoints.ts';

const DAY_MS = 86_400_000;
const NOW = new Date('2026-11-02T09:00:00.000Z');
const before = (ms: number): string => new Date(NOW.getTime() - ms).toISOString();

/** How long ago something was: any time, or one at a bound. */
const ago = fc.oneof(
  fc.nat(200 * DAY_MS),
  fc
    .record({ days: fc.constantFrom(14, 76, 90), ms: fc.constantFrom(-1, 0, 1) })
    .map(({ days, ms }) => days * DAY_MS + ms),
);
const verdictOf = (used: number, warned: number | null, isOpen = true) =>
  judge({ usedAt: before(used), warnedAt: warned === null ? null : before(warned), isOpen }, NOW);

describe('a sandbox', () => {
  it('goes if it was not used for 90 days, and its admins have known it for 14', () => {
    fc.assert(
      fc.property(ago, fc.option(ago), (used, warned) => {
        const isWarned = warned !== null && warned <= used;
        const unused = warned !== null && warned >= 14 * DAY_MS ? 'remove' : 'wait';
        const wanted = isWarned ? unused : 'warn';
        expect(verdictOf(used, warned).kind).toBe(used < 76 * DAY_MS ? 'keep' : wanted);
      }),
    );
  });

  it('stays while its live team is closed, and is looked at again the next day', () => {
    fc.assert(
      fc.property(ago, fc.option(ago), (used, warned) => {
        const idle = 76 * DAY_MS + used;
        const checkAt = new Date(NOW.getTime() + DAY_MS);
        expect(verdictOf(idle, warned, false)).toEqual({ kind: 'keep', checkAt });
      }),
    );
  });

  it('that stays is looked at again while there is something that tells of its use', () => {
    fc.assert(
      fc.property(ago, fc.option(ago), (used, warned) => {
        const verdict = verdictOf(used, warned);
        const { checkAt } = verdict.kind === 'remove' ? { checkAt: null } : verdict;
        const days = checkAt && (checkAt.getTime() - NOW.getTime()) / DAY_MS;
        expect(days === null || (days > 0 && days < 30)).toBe(true);
      }),
    );
  });
});

// Whoever adds an operation decides whether a call that is repeated after a reset acts again.
it('keeps the responses of what a reset leaves, and of resets', () => {
  const posts = ENDPOINTS.filter(({ method }) => method === 'POST').map(({ path }) => path);
  expect(posts.filter(isRemovedByReset).toSorted()).toEqual([
    '/assignments',
    '/assignments/batch',
    '/cases',
    '/sandbox/simulate',
    '/users',
  ]);
});
