/**
 * The page in a frame of the host application. What they say to each other:
 *
 *  1. The page posts `{ type: 'svc:ready' }` to its parent, if that has one of the configured
 *     origins.
 *  2. The host application answers with `{ type: 'svc:port' }` and a `MessagePort`. All that comes
 *     after that goes over the port.
 *  3. The page sends `{ type: 'svc:token-wanted' }`: at once, a minute before a token expires, when
 *     one is refused that had opened a session, and when the reader tries again.
 *  4. The host application sends `{ type: 'svc:settings', token, theme, language, colors,
 *     navigation }`, at any time, with any of these: `theme` is `light`, `dark` or `system`,
 *     `language` is `de` or `en`, `colors` is described in `host-colors.ts`, `navigation` is false
 *     or the names of the pages to show. What it sets, the reader cannot choose here.
 *  5. The page sends `{ type: 'svc:colors', changes }`: which colours it could not take as they
 *     are, and why.
 *  6. The page sends `{ type: 'svc:place', path }` whenever it shows another one, so that the host
 *     application can come back to it with `/admin` + `path`.
 *  7. The host application sends `{ type: 'svc:go', path }` to open such a place.
 *  8. The page sends `{ type: 'svc:height', height }`, how high its content is in pixels, and
 *     `{ type: 'svc:event', name }` when something has happened: `key_created`, `session_ended`.
 *  9. The page sends `{ type: 'svc:gone' }` when its document is left, for instance for that of the
 *     sandbox. The next one begins with 1.
 * 10. The page answers with `{ type: 'svc:problem', field, message }` to what it cannot take.
 *
 * `src/client/admin-frame.ts` is the other side.
 *
 * Tokens are kept in memory only and sent as bearer tokens: the cookie of a session would be one of
 * a third party.
 */
import { useSyncExternalStore } from 'react';
import { makeChanges } from './changes.ts';
import { choicesAfter, NO_CHOICES, type HostChoices } from './host-choices.ts';
import { readHostMessage } from './host-message.ts';
import type { PageLanguage } from '../i18n/languages.ts';
import { HOST_ORIGINS } from './shell.ts';
import type { Theme } from './themes.ts';

/** What the page does with what the host application sends. */
export interface HostListener {
  readonly token: (token: string) => void;
  readonly theme: (theme: Theme) => void;
  readonly language: (language: PageLanguage) => void;
  /** Returns what to say about them. */
  readonly colors: (colors: unknown) => readonly unknown[];
  readonly go: (path: string) => void;
  /** The time is over in which the host application should have sent a token. */
  readonly silence: () => void;
}

/** So long that only a host application with a fault is silent. */
const SILENCE_MS = 10_000;

let port: MessagePort | null = null;
let place: string | null = null;
let choices = NO_CHOICES;
const changes = makeChanges();

/** Whether the page is in a frame of an origin that may show it. */
export const IS_FRAMED = window.parent !== window && HOST_ORIGINS.length > 0;

/** Waits for the host application. Later ports replace earlier ones. */
export function connectToHost(listener: HostListener): void {
  window.addEventListener('message', (event) => {
    const isHost = event.source === window.parent && HOST_ORIGINS.includes(event.origin);
    const [given] = event.ports;
    if (!isHost || !given || (event.data as { type?: unknown } | null)?.type !== 'svc:port') return;
    port?.close();
    port = given;
    port.addEventListener('message', ({ data }) => receive(data, listener));
    port.start();
    // The reader may have switched between live team and sandbox: this document is another one.
    if (place !== null) tellPlace(place);
    askForToken();
  });
  window.addEventListener('pagehide', (event) => {
    // A document that is kept for "Back" keeps its port, too.
    if (!event.persisted) port?.postMessage({ type: 'svc:gone' });
  });
  window.setTimeout(listener.silence, SILENCE_MS);
  sayReady();
}

/** Asks the host application for a new token, or for a port if there is none yet. */
export function askForToken(): void {
  if (port === null) sayReady();
  else port.postMessage({ type: 'svc:token-wanted' });
}

/** Tells the host application which place is shown. */
export function tellPlace(path: string): void {
  place = path;
  port?.postMessage({ type: 'svc:place', path });
}

/** Tells the host application how high the content is. */
export function tellHeight(height: number): void {
  port?.postMessage({ type: 'svc:height', height });
}

/** Tells the host application what has happened. */
export function tellEvent(name: 'key_created' | 'session_ended'): void {
  port?.postMessage({ type: 'svc:event', name });
}

/** What the host application has set, in a component. */
export function useHostChoices(): HostChoices {
  return useSyncExternalStore(changes.subscribe, () => choices);
}

function sayReady(): void {
  // The browser delivers it only if the frame's owner has that origin.
  for (const origin of HOST_ORIGINS) window.parent.postMessage({ type: 'svc:ready' }, origin);
}

function receive(data: unknown, listener: HostListener): void {
  const { message, problems } = readHostMessage(data);
  for (const problem of problems) port?.postMessage({ type: 'svc:problem', ...problem });
  if (message.type === 'svc:go') listener.go(message.path);
  if (message.type !== 'svc:settings') return;
  const { token, theme, language, colors } = message;
  if (theme !== undefined) listener.theme(theme);
  if (language !== undefined) listener.language(language);
  if (colors !== undefined)
    port?.postMessage({ type: 'svc:colors', changes: listener.colors(colors) });
  if (token !== undefined) listener.token(token);
  choices = choicesAfter(choices, message);
  changes.tell();
}
