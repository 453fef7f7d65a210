import { hash, randomBytes } from 'node:crypto';
import type { Mode } from './sandbox.ts';

/**
 * The prefix of a test key begins with `t`, which is no hexadecimal digit, and that of a live key
 * never does. Constraints of the database hold the prefix to the kind of its team, so a key whose
 * word and prefix agree opens no team of the other kind.
 */
const TEST_MARK = 't';
const LIVE = 'live_(?<live>(?!t)[0-9A-Za-z]{8,32})';
const TEST = 'test_(?<test>t[0-9A-Za-z]{7,31})';
const FORM = new RegExp(`^svck_(?:${LIVE}|${TEST})_(?<secret>[0-9A-Za-z]{20,100})$`);

/** Makes a new key. Store only `prefix` and `secretHash`, and show `key` once. */
export function makeApiKey(mode: Mode): { key: string; prefix: string; secretHash: Buffer } {
  const prefix = (mode === 'test' ? TEST_MARK : '') + randomBytes(8).toString('hex');
  const secret = randomBytes(32).toString('hex');
  return { key: `svck_${mode}_${prefix}_${secret}`, prefix, secretHash: hashSecret(secret) };
}

/** Which kind of team a key with this prefix opens. */
export function modeOfPrefix(prefix: string): Mode {
  return prefix.startsWith(TEST_MARK) ? 'test' : 'live';
}

/** Returns the two parts of a key, or null if the text does not have the form of a key. */
export function parseApiKey(text: string): { prefix: string; secret: string } | null {
  const { live, test, secret } = FORM.exec(text)?.groups ?? {};
  const prefix = live ?? test;
  return prefix && secret ? { prefix, secret } : null;
}

/**
 * Hashes the secret part of a key for storage. A plain SHA-256 is enough, because a secret of 256
 * random bits cannot be guessed.
 */
export function hashSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
