/** For receivers of webhooks anywhere: Node, Deno, Bun, browsers, workers. It uses Web Crypto. */
import {
  acceptDelivery,
  readDelivery,
  WebhookVerificationError,
  type WebhookEvent,
  type WebhookHeaders,
  type WebhookVerificationOptions,
} from './webhook-delivery.ts';

const HMAC = { name: 'HMAC', hash: 'SHA-256' } as const;

/**
 * Resolves with the event if the delivery is genuine and fresh. Wait for it: until then nothing is
 * verified.
 *
 * `rawBody` is the body as received, before any parsing. `secret` is the secret of the webhook
 * endpoint, including `whsec_`. The signature is compared in constant time, before the body is
 * parsed. If there are several `v1`, one must match.
 *
 * Rejects with a {@link WebhookVerificationError}, or with a `TypeError` for a wrong call (a parsed
 * body, no secret); no delivery can cause that.
 */
export async function verifyWebhook(
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string,
  options: WebhookVerificationOptions = {},
): Promise<WebhookEvent> {
  const { t, candidates } = readDelivery(rawBody, headers, secret);
  const { subtle } = crypto;
  const key = await subtle.importKey('raw', encode(secret), HMAC, false, ['verify']);
  const signed = concat(encode(`${t}.`), typeof rawBody === 'string' ? encode(rawBody) : rawBody);
  for (const candidate of candidates)
    if (await subtle.verify('HMAC', key, fromHex(candidate), signed))
      return acceptDelivery(t, rawBody, options);
  throw new WebhookVerificationError('signature_mismatch');
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

function fromHex(hex: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
}
