/**
 * Responses announce the end of an operation or of a whole version in the headers `Deprecation`
 * (RFC 9745), `Sunset` (RFC 8594) and `Link`. An operation is deprecated in its declaration (the
 * field `deprecated` of `endpoint()`), the version in `V1_DEPRECATION`.
 */

/** Dates are `YYYY-MM-DD` and mean the start of that day in UTC. */
export interface Deprecation {
  /** From this date on it should not be used. May be in the future. */
  readonly since: string;
  /** From this date on it may be gone. */
  readonly sunset: string;
  /** A page that says what to use instead: a URL, or a path on this host. */
  readonly link?: string;
}

/** The end of v1. null until v2 is available. `npm run announce` mails the same dates. */
export const V1_DEPRECATION: Deprecation | null = null;

/** The API promises that an old and a new version run in parallel for at least this long. */
export const PARALLEL_MONTHS = 12;

/** Combines an operation's own deprecation with that of its version. The earlier dates apply. */
export function effectiveDeprecation(
  own: Deprecation | null,
  version: Deprecation | null,
): Deprecation | null {
  if (own === null || version === null) return own ?? version;
  const earlier = (a: string, b: string): string => (toInstant(a) <= toInstant(b) ? a : b);
  return {
    ...version,
    ...own,
    since: earlier(own.since, version.since),
    sunset: earlier(own.sunset, version.sunset),
  };
}

/**
 * Returns the headers of every response of a deprecated operation. Throws for an invalid date, or
 * for a sunset before the deprecation. Call it once, at the start.
 */
export function deprecationHeaders({
  since,
  sunset,
  link,
}: Deprecation): Readonly<Record<string, string>> {
  if (toInstant(sunset) < toInstant(since))
    throw new Error(`sunset ${sunset} is before the deprecation ${since}`);
  return {
    Deprecation: `@${toInstant(since) / 1000}`,
    Sunset: new Date(toInstant(sunset)).toUTCString(),
    ...(link === undefined ? {} : { Link: `<${link}>; rel="deprecation"; type="text/html"` }),
  };
}

/** Whether the dates leave at least `PARALLEL_MONTHS` between deprecation and sunset. */
export function isLongEnough({ since, sunset }: Deprecation): boolean {
  const earliest = new Date(toInstant(since));
  earliest.setUTCMonth(earliest.getUTCMonth() + PARALLEL_MONTHS);
  return toInstant(sunset) >= earliest.getTime();
}

/** Returns Unix milliseconds. Throws if the text is not a calendar date. */
function toInstant(date: string): number {
  const instant = /^\d{4}-\d\d-\d\d$/.test(date) ? Date.parse(`${date}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(instant) || new Date(instant).toISOString().slice(0, 10) !== date)
    throw new Error(`${date} is no date (YYYY-MM-DD)`);
  return instant;
}
