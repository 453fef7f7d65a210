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

/** Returns what tells that work has waited since a time of performance.now(). */
export function toTellWaits(
  observe: ObserveWait = () => undefined,
): (kind: WaitKind, since: number) => void {
  return (kind, since) => observe(kind, (performance.now() - since) / 1000);
}

export type TellWait = ReturnType<typeof toTellWaits>;
