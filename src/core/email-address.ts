/** Addresses of persons, as RFC 5321 and RFC 6531 have them, without quotes and comments. */
import { domainToASCII, domainToUnicode } from 'node:url';

/** The form of an address that a seed may bring, and that a filter takes. */
export const ADDRESS_FORM = /^[^\s@]+@[^\s@]+$/;

const LOCAL_MAX_BYTES = 64;
/** Atoms with points between them. */
const LOCAL =
  /^[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+(?:\.[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u;
/** Two labels or more, as the name servers have them. The last one is no number. */
const DOMAIN =
  /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?!\d+$)[a-z0-9][a-z0-9-]{0,61}[a-z0-9]$/i;

/** Whether a mail can be sent there. */
export function isMailAddress(text: string): boolean {
  const { local, domain } = partsOf(text);
  if (!LOCAL.test(local) || Buffer.byteLength(local) > LOCAL_MAX_BYTES) return false;
  return DOMAIN.test(domainToASCII(domain));
}

/**
 * Returns the address in the form in which it is stored and compared: composed characters, and a
 * domain beyond ASCII by its letters, though it came as `xn--`. A text without `@` stays.
 */
export function normalizeAddress(text: string): string {
  if (!text.includes('@')) return text;
  const { local, domain } = partsOf(text.normalize('NFC'));
  const ascii = domainToASCII(domain);
  const isPlain = ascii === '' || ascii === domain.toLowerCase();
  const isEncoded = /(?:^|\.)xn--/i.test(ascii);
  return isPlain && !isEncoded ? `${local}@${domain}` : `${local}@${domainToUnicode(ascii)}`;
}

function partsOf(text: string): { readonly local: string; readonly domain: string } {
  const at = text.lastIndexOf('@');
  return { local: text.slice(0, Math.max(0, at)), domain: text.slice(at + 1) };
}
