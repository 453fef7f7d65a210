import { afterEach, beforeEach, vi } from 'vitest';

/** In each test of the file that calls it, the date stands still at `now`. Timers go on. */
export function useStandingDate(now: number): void {
  beforeEach(() => {
    vi.useFakeTimers({ now, toFake: ['Date'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
}
