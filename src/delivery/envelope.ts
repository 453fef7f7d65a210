import { createHmac } from 'node:crypto';

/** The parts of a delivery's body. */
export interface EnvelopeParts {
  readonly id: string;
  readonly type: string;
  /** ISO, UTC, milliseconds. */
  readonly createdAt: string;
  readonly apiVersion: string;
  readonly teamId: string;
  /**
   * The JSON text that was stored when the event happened. It goes into the body unchanged, so
   * every attempt sends the same bytes.
   */
  readonly data: string;
}

/** Returns the body of a delivery: the envelope with the data of the event. */
export function envelopeText({
  id,
  type,
  createdAt,
  apiVersion,
  teamId,
  data,
}: EnvelopeParts): string {
  const head = JSON.stringify({
    id,
    type,
    created_at: createdAt,
    api_version: apiVersion,
    tenant_id: teamId,
  });
  return `${head.slice(0, -1)},"data":${data}}`;
}

/** What is signed, and with what. */
export interface Signing {
  /** The endpoint's secret, and then earlier ones that are still valid. */
  readonly secrets: readonly string[];
  readonly eventId: string;
  /** The time of the attempt. */
  readonly at: Date;
}

/**
 * Returns the headers of an attempt. It is signed in two schemes, each time with every secret.
 *  * Ours, which Stripe's tools verify: the hex HMAC-SHA256 of `<t>.<body>`; the key is the text of
 *    the secret.
 *  * Standard Webhooks: the base64 HMAC-SHA256 of `<id>.<t>.<body>`; the key is the bytes that the
 *    secret encodes.
 */
export function deliveryHeaders(
  body: string,
  { secrets, eventId, at }: Signing,
): Record<string, string> {
  const t = Math.floor(at.getTime() / 1000);
  const ours = secrets.map((secret) => `v1=${hmac(secret, `${t}.${body}`, 'hex')}`);
  const standard = secrets.map(
    (secret) => `v1,${hmac(bytesOf(secret), `${eventId}.${t}.${body}`, 'base64')}`,
  );
  return {
    'content-type': 'application/json',
    'user-agent': 'TeamCustomerApi-Webhooks/1',
    'svc-signature': [`t=${t}`, ...ours].join(','),
    'svc-event-id': eventId,
    'webhook-id': eventId,
    'webhook-timestamp': String(t),
    'webhook-signature': standard.join(' '),
  };
}

function hmac(key: string | Buffer, text: string, encoding: 'hex' | 'base64'): string {
  return createHmac('sha256', key).update(text).digest(encoding);
}

/** Older secrets are base64url; Node reads both encodings. */
function bytesOf(secret: string): Buffer {
  return Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
}
