import type { Clock } from '../../core/clock.ts';

/**
 * Work that has waited for a connection: the short statements of all requests (`common`), single
 * statements of callers, those of them that take long, and transactions.
 */
export type WaitKind = 'common' | 'statement' | 'slow_statement' | 'transaction';

/**
 * Called for all work that gets a connection, at once or after its team's turn has come, with how
 * long it has waited for both. It must be fast and synchronous.
 */
export type ObserveWait = (kind: WaitKind, seconds: number) => void;

/** Called when work asks for a connection. Call what it returns when the work has one. */
export type BeginWait = (kind: WaitKind) => () => void;

export function createBeginWait(
  clock: Pick<Clock, 'monotonicMs'>,
  observe: ObserveWait = () => undefined,
): BeginWait {
  return (kind) => {
    const askedAt = clock.monotonicMs();
    return () => observe(kind, (clock.monotonicMs() - askedAt) / 1000);
  };
}
