/** Watches whether the caller of a connection's work hangs up. */
export interface HangUp {
  /** Ends the watch. After it has resolved, the connection can be given to somebody else. */
  settle(): Promise<void> | undefined;
}

/** Calls `cancel` when the caller hangs up. null: nobody can hang up. */
export function cancelOnHangUp(
  cancel: () => Promise<void>,
  signal: AbortSignal | undefined,
): HangUp | null {
  if (!signal) return null;
  let cancelling: Promise<void> | undefined;
  const begin = (): void => {
    cancelling = cancel();
  };
  if (signal.aborted) begin();
  else signal.addEventListener('abort', begin);
  return {
    settle: () => {
      signal.removeEventListener('abort', begin);
      return cancelling;
    },
  };
}
