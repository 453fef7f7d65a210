import type { IncomingMessage } from 'node:http';

/** What a request accepts. The libraries that choose take a time that grows with these headers. */
const NAMES = ['accept', 'accept-encoding', 'accept-language'] as const;
/** No browser sends half as many. */
const MAX_CHARACTERS = 512;

/**
 * Leaves only the first whole entries of long headers: nobody has checked yet who sends them, and
 * 16 KB of them would take 2 ms.
 */
export function shortenAccepted({ headers }: IncomingMessage): void {
  for (const name of NAMES) {
    const value = headers[name];
    if (value === undefined || value.length <= MAX_CHARACTERS) continue;
    headers[name] = value.slice(0, Math.max(0, value.lastIndexOf(',', MAX_CHARACTERS)));
  }
}
