/**
 * Seals a secret for a link, and opens it again. The link holds a random text. Two things are
 * derived from it: the key that the secret is encrypted with, and the opener, which the service
 * asks for before it gives what it keeps. The service knows a hash of the opener until then. It
 * never gets what the key is derived from (`features/handovers/rules.ts`).
 */
const SECRET_BYTES = 32;
const NONCE_BYTES = 12;
const BITS = 256;

/** What is handed over. */
export interface Content {
  readonly secret: string;
  /** The name of the key or the URL of the endpoint, so that the reader knows which one it is. */
  readonly name: string;
  /** Left out: a key. */
  readonly kind?: 'key' | 'endpoint' | undefined;
}

/** What may be sealed is limited, and the beginning of a URL names the endpoint. */
const URL_MAX_CHARACTERS = 140;

/** The signing secret of a webhook endpoint, to be sealed. */
export function contentOf({
  url,
  secret,
}: {
  readonly url: string;
  readonly secret: string;
}): Content {
  const isLong = url.length > URL_MAX_CHARACTERS;
  const name = isLong ? `${url.slice(0, URL_MAX_CHARACTERS - 1)}…` : url;
  return { secret, name, kind: 'endpoint' };
}

/** A sealed secret. Only `secret` must stay in the browser, and in the link. */
export interface Sealed {
  readonly secret: string;
  readonly id: string;
  readonly sealed: string;
}

/** Whether the browser can do it: it needs HTTPS, or this machine. */
export function canSeal(): boolean {
  return globalThis.crypto?.subtle !== undefined;
}

/** Seals the content for a new link. */
export async function seal(content: Content): Promise<Sealed> {
  const secret = toText(crypto.getRandomValues(new Uint8Array(SECRET_BYTES)));
  const nonce = crypto.getRandomValues(new Uint8Array(NONCE_BYTES));
  const encrypted = await crypto.subtle.encrypt(
    { name: 'AES-GCM', iv: nonce },
    await keyOf(secret),
    new TextEncoder().encode(JSON.stringify(content)),
  );
  return {
    secret,
    id: await hashOf(await openerOf(secret)),
    sealed: toText(new Uint8Array([...nonce, ...new Uint8Array(encrypted)])),
  };
}

/** The SHA-256 of a text, as base64url. */
export async function hashOf(text: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return toText(new Uint8Array(hash));
}

/** What the service asks for. Nothing else can be derived from it. */
export async function openerOf(secret: string): Promise<string> {
  const bits = await crypto.subtle.deriveBits(derivation('opener'), await sourceOf(secret), BITS);
  return toText(new Uint8Array(bits));
}

/** Opens what the service has given. Throws if it was not sealed for this link. */
export async function unseal(secret: string, sealed: string): Promise<Content> {
  const bytes = toBytes(sealed);
  const opened = await crypto.subtle.decrypt(
    { name: 'AES-GCM', iv: bytes.slice(0, NONCE_BYTES) },
    await keyOf(secret),
    bytes.slice(NONCE_BYTES),
  );
  const content = JSON.parse(new TextDecoder().decode(opened)) as Partial<Content>;
  // Whoever makes a link by another program may seal anything.
  return {
    secret: String(content.secret),
    name: String(content.name),
    ...(content.kind === 'endpoint' && { kind: 'endpoint' }),
  };
}

/** The part of a link after `#`: browsers do not send it. */
export function fragmentOf(teamId: string, secret: string): string {
  return `${encodeURIComponent(teamId)}.${secret}`;
}

/** Reads that part. null: something of the link is missing. */
export function readFragment(text: string): { teamId: string; secret: string } | null {
  const [, team, secret] = /^#?([^#]+)\.([\w-]{43})$/.exec(text) ?? [];
  if (team === undefined || secret === undefined) return null;
  try {
    return { teamId: decodeURIComponent(team), secret };
  } catch {
    return null;
  }
}

async function keyOf(secret: string): Promise<CryptoKey> {
  const cipher = { name: 'AES-GCM', length: BITS };
  const uses = ['encrypt', 'decrypt'] as const;
  return crypto.subtle.deriveKey(derivation('key'), await sourceOf(secret), cipher, false, uses);
}

function sourceOf(secret: string): Promise<CryptoKey> {
  const uses = ['deriveBits', 'deriveKey'] as const;
  return crypto.subtle.importKey('raw', toBytes(secret), 'HKDF', false, uses);
}

/** The link's text is random, so it needs no salt. */
function derivation(purpose: 'key' | 'opener') {
  const info = new TextEncoder().encode(`handover ${purpose}`);
  return { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info };
}

function toText(bytes: Uint8Array): string {
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

function toBytes(text: string): Uint8Array<ArrayBuffer> {
  const base64 = text.replaceAll('-', '+').replaceAll('_', '/');
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}
