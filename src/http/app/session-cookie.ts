/** The cookie of a session. */

/** Browsers keep a cookie with this prefix from being set by other hosts of the domain. */
const HOST_PREFIX = '__Host-';
const COOKIE = 'svc_session';

/** A session lasts no longer, whatever its token says. */
export const SESSION_MAX_AGE_MS = 3_600_000;

/** The name of the cookie. Browsers take the prefix only with https. */
export function cookieOf(publicUrl: string): string {
  return isSecure(publicUrl) ? HOST_PREFIX + COOKIE : COOKIE;
}

export function cookieOptions(publicUrl: string) {
  return { httpOnly: true, sameSite: 'strict', secure: isSecure(publicUrl), path: '/' } as const;
}

function isSecure(publicUrl: string): boolean {
  return publicUrl.startsWith('https:');
}
