/** The longest time of a timer. A longer one would end at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** What a timer can wait of it. */
export function timerMsOf(ms: number): number {
  return Math.min(ms, TIMER_MAX_MS);
}

/** Throws a `RangeError` for a time that is none. Infinity is one: it never ends. */
export function requireMs(name: string, ms: number): void {
  if (!(ms >= 0)) throw new RangeError(`${name} must be a number of milliseconds.`);
}

/**
 * Runs the work with a signal that ends with the caller's, or with a `TimeoutError` after
 * `timeoutMs`. Nothing of it is left afterwards: by `AbortSignal.any`, each call leaves an entry on
 * the caller's signal, which may live as long as the process (nodejs/node#57736). Throws a
 * `RangeError` for a time that is none.
 */
export async function withTimeLimit<T>(
  timeoutMs: number,
  signal: AbortSignal | undefined,
  work: (ended: AbortSignal) => Promise<T>,
): Promise<T> {
  requireMs('timeoutMs', timeoutMs);
  const controller = new AbortController();
  const stop = (): void => controller.abort(signal?.reason);
  const expire = (): void =>
    controller.abort(new DOMException('The operation timed out.', 'TimeoutError'));
  const timer = setTimeout(expire, timerMsOf(timeoutMs));
  if (signal?.aborted) stop();
  else signal?.addEventListener('abort', stop);
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', stop);
  }
}
