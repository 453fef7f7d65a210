/**
 * The rate limit that the headers of a response show: the tighter one of the key and the team, or
 * that of the address without a valid key.
 */
export interface RateState {
  readonly limit: number;
  readonly remaining: number;
  readonly resetS: number;
}

export interface RateLimits {
  readonly keyPerMinute: number;
  /** The calls of one person in the app. */
  readonly personPerMinute: number;
  readonly ipPerMinute: number;
}

/** How many requests without a valid key one IPv4 address or IPv6 /64 may make per minute. */
export const IP_RATE_LIMIT_PER_MINUTE = 120;
