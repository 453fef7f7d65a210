/** The header `Authorization` of a request. */
import { hash } from 'node:crypto';
import { hashSecret, parseApiKey } from '../../../core/api-key.ts';

/** Compared when there is no key, so that a missing key takes the same steps as a wrong one. */
const NO_SECRET = hashSecret('');

/** What a request proves its key with. Without a key, the prefix is null. */
export interface Credential {
  readonly keyPrefix: string | null;
  /** SHA-256 of the hash of the key's secret and the nonce. */
  readonly proof: Buffer;
}

/** Reads a header `Authorization`. `nonce` are random bytes that only this process knows. */
export function readCredential(authorization: string | null, nonce: Buffer): Credential {
  const key = parseApiKey(bearerTokenOf(authorization) ?? '');
  const secretHash = key ? hashSecret(key.secret) : NO_SECRET;
  return {
    keyPrefix: key?.prefix ?? null,
    proof: hash('sha256', Buffer.concat([secretHash, nonce]), 'buffer'),
  };
}

const SEND_IT = 'Send it as "Authorization: Bearer svck_live_…" or svck_test_….';
/** Why headers hold no key, with what the answer says of it. */
const NO_KEY = {
  no_key: `The API key is missing. ${SEND_IT}`,
  several_keys: 'There is more than one header Authorization.',
  malformed: `The API key is malformed. ${SEND_IT}`,
} as const;

/**
 * Reads what may be shown of the headers `Authorization`: the public part of a key that has the
 * right form, or why there is none.
 */
export function readKey(
  headers: readonly string[] | undefined,
):
  | { readonly keyPrefix: string; readonly fault: null }
  | { readonly keyPrefix: null; readonly fault: keyof typeof NO_KEY } {
  const [header = '', ...others] = headers ?? [];
  if (others.length > 0) return { keyPrefix: null, fault: 'several_keys' };
  if (header === '') return { keyPrefix: null, fault: 'no_key' };
  const key = parseApiKey(bearerTokenOf(header) ?? '');
  return key ? { keyPrefix: key.prefix, fault: null } : { keyPrefix: null, fault: 'malformed' };
}

/**
 * Says what is wrong with the headers `Authorization` of a request without a valid key. It tells
 * nothing about a key that has the right form.
 */
export function describeRefusal(headers: readonly string[] | undefined): string {
  const { fault } = readKey(headers);
  return fault === null ? 'The API key is not valid, or not from this address.' : NO_KEY[fault];
}

/** The token of a header `Authorization: Bearer …`, or null. */
export function bearerTokenOf(authorization: string | null | undefined): string | null {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? null;
}
