import type { Limit } from '../../core/limits.ts';
import { overLimit, ProblemError } from '../../core/problem.ts';
import type { Tenant } from './authentication/tenant.ts';
import type { RateLimits, RateState } from './authentication/rate-limits.ts';

/** Whose limit is reached. `either`: that of the key is as high as that of the team. */
type LimitOwner = 'key' | 'team' | 'either' | 'address';

const REACHED: Readonly<Record<LimitOwner, (limit: number) => string>> = {
  key: (limit) => `This key has made its ${limit} requests of this minute.`,
  team: (limit) =>
    `The keys of the team have made their ${limit} requests of this minute together.`,
  either: (limit) =>
    `This key, or all keys of the team together, have made ${limit} requests in this minute.`,
  address: (limit) =>
    `This address has made its ${limit} requests of this minute without a valid API key.`,
};

const LIMIT_OF: Readonly<Record<LimitOwner, Limit>> = {
  key: 'key_rate',
  team: 'team_rate',
  either: 'key_rate',
  address: 'address_rate',
};

/** The problem of a request over a limit. It says whose limit that is. */
export function rateLimited(
  { limit, resetS }: Pick<RateState, 'limit' | 'resetS'>,
  owner: LimitOwner,
): ProblemError {
  const detail = `${REACHED[owner](limit)} Wait ${resetS} s, as Retry-After says.`;
  const problem = new ProblemError('rate_limited', { retry_after: resetS, detail });
  return overLimit(LIMIT_OF[owner], problem);
}

/** Finds out whose limit it is that a refused request has reached. */
export function limitOwnerOf(
  { limit }: RateState,
  tenant: Tenant | null,
  { keyPerMinute }: RateLimits,
): LimitOwner {
  if (!tenant) return 'address';
  if (tenant.team.rateLimitPerMinute !== limit) return 'key';
  return keyPerMinute === limit ? 'either' : 'team';
}
