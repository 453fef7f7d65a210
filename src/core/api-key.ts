import { hash, randomBytes } from 'node:crypto';

const FORM = /^svck_live_([0-9A-Za-z]{8,32})_([0-9A-Za-z]{20,100})$/;

/** A new key. Only `prefix` and `secretHash` are stored; `key` is shown once. */
export function makeApiKey(): { key: string; prefix: string; secretHash: Buffer } {
  const prefix = randomBytes(8).toString('hex');
  const secret = randomBytes(32).toString('hex');
  return { key: `svck_live_${prefix}_${secret}`, prefix, secretHash: hashSecret(secret) };
}

/** The two parts of a well-formed key, or null. */
export function parseApiKey(text: string): { prefix: string; secret: string } | null {
  const match = FORM.exec(text);
  return match?.[1] && match[2] ? { prefix: match[1], secret: match[2] } : null;
}

/** What is stored of a key's secret part. A plain SHA-256 is enough: the secret has 256 random bits, so there is nothing to guess. */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
