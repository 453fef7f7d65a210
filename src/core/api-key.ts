import { hash, randomBytes } from 'node:crypto';

const FORM = /^svck_live_([0-9A-Za-z]{8,32})_([0-9A-Za-z]{20,100})$/;

/** Makes a new key. Store only `prefix` and `secretHash`, and show `key` once. */
export function makeApiKey(): { key: string; prefix: string; secretHash: Buffer } {
  const prefix = randomBytes(8).toString('hex');
  const secret = randomBytes(32).toString('hex');
  return { key: `svck_live_${prefix}_${secret}`, prefix, secretHash: hashSecret(secret) };
}

/** Returns the two parts of a key, or null if the text does not have the form of a key. */
export function parseApiKey(text: string): { prefix: string; secret: string } | null {
  const match = FORM.exec(text);
  return match?.[1] && match[2] ? { prefix: match[1], secret: match[2] } : null;
}

/**
 * Hashes the secret part of a key for storage. A plain SHA-256 is enough, because a secret of 256
 * random bits cannot be guessed.
 */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
