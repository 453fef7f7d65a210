import type { ATTENTION } from '../../core/attention.ts';

/** The type has the numbers of the alerts by mail: others do not compile. */
export const LIMITS: typeof ATTENTION = {
  errorShare: 0.05,
  requestsMin: 20,
  keyEndsWithinDays: 14,
};
