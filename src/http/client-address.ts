/**
 * The address of a request's client. Behind proxies it is in `X-Forwarded-For`, to which each proxy
 * appends the address of its own client.
 */
import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { Logger } from 'pino';
import { atMostEvery } from '../core/at-most-every.ts';
import type { Clock } from '../core/clock.ts';
import { normalizeIp, type ClientAddress } from '../core/network.ts';
import type { TrustProxy } from '../runtime/config.ts';

const WARN_EVERY_MS = 60_000;
/** Longer than any address with a zone and a port. */
const FORM_MAX = 64;

/** Returns a function that reads the address once for each request: a closed socket has none. */
export function createAddresses(
  setting: TrustProxy,
  logger: Logger,
  clock: Pick<Clock, 'monotonicMs'>,
): (request: IncomingMessage) => ClientAddress {
  const trusts = trustOf(setting);
  const known = new WeakMap<IncomingMessage, ClientAddress>();
  // The text may be an address all the same, so its digits are not logged.
  const warn = atMostEvery(WARN_EVERY_MS, clock, (text: string, proxy: string | null) =>
    logger.warn(
      { proxy, form: text.slice(0, FORM_MAX).replaceAll(/\d/g, '0') },
      'the client address that a proxy sent cannot be read',
    ),
  );
  const read = ({ headers, socket }: IncomingMessage): ClientAddress => {
    const peer = normalizeIp(socket.remoteAddress);
    const sent = String(headers['x-forwarded-for'] ?? '').split(',');
    let ip = peer;
    let from: string | null = null;
    for (let hop = 0; trusts(ip, hop); hop += 1) {
      const text = popText(sent);
      if (text === null) break;
      from = text;
      ip = normalizeIp(text);
    }
    if (ip === null && from !== null) warn(from, peer);
    return { ip, counted: ip ?? peer };
  };
  return (request) => {
    const found = known.get(request) ?? read(request);
    known.set(request, found);
    return found;
  };
}

/** Removes the last text that is not empty. The list may have thousands. */
function popText(texts: string[]): string | null {
  for (;;) {
    const text = texts.pop()?.trim();
    if (text !== '') return text ?? null;
  }
}

function trustOf(setting: TrustProxy): (address: string | null, hop: number) => boolean {
  if (setting.kind === 'none') return () => false;
  if (setting.kind === 'hops') return (_address, hop) => hop < setting.hops;
  const networks = new BlockList();
  for (const cidr of setting.cidrs) {
    const [address = '', bits] = cidr.split('/');
    const family = familyOf(address);
    networks.addSubnet(address, Number(bits ?? (family === 'ipv4' ? 32 : 128)), family);
  }
  return (address) => address !== null && networks.check(address, familyOf(address));
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}
