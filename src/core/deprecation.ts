/**
 * How the end of an operation, or of a whole version, is announced in responses: `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and a `Link`.
 * An operation says so in its own declaration (`deprecated` of `endpoint()`), the version here.
 */

/** Dates are `YYYY-MM-DD`, of which the first moment in UTC counts. */
export interface Deprecation {
  /** From when on it should not be used any more; may lie in the future. */
  readonly since: string;
  /** From when on it may be gone. */
  readonly sunset: string;
  /** Where it is written what to use instead: a URL, or a path of this host. */
  readonly link?: string;
}

/** The end of v1: null until v2 stands beside it (specification, "Versioning" 3). `npm run announce` mails the same dates. */
export const V1_DEPRECATION: Deprecation | null = null;

/** Both versions run beside each other for so long, at least. */
export const PARALLEL_MONTHS = 12;

/** What holds for an operation, given its own deprecation and its version's: of two dates the earlier one. */
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

/** The headers of every response. Throws for dates that are none, or a sunset before the deprecation: made once, at the start. */
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

/** Whether the dates leave the two versions the time beside each other that the specification promises. */
export function isLongEnough({ since, sunset }: Deprecation): boolean {
  const earliest = new Date(toInstant(since));
  earliest.setUTCMonth(earliest.getUTCMonth() + PARALLEL_MONTHS);
  return toInstant(sunset) >= earliest.getTime();
}

/** Unix milliseconds. Throws for a text that is no calendar date. */
function toInstant(date: string): number {
  const instant = /^\d{4}-\d\d-\d\d$/.test(date) ? Date.parse(`${date}T00:00:00Z`) : Number.NaN;
  if (Number.isNaN(instant) || new Date(instant).toISOString().slice(0, 10) !== date)
    throw new Error(`${date} is no date (YYYY-MM-DD)`);
  return instant;
}
