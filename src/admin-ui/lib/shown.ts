import { useState } from 'react';

/** Returns what `value` was when what is shown came, while what it stands for is still to come. */
export function useOfShown<T extends string | number | undefined>(value: T, isWaiting: boolean): T {
  const [of, setOf] = useState(value);
  if (isWaiting) return of;
  if (of !== value) setOf(value);
  return value;
}
