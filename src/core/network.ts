/** Addresses of callers. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** The address of a caller, which depends on the trusted proxies. */
export interface ClientAddress {
  /** null: it cannot be read. Then no key with an IP allow-list is valid. */
  readonly ip: string | null;
  /** Whose limits it counts for: `ip`, or the peer of the connection if `ip` cannot be read. */
  readonly counted: string | null;
}

/**
 * Returns the address in a form that Postgres' `inet` takes, whichever form a proxy writes: with a
 * port, in brackets or quotes, with a zone, or as a part of a `Forwarded` header (RFC 7239). An
 * IPv4-mapped IPv6 address becomes the IPv4 address. Returns null for anything else, such as
 * `unknown` or `_hidden`.
 */
export function normalizeIp(text: string | undefined): string | null {
  if (text === undefined) return null;
  return readAddress(text) ?? readAddress(withoutPort(unwrap(text)));
}

function readAddress(text: string): string | null {
  const bare = text.replace(/^::ffff:(?=\d+\.)/i, '').replace(/%.*$/, '');
  if (isIP(bare) === 0) return null;
  return MAYBE_MAPPED.test(bare) ? withoutMapping(bare) : bare;
}

/** Returns the value of the pair `for=`, or the text if it has no pairs, without quotes. */
function unwrap(text: string): string {
  const pair = /(?:^|;)\s*for=([^;]*)/i.exec(text);
  return (pair?.[1] ?? text).trim().replace(/^"([^"]*)"$/, '$1');
}

/** RFC 7239 also allows names as ports: `_http`. */
const PORT = /:(?:\d{1,5}|_[\w.-]+)$/;

/** An IPv6 address without brackets loses what follows its last colon. It may have had a port. */
function withoutPort(text: string): string {
  const port = PORT.exec(text)?.[0] ?? '';
  if (Number(port.slice(1)) > 65_535) return '';
  const host = text.slice(0, text.length - port.length);
  return /^\[([^[\]]*)\]$/.exec(host)?.[1] ?? host;
}

/** Matches every mapped address, in any notation. Few other addresses have this beginning. */
const MAYBE_MAPPED = /^[0:]+:ffff:/i;

/** A URL parser writes every mapped address as `::ffff:` and two groups. ipaddr.js costs 12 µs. */
function withoutMapping(address: string): string {
  const { hostname } = new URL(`http://[${address}]`);
  const groups = /^\[::ffff:([0-9a-f]+):([0-9a-f]+)\]$/.exec(hostname);
  if (!groups) return address;
  const bytes = groups.slice(1).flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 255];
  });
  return bytes.join('.');
}

/**
 * Returns the network of an address, for logs: the first 24 bits of IPv4, the first 48 of IPv6.
 * They tell where somebody comes from, and not who it is.
 */
export function networkForLog(ip: string | null): string | undefined {
  if (ip === null) return undefined;
  if (!ip.includes(':')) return ip.replace(/\d+$/, '0/24');
  return `${networkOf(ip).split(':').slice(0, 3).join(':')}::/48`;
}

/**
 * Returns whose address it is, for limits: an IPv4 address, or the /64 network of an IPv6 address,
 * which is the least that a caller has. The database groups them in the same way.
 */
export function networkOf(address: string | null): string {
  if (address === null || !address.includes(':')) return address ?? '-';
  const [before = '', after] = address.toLowerCase().split('::');
  const first = before === '' ? [] : before.split(':');
  const last = after === undefined || after === '' ? [] : after.split(':');
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0');
  const groups = [...first, ...zeros, ...last].slice(0, 4);
  return groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':');
}

/** Whether the text is an IP address, or a network in CIDR notation. */
export function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/');
  const family = address.includes('%') ? 0 : isIP(address);
  if (family === 0 || rest.length > 0) return false;
  // Postgres takes no leading zero of an IPv6 network.
  const isBits = bits === undefined || /^(?:0|[1-9]\d{0,2})$/.test(bits);
  return isBits && Number(bits ?? 0) <= (family === 4 ? 32 : 128);
}

/**
 * Whether the network is one of IPv4-mapped IPv6 addresses. No caller has one: `normalizeIp` makes
 * them IPv4 addresses.
 */
export function isMappedNetwork(text: string): boolean {
  const [address = ''] = text.split('/');
  return isIP(address) === 6 && ipaddr.IPv6.parse(address).isIPv4MappedAddress();
}
