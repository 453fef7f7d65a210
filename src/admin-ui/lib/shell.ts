/** What the build and the server have written into the document. */
import { readShellFacts } from './shell-facts.ts';

const facts = readShellFacts((name) => {
  const element = document.querySelector<HTMLMetaElement>(`meta[name="admin-${name}"]`);
  return element?.content ?? '';
});

/** Whether the document is that of the live team or that of its sandbox: see `mode.ts`. */
export const MODE = facts.mode;

/** The path of the page, such as `/admin`, without a slash at its end. */
export const ADMIN_PATH = facts.adminPath;

/** The path of the service: empty, or one that precedes all its addresses. */
export const SERVICE_PATH = facts.servicePath;

/** Whether anybody may sign in as a member of the demo team. */
export const HAS_DEVELOPMENT_LOGIN = facts.hasDevelopmentLogin;

/** The origins of the host application, which may show the page in a frame. */
export const HOST_ORIGINS = facts.hostOrigins;

/** Where host applications sign people in and lead them back, one URL for each of them. */
export const REFRESH_URLS = facts.refreshUrls;
