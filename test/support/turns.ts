/** Resolves in the next turn of the event loop, after what has come until then. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
