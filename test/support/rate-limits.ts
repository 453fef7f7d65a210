import { expect } from 'vitest';
import type { ApiResponse } from './response-contract.ts';

/** Expects the 429 of a limit of `limit` requests per minute, of which none is left. */
export function expectRateLimited(
  response: ApiResponse,
  { limit, retryAfterS }: { limit: number; retryAfterS: number },
): void {
  const body = { code: 'rate_limited', retry_after: retryAfterS };
  expect(response).toMatchObject({ status: 429, body });
  expect(response.headers).toMatchObject({
    'retry-after': String(retryAfterS),
    'ratelimit-limit': String(limit),
    'ratelimit-remaining': '0',
    'ratelimit-reset': String(retryAfterS),
  });
}
