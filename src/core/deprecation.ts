/**
 * Responses announce the end of an operation or of a whole version in the headers `Deprecation`
 * (RFC 9745), `Sunset` (RFC 8594) and `Link`. The dates are configuration: operators write them
 * into the file that `DEPRECATIONS_FILE` names.
 */

/** Dates are `YYYY-MM-DD` and mean the start of that day in UTC. */
export interface Deprecation {
  /** From this date on it should not be used. May be in the future. */
  readonly since: string;
  /** From this date on it may be gone. */
  readonly sunset: string;
  /** The URL of a page that says what to use instead; else the guide about versions. */
  readonly link?: string | undefined;
}

/** What ends. */
export interface Deprecations {
  /** The end of v1; null until v2 is available. `npm run announce` mails the same dates. */
  readonly version: Deprecation | null;
  /** By the operation as the documentation names it, for instance `GET /users/{member_id}`. */
  readonly operations: Readonly<Record<string, Deprecation>>;
}

export const NOTHING_ENDS: Deprecations = { version: null, operations: {} };

/** The API promises that an old and a new version run in parallel for at least this long. */
export const PARALLEL_MONTHS = 12;

/** An operation's address, which names it. */
interface Address {
  readonly method: string;
  readonly path: string;
}

/** Returns the end of an operation: its own or its version's. The earlier dates apply. */
export function deprecationOf(
  { version, operations }: Deprecations,
  { method, path }: Address,
): Deprecation | null {
  const own = operations[`${method} ${path}`] ?? null;
  if (own === null || version === null) return own ?? version;
  const earlier = (a: string, b: string): string => (toInstant(a) <= toInstant(b) ? a : b);
  return {
    ...version,
    ...own,
    since: earlier(own.since, version.since),
    sunset: earlier(own.sunset, version.sunset),
  };
}

/** Throws if an operation is to end that does not exist. */
export function requireOperations(
  { operations }: Deprecations,
  existing: readonly Address[],
): void {
  const names = new Set(existing.map(({ method, path }) => `${method} ${path}`));
  const unknown = Object.keys(operations).filter((name) => !names.has(name));
  if (unknown.length > 0)
    throw new Error(`DEPRECATIONS_FILE names no operation of v1: ${unknown.join(', ')}`);
}

/** Returns the headers of every response of a deprecated operation. */
export function deprecationHeaders(
  { since, sunset, link }: Deprecation,
  publicUrl: string,
): Readonly<Record<string, string>> {
  const page = link ?? `${publicUrl}/docs/versioning`;
  return {
    Deprecation: `@${toInstant(since) / 1000}`,
    Sunset: new Date(toInstant(sunset)).toUTCString(),
    Link: `<${page}>; rel="deprecation"; type="text/html"`,
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
