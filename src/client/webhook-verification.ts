/**
 * For receivers of webhooks on Node that cannot wait: checks that a delivery is genuine and fresh,
 * and returns its event. All others use `verifyWebhook` of the client package. This one has another
 * name, because who takes one for the other would trust a promise: it is true before anything is
 * verified.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  acceptDelivery,
  readDelivery,
  WebhookVerificationError,
  type WebhookEvent,
  type WebhookHeaders,
  type WebhookVerificationOptions,
} from './webhook-delivery.ts';

export * from './webhook-delivery.ts';

/**
 * Returns the event if the delivery is genuine and fresh.
 *
 * `rawBody` is the body as received, before any parsing. `secret` is the secret of the webhook
 * endpoint, including `whsec_`. The signature is compared in constant time, before the body is
 * parsed. If there are several `v1`, one must match.
 *
 * Throws a {@link WebhookVerificationError}. Throws a `TypeError` for a wrong call (a parsed body,
 * no secret); no delivery can cause that.
 */
export function verifyWebhookSync(
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string,
  options: WebhookVerificationOptions = {},
): WebhookEvent {
  const { t, candidates } = readDelivery(rawBody, headers, secret);
  const expected = createHmac('sha256', secret).update(`${t}.`).update(rawBody).digest();
  const isGenuine = candidates.some((hex) => timingSafeEqual(Buffer.from(hex, 'hex'), expected));
  if (!isGenuine) throw new WebhookVerificationError('signature_mismatch');
  return acceptDelivery(t, rawBody, options);
}

/** @deprecated It is called `verifyWebhookSync`; `verifyWebhook` is that of the client package. */
export function verifyWebhook(...given: Parameters<typeof verifyWebhookSync>): WebhookEvent {
  return verifyWebhookSync(...given);
}
