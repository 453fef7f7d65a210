/** Where the focus goes when the reader comes to another page, or what had it is removed. */

let isAwaited = false;

/** Says that the heading that comes next shall have the focus. */
export function awaitHeading(): void {
  isAwaited = true;
}

/** Gives the heading the focus if it is awaited. The place on the page stays. */
export function receiveHeading(heading: HTMLElement): void {
  if (!isAwaited) return;
  isAwaited = false;
  heading.focus({ preventScroll: true });
}

/**
 * Watches a part of the document until the returned function is called. If what has the focus is
 * removed, such as the button of a row that is gone, the nearest heading gets it.
 */
export function keepFocus(part: HTMLElement): () => void {
  let last: Node | null = null;
  const remember = ({ target }: FocusEvent) => {
    last = target instanceof Node ? target : null;
  };
  const observer = new MutationObserver(() => {
    if (!last || last.isConnected || document.activeElement !== document.body) return;
    last = null;
    const heading = part.querySelector<HTMLElement>('dialog[open] h2') ?? part.querySelector('h1');
    heading?.focus({ preventScroll: true });
  });
  part.addEventListener('focusin', remember);
  observer.observe(part, { childList: true, subtree: true });
  return () => {
    part.removeEventListener('focusin', remember);
    observer.disconnect();
  };
}
