/** A short line at the bottom that says what has just happened. */
import { useSyncExternalStore } from 'react';
import { makeChanges } from '../lib/changes.ts';

const SHOWN_MS = 6_000;
const changes = makeChanges();
/** `times`: tells a text from the same one that was said before. */
let shown = { text: '', times: 0 };
let timer = 0;

/** Says it to everybody, screen readers included. */
export function announce(text: string): void {
  window.clearTimeout(timer);
  change(text);
  timer = window.setTimeout(() => change(''), SHOWN_MS);
}

function change(text: string): void {
  shown = { text, times: shown.times + 1 };
  changes.tell();
}

export function NoticeRegion() {
  const { text, times } = useSyncExternalStore(changes.subscribe, () => shown);
  return (
    <div className="toast" role="status" data-shown={text !== '' || undefined}>
      {/* Drawn anew each time, or the second of two equal texts would go unnoticed. */}
      {text !== '' && <span key={times}>{text}</span>}
    </div>
  );
}
