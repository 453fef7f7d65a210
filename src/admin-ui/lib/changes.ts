/** Who is told when a value of a module has changed, such as React by `useSyncExternalStore`. */
export function makeChanges(): {
  /** Calls the listener at each change. Returns what ends that. */
  readonly subscribe: (listener: () => void) => () => void;
  readonly tell: () => void;
} {
  const listeners = new Set<() => void>();
  return {
    subscribe: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    tell: () => {
      for (const listener of listeners) listener();
    },
  };
}
