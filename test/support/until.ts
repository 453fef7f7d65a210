import { setTimeout as delay } from 'node:timers/promises';

const PAUSE_MS = { least: 5, most: 50 };

/**
 * Polls until `look` returns something other than null, undefined and false, and resolves with it.
 * The limit is the test's own timeout. A pause is a twentieth of the time that has passed: whoever
 * waits long and asks all the time takes the processors from what they wait for.
 */
export async function until<T>(look: () => T | Promise<T>): Promise<NonNullable<T>> {
  const startedAt = performance.now();
  for (;;) {
    const seen = await look();
    if (seen !== null && seen !== undefined && seen !== false) return seen as NonNullable<T>;
    const passed = performance.now() - startedAt;
    await delay(Math.min(PAUSE_MS.most, Math.max(PAUSE_MS.least, passed / 20)));
  }
}
