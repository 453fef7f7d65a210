/**
 * Returns how long a `Retry-After` says to wait, in seconds. It is a number of them, or a date.
 * null: there is none, or it is neither.
 */
export function retryAfterSOf({ headers }: { readonly headers: Headers }): number | null {
  const text = headers.get('retry-after');
  if (text === null) return null;
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? null : Math.max(seconds, 0);
}
