/**
 * Reads an HTTP date in the form that must be sent, as milliseconds since 1970. Returns null for
 * anything else: `Date.parse` alone takes nearly anything, such as `1.5` and `10, 10`, which would
 * be days long ago.
 */
export function parseHttpDate(text: string): number | null {
  const at = /^[A-Z][a-z]{2}, .* GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : at;
}
