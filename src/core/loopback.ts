import { isIP } from 'node:net';

/** Whether a host name of a URL or of the header `Host`, without its port, means this machine. */
export function isLoopbackHost(host: string): boolean {
  return /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])$/i.test(host);
}

/**
 * Returns the loopback address that reaches a process at all addresses of this machine; null for
 * any other host name of a URL.
 */
export function loopbackOfAll(hostname: string): string | null {
  if (hostname === '[::]') return '[::1]';
  return hostname === '0.0.0.0' || hostname === '[::ffff:0:0]' ? '127.0.0.1' : null;
}

/** Whether a process that listens at `host` is reached from this machine alone. */
export function isLoopbackAddress(host: string): boolean {
  const name = URL.parse(`http://${isIP(host) === 6 ? `[${host}]` : host}`)?.hostname ?? '';
  return isLoopbackHost(name);
}

/** Returns the host of a URL of a process that listens at `host`. A URL has no zone. */
export function urlHostOf(host: string): string {
  const written = isIP(host) === 6 ? `[${host.replace(/%.*$/, '')}]` : host;
  // The parser knows all spellings of an address: 0, 0x0, ::0.
  return loopbackOfAll(URL.parse(`http://${written}`)?.hostname ?? '') ?? written;
}
