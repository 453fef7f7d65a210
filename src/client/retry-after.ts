/**
 * Returns how long a `Retry-After` says to wait, in seconds. It is a whole number of them, or an
 * HTTP date. null: there is none, or it is neither.
 */
export function retryAfterSOf({ headers }: { readonly headers: Headers }): number | null {
  const text = headers.get('retry-after');
  if (text === null) return null;
  if (/^\d+$/.test(text)) return Number(text);
  // `Date.parse` takes nearly anything: `1.5` and `10, 10` would be days long ago.
  const at = /^[A-Z][a-z]+, .* GMT$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? null : Math.max((at - Date.now()) / 1000, 0);
}
