/** The address of the API, as the client and the command are given it. */

/** Where the service has the API. A proxy before it may have it elsewhere. */
export const API_PATH = '/api/public/v1';

/**
 * Returns the address without a slash at its end. Throws a `TypeError` that shows the address,
 * unless a password may be in it. In browsers it may be relative to the page.
 */
export function requireBaseUrl(text: unknown): string {
  const page = (globalThis as { readonly location?: { readonly href?: string } }).location?.href;
  const url = typeof text === 'string' && text !== '' ? parseUrl(text, page) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw wrong(String(text));
  if (url.username !== '' || url.password !== '')
    throw new TypeError(`baseUrl must not have a user or a password (${url.host}).`);
  if (url.search !== '' || url.hash !== '') throw wrong(String(text));
  return String(text).replace(/\/+$/, '');
}

/**
 * The end of an error about a wrong address. Of one with an `@` it shows nothing: where a password
 * is in it cannot be told if it is no URL, as with `https://kim:pa/ss@host`.
 */
export function shownOf(text: string): string {
  return text.includes('@') ? '' : `, not: ${text}`;
}

/** Adds the path of the API to an address that has none. */
export function withApiPath(url: string): string {
  return new URL(url).pathname === '/' ? new URL(API_PATH, url).href : url;
}

function parseUrl(text: string, base: string | undefined): URL | null {
  try {
    return new URL(text, base);
  } catch {
    return null;
  }
}

function wrong(text: string): TypeError {
  const example = `https://api.example.com${API_PATH}`;
  return new TypeError(`baseUrl must be an http or https URL such as ${example}${shownOf(text)}`);
}
