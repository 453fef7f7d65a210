// What modules of the page find in a browser, for those that are loaded without one.
import { fileURLToPath } from 'node:url';
import { onTestFinished, vi } from 'vitest';

/** The address of the document, and of the page that shows it in a frame. */
export const SERVICE = 'https://api.example.com';
export const HOST = 'https://app.example.com';
export const OTHER_HOST = 'https://two.example.com';

/** A message of one window to another, as the browser delivers it. */
export function messageOf(message: {
  readonly data: unknown;
  readonly source: unknown;
  readonly origin: string;
  readonly ports?: readonly MessagePort[];
}): Event {
  return Object.assign(new Event('message'), { ports: [], ...message });
}

/** A window, and what others have posted to it. */
export function makeWindow() {
  const posted: { data: unknown; target: string; ports: readonly MessagePort[] }[] = [];
  return Object.assign(new EventTarget(), {
    posted,
    postMessage: (data: unknown, target: string, ports: readonly MessagePort[] = []) =>
      void posted.push({ data, target, ports }),
    setTimeout: (..._given: unknown[]) => 0,
    clearTimeout: (_timer: number) => undefined,
  });
}

/** Gives these globals to the modules of the page, until the test ends. */
export function openDocument(globals: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(globals)) vi.stubGlobal(name, value);
  onTestFinished(() => void vi.unstubAllGlobals());
}

let copies = 0;

/**
 * Loads a module of `src` anew, as a document does. What it imports is shared: test files share a
 * process with its modules, so these must not be reset.
 */
export async function loadAnew<Module>(path: string): Promise<Module> {
  copies += 1;
  const file = fileURLToPath(new URL(`../../../src/${path}`, import.meta.url));
  return (await import(/* @vite-ignore */ `${file}?copy=${copies}`)) as Module;
}

/** What the document says of itself. It is read once, so it is the same in all tests. */
const META: Readonly<Record<string, string>> = {
  base: '/admin',
  'host-origins': `${HOST} ${OTHER_HOST}`,
};

export function findMeta(selector: string): { readonly content: string } {
  const [, name = ''] = /^meta\[name="admin-(.*)"\]$/.exec(selector) ?? [];
  return { content: META[name] ?? '' };
}
