/** Addresses of persons, as RFC 5321 and RFC 6531 have them, without quotes and comments. */
import { domainToASCII, domainToUnicode } from 'node:url';

/** The form of an address that a seed may bring, and that a filter takes. */
export const ADDRESS_FORM = /^[^\s@]+@[^\s@]+$/;

const LOCAL_MAX_BYTES = 64;
/** Atoms with points between them. */
const LOCAL =
  /^[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+(?:\.[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u;
/** Of ASCII, what no domain has. The parser of hosts ends at some of it, and decodes `%6d`. */
const NOT_OF_DOMAINS = /[^\w.\x80-\u{10ffff}-]/u;
/** Of the path of RFC 5321, without its brackets. */
const ADDRESS_MAX_BYTES = 254;
/** Two labels or more, as the name servers have them. The last one is no number. */
const DOMAIN =
  /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$/i;

/** Whether a mail can be sent there. */
export function isMailAddress(text: string): boolean {
  const { local, domain } = partsOf(text);
  if (!LOCAL.test(local) || Buffer.byteLength(local) > LOCAL_MAX_BYTES) return false;
  const ascii = asciiOf(domain);
  return DOMAIN.test(ascii) && Buffer.byteLength(local) + 1 + ascii.length <= ADDRESS_MAX_BYTES;
}

/**
 * Returns the address in the form in which it is stored and compared: composed characters, and a
 * domain beyond ASCII by its letters, though it came as `xn--`. A text without `@` stays.
 */
export function normalizeAddress(text: string): string {
  if (!text.includes('@')) return text;
  const { local, domain } = partsOf(text.normalize('NFC'));
  const ascii = asciiOf(domain);
  const isPlain = ascii === '' || ascii === domain.toLowerCase();
  const isEncoded = /(?:^|\.)xn--/i.test(ascii);
  return isPlain && !isEncoded ? `${local}@${domain}` : `${local}@${domainToUnicode(ascii)}`;
}

/** Empty if it is no domain. */
function asciiOf(domain: string): string {
  return NOT_OF_DOMAINS.test(domain) ? '' : domainToASCII(domain);
}

function partsOf(text: string): { readonly local: string; readonly domain: string } {
  const at = text.lastIndexOf('@');
  return { local: text.slice(0, Math.max(0, at)), domain: text.slice(at + 1) };
}
