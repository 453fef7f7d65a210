/**
 * The page in a frame of the host application. What they say to each other:
 *
 *  1. The page posts `{ type: 'svc:ready' }` to its parent, if that has one of the configured
 *     origins.
 *  2. The host application answers with `{ type: 'svc:port' }` and a `MessagePort`. All that comes
 *     after that goes over the port.
 *  3. The page sends `{ type: 'svc:token-wanted' }`: at once, a minute before a token expires, and
 *     when one is refused.
 *  4. The host application sends `{ type: 'svc:settings', token, theme, language, colors }`, at any
 *     time, with any of these: `theme` is `light`, `dark` or `system`, `language` is `de` or `en`,
 *     `colors` is described in `host-colors.ts`. What it sets, the reader cannot choose here.
 *  5. The page sends `{ type: 'svc:colors', changes }`: which colours it could not take as they
 *     are, and why.
 *  6. The page sends `{ type: 'svc:place', path }` whenever it shows another one, so that the host
 *     application can come back to it with `/admin` + `path`.
 *
 * Tokens are kept in memory only and sent as bearer tokens: the cookie of a session would be one of
 * a third party.
 */
import { useSyncExternalStore } from 'react';
import { HOST_ORIGINS } from './shell.ts';

/** What the host application sends over the port. */
interface HostMessage {
  readonly type?: unknown;
  readonly token?: unknown;
  readonly theme?: unknown;
  readonly language?: unknown;
  readonly colors?: unknown;
}

/** What the page does with what the host application sends. */
export interface HostListener {
  readonly token: (token: string) => void;
  readonly theme: (theme: string) => void;
  readonly language: (language: string) => void;
  /** Returns what to say about them. */
  readonly colors: (colors: unknown) => readonly unknown[];
  /** The host application has not answered for long. */
  readonly silence: () => void;
}

/** What the host application has set. */
export interface HostChoices {
  readonly theme: boolean;
  readonly language: boolean;
}

/** So long that only a host application with a fault is silent. */
const SILENCE_MS = 10_000;

let port: MessagePort | null = null;
let choices: HostChoices = { theme: false, language: false };
const observers = new Set<() => void>();

/** Whether the page is in a frame of an origin that may show it. */
export const IS_FRAMED = window.parent !== window && HOST_ORIGINS.length > 0;

/** Waits for the host application. Later ports replace earlier ones. */
export function connectToHost(listener: HostListener): void {
  window.addEventListener('message', (event) => {
    const isHost = event.source === window.parent && HOST_ORIGINS.includes(event.origin);
    const [given] = event.ports;
    if (!isHost || !given || (event.data as HostMessage | null)?.type !== 'svc:port') return;
    port?.close();
    port = given;
    port.addEventListener('message', ({ data }) => receive(data as HostMessage | null, listener));
    port.start();
    askForToken();
  });
  window.setTimeout(() => {
    if (port === null) listener.silence();
  }, SILENCE_MS);
  sayReady();
}

/** Asks the host application for a new token, or for a port if there is none yet. */
export function askForToken(): void {
  if (port === null) sayReady();
  else port.postMessage({ type: 'svc:token-wanted' });
}

/** Tells the host application which place is shown. */
export function tellPlace(path: string): void {
  port?.postMessage({ type: 'svc:place', path });
}

/** What the host application has set, in a component. */
export function useHostChoices(): HostChoices {
  return useSyncExternalStore(
    (observer) => {
      observers.add(observer);
      return () => observers.delete(observer);
    },
    () => choices,
  );
}

function sayReady(): void {
  // The browser delivers it only if the frame's owner has that origin.
  for (const origin of HOST_ORIGINS) window.parent.postMessage({ type: 'svc:ready' }, origin);
}

function receive(message: HostMessage | null, listener: HostListener): void {
  if (message?.type !== 'svc:settings') return;
  const { token, theme, language, colors } = message;
  if (typeof theme === 'string') listener.theme(theme);
  if (typeof language === 'string') listener.language(language);
  if (colors !== undefined)
    port?.postMessage({ type: 'svc:colors', changes: listener.colors(colors) });
  if (typeof token === 'string') listener.token(token);
  choices = {
    theme: choices.theme || typeof theme === 'string',
    language: choices.language || typeof language === 'string',
  };
  for (const observer of observers) observer();
}
