/** Light or dark: as the system has it, or as the reader has chosen. */
import { useSyncExternalStore } from 'react';
import { makeChanges } from './changes.ts';
import { readPreference, writePreference } from './preferences.ts';
import { themeOf, type Theme } from './themes.ts';

const changes = makeChanges();
let theme: Theme = themeOf(readPreference('theme'));
apply();

function apply(): void {
  document.documentElement.dataset['theme'] = theme;
}

/** `isKept`: it is the reader's own choice for this browser. */
export function setTheme(next: Theme, isKept = true): void {
  theme = next;
  if (isKept) writePreference('theme', next === 'system' ? null : next);
  apply();
  changes.tell();
}

export function useTheme(): Theme {
  return useSyncExternalStore(changes.subscribe, () => theme);
}
