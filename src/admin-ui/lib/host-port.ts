/**
 * The page in a frame of the host application. The page says `svc:ready` to the configured origins,
 * and the host application answers with a `MessagePort`. Over it come tokens, which are kept in
 * memory only and sent as bearer tokens: the cookie of a session would be one of a third party.
 */
import { HOST_ORIGINS } from './shell.ts';

/** What the host application sends over the port. */
interface HostMessage {
  readonly type?: unknown;
  readonly token?: unknown;
  readonly theme?: unknown;
  readonly language?: unknown;
}

/** What the page does with what the host application sends. */
export interface HostListener {
  readonly token: (token: string) => void;
  readonly theme: (theme: string) => void;
  readonly language: (language: string) => void;
}

let port: MessagePort | null = null;

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
  // The browser delivers it only if the frame's owner has that origin.
  for (const origin of HOST_ORIGINS) window.parent.postMessage({ type: 'svc:ready' }, origin);
}

/** Asks the host application for a new token. */
export function askForToken(): void {
  port?.postMessage({ type: 'svc:token-wanted' });
}

function receive(message: HostMessage | null, listener: HostListener): void {
  if (message?.type !== 'svc:settings') return;
  const { token, theme, language } = message;
  if (typeof theme === 'string') listener.theme(theme);
  if (typeof language === 'string') listener.language(language);
  if (typeof token === 'string') listener.token(token);
}
