/** The time of the service. The clock of the browser may be hours wrong. */

/** A smaller difference is the time that the answer took. */
const CLOSE_MS = 60_000;

let aheadMs = 0;

/** `date`: the `Date` of an answer that has just come. null: it had none. */
export function setClock(date: string | null): void {
  const ms = Date.parse(date ?? '') - Date.now();
  aheadMs = Math.abs(ms) > CLOSE_MS ? ms : 0;
}

/** Now, in milliseconds since 1970. */
export function now(): number {
  return Date.now() + aheadMs;
}

/** Makes a request, and takes the time of the service from its answer if that has one. */
export async function fetchWithTime(url: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const date = response.headers.get('date');
  if (date !== null) setClock(date);
  return response;
}
