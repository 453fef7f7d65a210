// How long a CRM asks us to wait, and what it says when it says nonsense.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { errorOfStatus } from '../../src/features/crm/providers/errors.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: new Date('2026-11-20T10:00:00Z') });
});
afterEach(() => {
  vi.useRealTimers();
});

const UNSAID_MS = 7_000;

test.each([
  ['30', 30_000],
  ['1.5', 1_500],
  [30, 30_000],
  ['Fri, 20 Nov 2026 10:00:30 GMT', 30_000],
  ['Fri, 20 Nov 2026 09:00:00 GMT', 0],
  ['Fri, 32 Nov 2026 10:00:30 GMT', UNSAID_MS],
  ['10, 10', UNSAID_MS],
  ['-1', UNSAID_MS],
  ['2026-11-20', UNSAID_MS],
  ['soon', UNSAID_MS],
  [undefined, UNSAID_MS],
])('a 429 with Retry-After %j is waited for %i ms', (value, ms) => {
  expect(errorOfStatus(429, { 'retry-after': value }, UNSAID_MS).retryAfterMs).toBe(ms);
});

// HubSpot documents 423 (locked for two seconds) and 477 (the account moves, for up to a day), and
// Pipedrive 402 (the account is closed). None of them says that an answer could not be read.
test.each([
  [402, undefined, 'forbidden', null],
  [423, undefined, 'rate_limited', 2_000],
  [423, '5', 'rate_limited', 5_000],
  [477, undefined, 'provider_error', null],
  [477, '7200', 'provider_error', 7_200_000],
  [477, '864000', 'provider_error', 86_400_000],
  [404, '30', 'invalid_response', null],
] as const)('a %i with Retry-After %j is %s, waited for %j ms', (status, value, reason, ms) => {
  const error = errorOfStatus(status, { 'retry-after': value }, UNSAID_MS);
  expect(error).toMatchObject({ reason, retryAfterMs: ms, refusedPlace: false });
});
