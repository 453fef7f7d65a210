/**
 * Where webhooks may go: to public addresses only. The check has two steps. `parseTarget` checks
 * the URL's text, without IO. `resolveTarget` also resolves the name and returns the addresses that
 * it checked. A delivery connects to one of these, so an attacker gains nothing if the name
 * resolves to another address a moment later. An address is refused unless it is known to be
 * public. A name is refused if its lookup fails or takes too long.
 *
 * A lookup without an answer has a refusal of its own, `name_not_resolved`, because it may be our
 * fault. A name that does not exist has the same refusal as one with a private address, so that
 * nobody can find out the names in our network.
 *
 * Never call `resolveTarget` inside a transaction: it waits for the network.
 */
import { lookup as systemLookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { systemClock, type Clock } from '../core/clock.ts';
import type { DeliveryError } from '../core/delivery-errors.ts';
import type { HostAddress, Lookup } from '../core/dns-lookup.ts';

/** How strict the check is. */
export interface TargetOptions {
  /** For development and tests: allows every address, and `http`. */
  readonly allowPrivateTargets: boolean;
  /** How names are resolved; by the system's name servers if left out. */
  readonly lookup?: Lookup | undefined;
  /** For the time limit of a lookup; the system's clock by default. */
  readonly clock?: Pick<Clock, 'after'> | undefined;
}

/** What `parseTarget` returns. */
export type ParsedTarget = { readonly ok: true; readonly url: URL } | Refusal;

/** What `resolveTarget` returns; the addresses are those that it checked. */
export type Target =
  | { readonly ok: true; readonly url: URL; readonly addresses: readonly HostAddress[] }
  | Refusal;

/** What can be wrong with a URL. */
type TargetFault =
  | 'url_too_long'
  | 'url_not_https'
  | 'url_invalid_characters'
  | 'url_has_fragment'
  | 'url_has_credentials'
  | 'url_malformed'
  | 'url_not_public'
  | 'url_many_addresses'
  | 'url_not_resolved';

/** Why deliveries may not go to a URL. */
export interface Refusal {
  readonly ok: false;
  /**
   * English, for the caller of the API. It never says what a name resolves to, because callers
   * could use that to explore our network.
   */
  readonly detail: string;
  /** The same for programs. The admin page has a text for each. */
  readonly reason: TargetFault;
  /** What an attempt to the URL fails with. */
  readonly error: DeliveryError & ('target_not_public' | 'name_not_resolved');
}

const URL_MAX_CHARACTERS = 2048;
const LOOKUP_TIMEOUT_MS = 3_000;
/**
 * How many addresses a name may have. An answer over TCP has room for thousands, whose check takes
 * the process 20 ms at every attempt. A longer list is not cut: all addresses must be public,
 * and nobody has looked at the rest.
 */
const ADDRESSES_MAX = 64;

const NOT_PUBLIC: Refusal = {
  ok: false,
  detail: 'The URL must lead to public addresses only, and its name must resolve.',
  reason: 'url_not_public',
  error: 'target_not_public',
};

const MANY_ADDRESSES = refuse(
  'url_many_addresses',
  `The name of the URL must have at most ${ADDRESSES_MAX} addresses.`,
);

const NOT_RESOLVED: Refusal = {
  ok: false,
  detail: 'The name of the URL could not be looked up: no name server gave an answer. Try again.',
  reason: 'url_not_resolved',
  error: 'name_not_resolved',
};

const MALFORMED = refuse('url_malformed', 'The URL is malformed.');
const HAS_CREDENTIALS = refuse(
  'url_has_credentials',
  'The URL must not hold a user name or password.',
);

/** What a lookup fails with if the DNS has answered: there is no such name, or no address of it. */
const UNKNOWN_NAME = new Set<unknown>(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

/** What a developer needs to know whose receiver runs on their own machine. */
const LOCAL_HINT = ' The command `listen` of the client library brings events to your own machine.';

/**
 * Checks a URL without resolving its name. A host that is an address is checked, too. The refusal
 * of this machine (`http://localhost`) names the command that brings events to it.
 */
export function parseTarget(
  text: string,
  options: Pick<TargetOptions, 'allowPrivateTargets'>,
): ParsedTarget {
  const target = parsePublicTarget(text, options);
  if (target.ok || options.allowPrivateTargets || !namesThisMachine(text)) return target;
  return { ...target, detail: target.detail + LOCAL_HINT };
}

function parsePublicTarget(
  text: string,
  { allowPrivateTargets }: Pick<TargetOptions, 'allowPrivateTargets'>,
): ParsedTarget {
  const fault = textFault(text, allowPrivateTargets ? /^https?:\/\//i : /^https:\/\//i);
  if (fault) return fault;
  if (!URL.canParse(text)) return MALFORMED;
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') return HAS_CREDENTIALS;
  if (allowPrivateTargets) return { ok: true, url };
  const literal = literalAddress(url.hostname);
  if (literal === null ? isLocalName(url.hostname) : !isPublicAddress(literal)) return NOT_PUBLIC;
  return { ok: true, url };
}

/** Checks a URL and every address that its name resolves to. */
export async function resolveTarget(text: string, options: TargetOptions): Promise<Target> {
  const parsed = parseTarget(text, options);
  if (!parsed.ok) return parsed;
  const { url } = parsed;
  const addresses = await findAddresses(
    url.hostname,
    options.lookup ?? (options.allowPrivateTargets ? lookupWithHostsFile : lookupAll),
    options.clock ?? systemClock,
  );
  if (addresses === null) return NOT_RESOLVED;
  if (addresses.length === 0) return NOT_PUBLIC;
  if (options.allowPrivateTargets) return { ok: true, url, addresses };
  const read = addresses.slice(0, ADDRESSES_MAX);
  // Also of a longer list, because a name in our network may have one.
  if (!read.every(({ address }) => isPublicAddress(address))) return NOT_PUBLIC;
  return addresses.length > ADDRESSES_MAX ? MANY_ADDRESSES : { ok: true, url, addresses };
}

/**
 * Whether an address belongs to the public internet. An IPv4 address inside an IPv6 one (mapped,
 * NAT64, 6to4) counts as that IPv4 address. IPv6 is public only in 2000::/3, the one range that has
 * been assigned so far. That leaves out `::a.b.c.d` and future reserved ranges.
 */
export function isPublicAddress(text: string): boolean {
  // A zone id (`fe80::1%eth0`) names an interface of this machine.
  if (isIP(text) === 0 || text.includes('%')) return false;
  // Normalized first, because ipaddr.js takes `::8.8.8.8` for `::ffff:8.8.8.8`.
  const normal = isIP(text) === 6 ? new URL(`http://[${text}]`).hostname.slice(1, -1) : text;
  const address = ipaddr.parse(normal);
  if (address instanceof ipaddr.IPv4) return isPublicIpv4(address);
  const embedded = embeddedIpv4(address);
  if (embedded) return isPublicIpv4(embedded);
  return address.range() === 'unicast' && address.match(GLOBAL_UNICAST);
}

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/**
 * The management service of a large cloud provider. The address is in a public range, but every
 * machine of that cloud reaches it internally.
 */
const CLOUD_HOST_AGENT = '168.63.129.16';

function isPublicIpv4(address: ipaddr.IPv4): boolean {
  return address.range() === 'unicast' && address.toString() !== CLOUD_HOST_AGENT;
}

function embeddedIpv4(address: ipaddr.IPv6): ipaddr.IPv4 | null {
  const bytes = address.toByteArray();
  switch (address.range()) {
    case 'ipv4Mapped':
      return new ipaddr.IPv4(bytes.slice(12));
    case '6to4':
      return new ipaddr.IPv4(bytes.slice(2, 6));
    case 'rfc6052':
      // 64:ff9b:1::/48 is for translation inside one network, so it is not public.
      return bytes[5] === 0 ? new ipaddr.IPv4(bytes.slice(12)) : null;
    default:
      return null;
  }
}

function refuse(reason: TargetFault, detail: string): Refusal {
  return { ok: false, detail, reason, error: 'target_not_public' };
}

// Refuses what a URL parser repairs silently (spaces, backslashes, a missing or surplus slash),
// because other parsers may repair it in another way.
function textFault(text: string, scheme: RegExp): Refusal | null {
  if (Array.from(text).length > URL_MAX_CHARACTERS)
    return refuse('url_too_long', `A URL has at most ${URL_MAX_CHARACTERS} characters.`);
  if (!scheme.test(text)) return refuse('url_not_https', 'The URL must begin with https://.');
  if (/[\s\p{Cc}\\]/u.test(text))
    return refuse(
      'url_invalid_characters',
      'The URL must not hold spaces, control characters or backslashes.',
    );
  if (text.includes('#')) return refuse('url_has_fragment', 'The URL must not have a fragment.');
  if (/^[^/]+\/{3}/.test(text)) return MALFORMED;
  // Empty ones, too, which a parsed URL no longer shows.
  return /^[^/]+\/\/[^/?]*@/.test(text) ? HAS_CREDENTIALS : null;
}

/**
 * The host as an address, or null for a name. The URL parser has already turned every notation of
 * IPv4 (decimal, hexadecimal, octal, short) into a dotted quad.
 */
function literalAddress(hostname: string): string | null {
  const text = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return isIP(text) === 0 ? null : text;
}

/** Whether the URL leads to this machine, by a name or a loopback address. */
function namesThisMachine(text: string): boolean {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return false;
  const { hostname } = new URL(text);
  const literal = literalAddress(hostname);
  return literal === null ? isLocalName(hostname) : /^127\.|^::1$/.test(literal);
}

/** Whether the name means this machine, however the resolver is set up. */
function isLocalName(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '');
  return name === 'localhost' || name.endsWith('.localhost');
}

/**
 * Returns no addresses if there are none. Returns null if the lookup fails or takes longer than
 * LOOKUP_TIMEOUT_MS.
 */
async function findAddresses(
  hostname: string,
  lookup: Lookup,
  clock: Pick<Clock, 'after'>,
): Promise<readonly HostAddress[] | null> {
  const literal = literalAddress(hostname);
  if (literal !== null) return [{ address: literal, family: literal.includes(':') ? 6 : 4 }];
  const { promise: late, resolve } = Promise.withResolvers<null>();
  const cancel = clock.after(LOOKUP_TIMEOUT_MS, () => resolve(null));
  try {
    return await Promise.race([lookup(hostname), late]);
  } catch (error) {
    return isUnknownName(error) ? [] : null;
  } finally {
    cancel();
  }
}

/**
 * Asks the name servers directly. The system's lookup would use libuv's few threads, where one slow
 * name delays all others. A silent server is asked once more, or the next one is. Shortly before
 * the limit, the queries that have no answer yet are cancelled: if only the IPv6 query is silent,
 * the IPv4 addresses count. Rejects if there are no addresses and a query has failed.
 */
const lookupAll: Lookup = async (hostname) => {
  const resolver = new Resolver({ timeout: 800, tries: 2 });
  const timer = setTimeout(() => resolver.cancel(), LOOKUP_TIMEOUT_MS - 250);
  const [v4, v6] = await Promise.allSettled([
    resolver.resolve4(hostname),
    resolver.resolve6(hostname),
  ]);
  clearTimeout(timer);
  const addressesOf = (found: PromiseSettledResult<string[]>, family: 4 | 6): HostAddress[] =>
    found.status === 'fulfilled' ? found.value.map((address) => ({ address, family })) : [];
  const addresses = [...addressesOf(v4, 4), ...addressesOf(v6, 6)];
  for (const query of [v4, v6])
    if (query.status === 'rejected' && addresses.length === 0 && !isUnknownName(query.reason))
      throw query.reason;
  return addresses;
};

function isUnknownName(error: unknown): boolean {
  return error instanceof Error && 'code' in error && UNKNOWN_NAME.has(error.code);
}

/** Private targets may have their names in the hosts file only. */
const lookupWithHostsFile: Lookup = (hostname) =>
  systemLookup(hostname, { all: true, order: 'ipv4first' });
