/**
 * When the overview of the admin page and the alerts by mail name something. The page runs in
 * browsers and takes only types, so it repeats the numbers; another number there does not compile.
 */
export const ATTENTION = {
  /** Requests that were answered with an error, as a share of all. */
  errorShare: 0.05,
  /** The share of fewer requests says nothing. */
  requestsMin: 20,
  /** How long before its end a key is named. */
  keyEndsWithinDays: 14,
} as const;
