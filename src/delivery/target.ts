/**
 * Where webhooks may go (decisions 37). Two steps: what the URL says (`parseTarget`, pure), and what its name resolves to (`resolveTarget`). The second one
 * answers with the addresses that were checked, and a delivery connects to one of these: a name that resolves to something else a moment later gains
 * nothing. Everything that is not known to be public is refused, a lookup that fails or takes too long included.
 *
 * Never called inside a transaction: it waits for the network.
 */
import { lookup as systemLookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { HostAddress, Lookup } from '../core/host.ts';

export interface TargetOptions {
  /** Development and tests: any address, resolved or not, and `http` too. */
  readonly allowPrivateTargets: boolean;
  /** The system's way where it is left out. */
  readonly lookup?: Lookup | undefined;
}

export type ParsedTarget = { readonly ok: true; readonly url: URL } | Refusal;

export type Target = { readonly ok: true; readonly url: URL; readonly addresses: readonly HostAddress[] } | Refusal;

export interface Refusal {
  readonly ok: false;
  /** English, for the caller of the API. It never tells what a name resolves to: that would make this a probe of our network. */
  readonly detail: string;
}

const URL_MAX_CHARACTERS = 2048;
const LOOKUP_TIMEOUT_MS = 3_000;

const NOT_PUBLIC: Refusal = {
  ok: false,
  detail: 'The URL must lead to public addresses only, and its name must resolve.',
};

/** The URL, unless its text alone refuses it. A literal address is checked here. */
export function parseTarget(
  text: string,
  { allowPrivateTargets }: Pick<TargetOptions, 'allowPrivateTargets'>,
): ParsedTarget {
  const fault = textFault(text, allowPrivateTargets ? /^https?:\/\//i : /^https:\/\//i);
  if (fault) return fault;
  if (!URL.canParse(text)) return { ok: false, detail: 'The URL is malformed.' };
  const url = new URL(text);
  if (allowPrivateTargets) return { ok: true, url };
  const literal = literalAddress(url.hostname);
  if (literal === null ? isLocalName(url.hostname) : !isPublicAddress(literal)) return NOT_PUBLIC;
  return { ok: true, url };
}

/** The URL and every address that it leads to, each of them public (any, where private targets are allowed). */
export async function resolveTarget(text: string, options: TargetOptions): Promise<Target> {
  const parsed = parseTarget(text, options);
  if (!parsed.ok) return parsed;
  const { url } = parsed;
  const addresses = await findAddresses(
    url.hostname,
    options.lookup ?? (options.allowPrivateTargets ? lookupWithHostsFile : lookupAll),
  );
  if (addresses.length === 0) return NOT_PUBLIC;
  if (!options.allowPrivateTargets && !addresses.every(({ address }) => isPublicAddress(address))) return NOT_PUBLIC;
  return { ok: true, url, addresses };
}

/**
 * Whether an address is one of the public internet, in any form: an IPv4 address inside an IPv6 one (mapped, NAT64, 6to4) counts as what it stands for.
 * IPv6 is public only below 2000::/3, the one range handed out so far, which leaves out `::a.b.c.d` and whatever is reserved next.
 */
export function isPublicAddress(text: string): boolean {
  // A zone id (`fe80::1%eth0`) names an interface of this machine.
  if (isIP(text) === 0 || text.includes('%')) return false;
  // Rewritten first, because ipaddr.js takes `::8.8.8.8` for `::ffff:8.8.8.8`.
  const address = ipaddr.parse(isIP(text) === 6 ? new URL(`http://[${text}]`).hostname.slice(1, -1) : text);
  if (address instanceof ipaddr.IPv4) return isPublicIpv4(address);
  const embedded = embeddedIpv4(address);
  if (embedded) return isPublicIpv4(embedded);
  return address.range() === 'unicast' && address.match(GLOBAL_UNICAST);
}

const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3');

/** A public address by its range, and yet the same one inside every machine of a large cloud: its management service. */
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
      // 64:ff9b:1::/48 is for translation inside one network, so what it stands for is nobody else's business.
      return bytes[5] === 0 ? new ipaddr.IPv4(bytes.slice(12)) : null;
    default:
      return null;
  }
}

// What a URL parser repairs silently (spaces, backslashes, a missing slash) is refused: other readers of the text may repair it otherwise.
function textFault(text: string, scheme: RegExp): Refusal | null {
  const refuse = (detail: string): Refusal => ({ ok: false, detail });
  if (Array.from(text).length > URL_MAX_CHARACTERS)
    return refuse(`A URL has at most ${URL_MAX_CHARACTERS} characters.`);
  if (!scheme.test(text)) return refuse('The URL must begin with https://.');
  if (/[\s\p{Cc}\\]/u.test(text)) return refuse('The URL must not hold spaces, control characters or backslashes.');
  if (text.includes('#')) return refuse('The URL must not have a fragment.');
  if (/^[^/]+\/\/[^/?]*@/.test(text)) return refuse('The URL must not hold a user name or password.');
  return null;
}

/** The host as an address, or null for a name. The URL parser has turned every notation of IPv4 (decimal, hexadecimal, octal, short) into a dotted quad. */
function literalAddress(hostname: string): string | null {
  const text = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return isIP(text) === 0 ? null : text;
}

/** Names that are this machine wherever they are resolved, however a resolver is set up. */
function isLocalName(hostname: string): boolean {
  const name = hostname.replace(/\.$/, '');
  return name === 'localhost' || name.endsWith('.localhost');
}

/** Empty when there are none, or none in time. */
async function findAddresses(hostname: string, lookup: Lookup): Promise<readonly HostAddress[]> {
  const literal = literalAddress(hostname);
  if (literal !== null) return [{ address: literal, family: literal.includes(':') ? 6 : 4 }];
  const { promise: late, resolve } = Promise.withResolvers<readonly HostAddress[]>();
  const timer = setTimeout(() => resolve([]), LOOKUP_TIMEOUT_MS);
  try {
    return await Promise.race([lookup(hostname), late]);
  } catch {
    // Why a name does not resolve makes no difference: it is refused.
    return [];
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Asks the name servers without libuv's few threads, so that a name that resolves slowly holds up no other. Private targets may be in the hosts file only.
 * A server that is silent is asked once more, or the next one is. What has not answered shortly before the limit is given up: a name whose IPv6 addresses
 * cannot be had is its IPv4 ones.
 */
const lookupAll: Lookup = async (hostname) => {
  const resolver = new Resolver({ timeout: 800, tries: 2 });
  const timer = setTimeout(() => resolver.cancel(), LOOKUP_TIMEOUT_MS - 250);
  const found = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  clearTimeout(timer);
  return found.flatMap((answer, index) =>
    answer.status === 'fulfilled' ? answer.value.map((address) => ({ address, family: index === 0 ? 4 : 6 })) : [],
  );
};

const lookupWithHostsFile: Lookup = (hostname) => systemLookup(hostname, { all: true, order: 'ipv4first' });
