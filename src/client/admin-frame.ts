/**
 * Shows the admin page in a frame of a page of yours, in browsers. The page needs
 * `ADMIN_HOST_ORIGINS` of the service to name your origin, and your own content security policy to
 * allow the service: `frame-src https://api.example.com`.
 */

/** What you can set at any time. What you set, the reader cannot choose in the frame. */
export interface AdminFrameLook {
  readonly theme?: 'light' | 'dark' | 'system';
  readonly language?: 'de' | 'en';
  /** For instance `{ light: { accent: '#0a7d4f' }, dark: { accent: '#5fd39b' } }`. */
  readonly colors?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** false: without the page's own navigation. A list: only these pages, such as `keys`. */
  readonly navigation?: boolean | readonly string[];
}

export interface AdminFrameOptions {
  /** The public address of the service, such as `https://api.example.com`. */
  readonly serviceUrl: string;
  /** Where to begin, such as `/keys`. */
  readonly path?: string;
  /** Called whenever a token is needed. Your server issues it, for who is signed in there. */
  readonly settings: () => Promise<AdminFrameLook & { readonly token: string }>;
  /** Another place is shown. Open the frame with it as `path` to come back. */
  readonly onPlace?: (path: string) => void;
  /** How high the content is, in pixels. The frame must not be higher than the reader's window. */
  readonly onHeight?: (height: number) => void;
  readonly onEvent?: (name: 'key_created' | 'session_ended') => void;
  /** What the page could not take of what you sent, or why it got no token. For developers. */
  readonly onProblem?: (problem: { readonly field: string; readonly message: string }) => void;
}

export interface AdminFrame {
  /** Opens a place, such as `/keys`, as soon as there is a page. */
  readonly go: (path: string) => void;
  /** At any time. A page that loads anew, as in the sandbox, gets it again. */
  readonly set: (look: AdminFrameLook) => void;
  /** Stops listening. The frame stays. */
  readonly close: () => void;
}

/** Shows the admin page in the frame. Its messages are described in the service's README. */
export function showAdminPage(frame: HTMLIFrameElement, options: AdminFrameOptions): AdminFrame {
  const service = new URL(options.serviceUrl);
  /** null: no page has said that it is ready, or the one that had is gone. */
  let port: MessagePort | null = null;
  /** A place that was to be opened meanwhile. */
  let place: string | null = null;
  /** All that was set. */
  let look: AdminFrameLook = {};
  /** Whether the page has got no settings yet: it has loaded, or loaded anew. */
  let isNew = true;
  const send = (message: object): void => port?.postMessage(message);

  const answerWithToken = async (): Promise<void> => {
    try {
      const settings = await options.settings();
      const { token } = settings;
      send({ type: 'svc:settings', ...settings, ...(isNew && look), token });
      isNew = false;
    } catch (error) {
      options.onProblem?.({ field: 'token', message: String(error) });
    }
  };
  const receive = ({ data }: MessageEvent): void => {
    if (data.type === 'svc:gone') port = null;
    if (data.type === 'svc:token-wanted') void answerWithToken();
    if (data.type === 'svc:place') options.onPlace?.(data.path);
    if (data.type === 'svc:height') options.onHeight?.(data.height);
    if (data.type === 'svc:event') options.onEvent?.(data.name);
    if (data.type === 'svc:problem')
      options.onProblem?.({ field: data.field, message: data.message });
    if (data.type === 'svc:colors')
      for (const change of data.changes)
        options.onProblem?.({ field: 'colors', message: JSON.stringify(change) });
  };
  const go = (path: string): void => {
    if (port === null) place = path;
    else send({ type: 'svc:go', path });
  };
  const greet = ({ source, origin, data }: MessageEvent): void => {
    // Other frames and other origins must not get a token.
    if (source !== frame.contentWindow || origin !== service.origin) return;
    if (data?.type !== 'svc:ready') return;
    port?.close();
    const { port1, port2 } = new MessageChannel();
    port = port1;
    isNew = true;
    port1.addEventListener('message', receive);
    port1.start();
    frame.contentWindow?.postMessage({ type: 'svc:port' }, service.origin, [port2]);
    if (place !== null) go(place);
    place = null;
  };
  window.addEventListener('message', greet);
  // Only now: the page says `svc:ready` once, as soon as it has loaded.
  frame.src = `${service.href.replace(/\/$/, '')}/admin${options.path ?? ''}`;
  return {
    go,
    set: (given) => {
      look = { ...look, ...given };
      send({ type: 'svc:settings', ...given });
    },
    close: () => {
      window.removeEventListener('message', greet);
      port?.close();
    },
  };
}
