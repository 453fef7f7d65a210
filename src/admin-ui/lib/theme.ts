/** Light or dark: as the system has it, or as the reader has chosen. */
import { useSyncExternalStore } from 'react';
import { readPreference, writePreference } from './preferences.ts';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const listeners = new Set<() => void>();
let theme: Theme = THEMES.find((one) => one === readPreference('theme')) ?? 'system';
apply();

function apply(): void {
  document.documentElement.dataset['theme'] = theme;
}

/** `isKept`: it is the reader's own choice for this browser. */
export function setTheme(next: Theme, isKept = true): void {
  theme = next;
  if (isKept) writePreference('theme', next === 'system' ? null : next);
  apply();
  for (const listener of listeners) listener();
}

export function useTheme(): Theme {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => theme,
  );
}
