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

/**
 * Says what is wrong with the headers `Authorization` of a request without a valid key. It tells
 * nothing about a key that has the right form.
 */
export function describeRefusal(headers: readonly string[] | undefined): string {
  const [header = '', ...others] = headers ?? [];
  if (others.length > 0) return 'There is more than one header Authorization.';
  if (header === '')
    return 'The API key is missing. Send it as "Authorization: Bearer svck_live_…" or svck_test_….';
  return parseApiKey(bearerTokenOf(header) ?? '')
    ? 'The API key is not valid, or not from this address.'
    : 'The API key is malformed. Send it as "Authorization: Bearer svck_live_…" or svck_test_….';
}

/** The token of a header `Authorization: Bearer …`, or null. */
export function bearerTokenOf(authorization: string | null | undefined): string | null {
  return /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? null;
}
