/** What the build and the server have written into the document. */
import type { Mode } from '../../core/sandbox.ts';

function readMeta(name: string): string {
  const element = document.querySelector<HTMLMetaElement>(`meta[name="admin-${name}"]`);
  return element?.content ?? '';
}

/** Whether the document is that of the live team or that of its sandbox: see `mode.ts`. */
export const MODE: Mode = readMeta('mode') === 'test' ? 'test' : 'live';

/** The path of the page, such as `/admin`, without a slash at its end. */
export const ADMIN_PATH = readMeta('base');

/** The path of the service: empty, or one that precedes all its addresses. */
export const SERVICE_PATH = ADMIN_PATH.replace(/\/admin$/, '');

/** Whether anybody may sign in as a member of the demo team. */
export const HAS_DEVELOPMENT_LOGIN = readMeta('development-login') === 'yes';

/** The origins of the host application, which may show the page in a frame. */
export const HOST_ORIGINS: readonly string[] = readMeta('host-origins').split(' ').filter(Boolean);

/** Where host applications sign people in and lead them back, one URL for each of them. */
export const REFRESH_URLS: readonly string[] = readMeta('refresh-urls').split(' ').filter(Boolean);
