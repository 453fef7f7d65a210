import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** `previous` still reads what it wrote (APP_SECRET_PREVIOUS); only `current` writes. */
export interface AppSecrets {
  readonly current: string;
  readonly previous: string | null;
}

const VERSION = 1;
const IV_BYTES = 12;
const TAG_BYTES = 16;
const keys = new Map<string, Buffer>();

/**
 * AES-256-GCM under a key derived from the application's secret. `context` names what the text belongs to (table, column and row) and is
 * authenticated with it, so that a stored value cannot be moved to another row.
 */
export function encrypt(text: string, appSecret: string, context: string): Buffer {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', keyOf(appSecret), iv).setAAD(Buffer.from(context));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([Buffer.from([VERSION]), iv, cipher.getAuthTag(), sealed]);
}

/** The text again. Throws when neither secret wrote it, or it was written for another context. */
export function decrypt(sealed: Buffer, secrets: AppSecrets, context: string): string {
  try {
    return open(sealed, secrets.current, context);
  } catch (error) {
    if (secrets.previous === null) throw error;
    return open(sealed, secrets.previous, context);
  }
}

/** The value as the current secret writes it; null when that one has written it already. Throws as `decrypt` does. */
export function reencrypt(sealed: Buffer, secrets: AppSecrets, context: string): Buffer | null {
  if (isWrittenBy(sealed, secrets.current, context)) return null;
  return encrypt(decrypt(sealed, secrets, context), secrets.current, context);
}

/** GCM authenticates: a value opens with the secret that wrote it, and with no other. */
function isWrittenBy(sealed: Buffer, appSecret: string, context: string): boolean {
  try {
    open(sealed, appSecret, context);
    return true;
  } catch {
    return false;
  }
}

function open(sealed: Buffer, appSecret: string, context: string): string {
  if (sealed[0] !== VERSION) throw new Error('unknown encryption version');
  const iv = sealed.subarray(1, 1 + IV_BYTES);
  const tag = sealed.subarray(1 + IV_BYTES, 1 + IV_BYTES + TAG_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', keyOf(appSecret), iv)
    .setAAD(Buffer.from(context))
    .setAuthTag(tag);
  return Buffer.concat([
    decipher.update(sealed.subarray(1 + IV_BYTES + TAG_BYTES)),
    decipher.final(),
  ]).toString('utf8');
}

/** Derived once per secret: a pure function's memory, not state. */
function keyOf(appSecret: string): Buffer {
  const known = keys.get(appSecret);
  if (known) return known;
  const key = Buffer.from(hkdfSync('sha256', appSecret, '', 'team-customer-api encryption', 32));
  keys.set(appSecret, key);
  return key;
}
