/** Whether the search over everything is open. `/` and Ctrl-K or Cmd-K open it. */
import { useSyncExternalStore } from 'react';
import { makeChanges } from './changes.ts';

let isOpen = false;
const changes = makeChanges();

export function showFinder(wanted: boolean): void {
  isOpen = wanted;
  changes.tell();
}

export function useFinder(): boolean {
  return useSyncExternalStore(changes.subscribe, () => isOpen);
}

/** Opens it by its keys until the returned function is called. */
export function listenForFinder(): () => void {
  const open = (event: KeyboardEvent) => {
    const isTyping =
      event.target instanceof HTMLElement && event.target.matches('input, textarea, select');
    // A dialog keeps what is in it.
    if (!isFinderKey(event, isTyping) || document.querySelector('dialog[open]')) return;
    event.preventDefault();
    showFinder(true);
  };
  window.addEventListener('keydown', open);
  return () => window.removeEventListener('keydown', open);
}

/** Whether it is opened by this key. `/` is a letter to who is typing. */
export function isFinderKey(
  { key, ctrlKey, metaKey }: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey'>,
  isTyping: boolean,
): boolean {
  const isCombination = key.toLowerCase() === 'k' && (ctrlKey || metaKey);
  return isCombination || (key === '/' && !isTyping);
}
