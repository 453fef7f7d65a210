/**
 * Calls `cancel` (`Wire.cancel`) when the caller of a connection's work hangs up. Call the returned
 * function when the work has ended: it resolves with whether the connection can be given to
 * somebody else.
 */
export function cancelOnHangUp(
  cancel: () => Promise<boolean>,
  signal: AbortSignal | undefined,
): () => Promise<boolean> {
  let cancelled = Promise.resolve(true);
  const begin = (): void => {
    cancelled = cancel();
  };
  if (signal?.aborted) begin();
  else signal?.addEventListener('abort', begin);
  return () => {
    signal?.removeEventListener('abort', begin);
    return cancelled;
  };
}
