/** The language of the page: the one that the reader has chosen, or the browser's. */
import { useSyncExternalStore } from 'react';
import { makeChanges } from '../lib/changes.ts';
import { readPreference, writePreference } from '../lib/preferences.ts';
import { de } from './de.ts';
import { en, type Texts } from './en.ts';
import { firstLanguage, type PageLanguage } from './languages.ts';

const TEXTS: Readonly<Record<PageLanguage, Texts>> = { de, en };
const changes = makeChanges();
let language = firstLanguage([readPreference('language'), ...navigator.languages]);
apply();

function apply(): void {
  document.documentElement.lang = language;
}

export function currentLanguage(): PageLanguage {
  return language;
}

/** `isKept`: it is the reader's own choice for this browser. */
export function setLanguage(next: PageLanguage, isKept = true): void {
  if (isKept) writePreference('language', next);
  if (next === language) return;
  language = next;
  apply();
  changes.tell();
}

/** Calls the listener when the language is another one. Returns what ends that. */
export const onLanguage = changes.subscribe;

export function useLanguage(): PageLanguage {
  return useSyncExternalStore(onLanguage, () => language);
}

/** The texts of the page in its language. */
export function useTexts(): Texts {
  return TEXTS[useLanguage()];
}
