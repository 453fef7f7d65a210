// @ts-nocheck -- runs in the browser; the project's types are those of Node.
// The reader's API key. It is kept in a variable and nowhere else, so it goes with the page.
let key = '';
const listeners = [];

export function keyInUse() {
  return key;
}

export function holdKey(value) {
  key = value;
  for (const listener of listeners) listener(key);
}

export function onKey(listener) {
  listeners.push(listener);
}
