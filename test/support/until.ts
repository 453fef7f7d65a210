import { setTimeout as delay } from 'node:timers/promises';

/**
 * Polls until `look` returns something other than null, undefined and false, and resolves with it.
 * The limit is the test's own timeout.
 */
export async function until<T>(look: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (;;) {
    const seen = await look();
    if (seen !== null && seen !== undefined && seen !== false) return seen as NonNullable<T>;
    await delay(5);
  }
}
