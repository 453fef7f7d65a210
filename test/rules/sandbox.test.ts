import { expect, it } from 'vitest';
import { isRemovedByReset } from '../../src/core/sandbox.ts';
import { ENDPOINTS } from '../../src/routers/endpoints.ts';

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
