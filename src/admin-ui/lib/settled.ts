/** What is typed counts when no key follows for a while: each letter would be a call. */
import { useEffect, useRef, useState } from 'react';

/** Calls `act` with the last value, once no other one has come for so long. */
export function settler<T>(
  waitMs: number,
  act: (value: T) => void,
): { readonly put: (value: T) => void; readonly cancel: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const cancel = (): void => clearTimeout(timer);
  return {
    put: (value) => {
      cancel();
      timer = setTimeout(() => act(value), waitMs);
    },
    cancel,
  };
}

/** The value, once it has stayed the same for so long. */
export function useSettled<T>(value: T, waitMs: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const { put, cancel } = settler<T>(waitMs, setSettled);
    put(value);
    return cancel;
  }, [value, waitMs]);
  return settled;
}

/** Calls the newest `act` once no other value has come for so long. */
export function useSettler<T>(waitMs: number, act: (value: T) => void) {
  const newest = useRef(act);
  useEffect(() => {
    newest.current = act;
  });
  const [settling] = useState(() => settler<T>(waitMs, (value) => newest.current(value)));
  useEffect(() => settling.cancel, [settling]);
  return settling;
}
