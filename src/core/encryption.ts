import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  randomBytes,
  type KeyObject,
} from 'node:crypto';

/**
 * The secrets that values are encrypted with. `current` (APP_SECRET) encrypts and decrypts,
 * `previous` (APP_SECRET_PREVIOUS) only decrypts.
 */
export interface AppSecrets {
  readonly current: string;
  readonly previous: string | null;
}

const VERSION = 1;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const keys = new Map<string, KeyObject>();

/**
 * Encrypts with AES-256-GCM, with a key derived from the secret. `context` names the table, column
 * and row of the value. It is authenticated together with the value, so a stored value cannot be
 * moved to another row.
 */
export function encrypt(text: string, appSecret: string, context: string): Buffer<ArrayBuffer> {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', keyOf(appSecret), iv).setAAD(Buffer.from(context));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([Buffer.from([VERSION]), iv, cipher.getAuthTag(), sealed]);
}

/**
 * Decrypts a value. Throws if neither secret encrypted it, or if it was encrypted for another
 * context.
 */
export function decrypt(sealed: Buffer, secrets: AppSecrets, context: string): string {
  try {
    return open(sealed, secrets.current, context);
  } catch (error) {
    if (secrets.previous === null) throw error;
    return open(sealed, secrets.previous, context);
  }
}

/**
 * Encrypts a value again with the current secret. Returns null if the current secret encrypted it.
 * Throws like `decrypt`.
 */
export function reencrypt(sealed: Buffer, secrets: AppSecrets, context: string): Buffer | null {
  if (opens(sealed, { current: secrets.current, previous: null }, context)) return null;
  return encrypt(decrypt(sealed, secrets, context), secrets.current, context);
}

/** Whether one of the secrets encrypted the value: GCM authenticates, so no other can open it. */
export function opens(sealed: Buffer, secrets: AppSecrets, context: string): boolean {
  try {
    decrypt(sealed, secrets, context);
    return true;
  } catch {
    return false;
  }
}

function open(sealed: Buffer, appSecret: string, context: string): string {
  if (sealed[0] !== VERSION) throw new Error('unknown encryption version');
  const iv = sealed.subarray(1, 1 + IV_BYTES);
  const tag = sealed.subarray(1 + IV_BYTES, 1 + IV_BYTES + TAG_BYTES);
  // With the length given, a value that was cut short is refused, not checked by a shorter tag.
  const options = { authTagLength: TAG_BYTES };
  const decipher = createDecipheriv('aes-256-gcm', keyOf(appSecret), iv, options)
    .setAAD(Buffer.from(context))
    .setAuthTag(tag);
  return Buffer.concat([
    decipher.update(sealed.subarray(1 + IV_BYTES + TAG_BYTES)),
    decipher.final(),
  ]).toString('utf8');
}

/**
 * Derives the key of a secret, once: the same secret always gives the same key. As a `KeyObject`,
 * because a key that is given as bytes is imported for each value (13 µs instead of 4).
 */
function keyOf(appSecret: string): KeyObject {
  const known = keys.get(appSecret);
  if (known) return known;
  const bytes = hkdfSync('sha256', appSecret, '', 'team-customer-api encryption', 32);
  const key = createSecretKey(Buffer.from(bytes));
  keys.set(appSecret, key);
  return key;
}
