import { Webhook } from 'svix';

/**
 * Returns the event, or throws if the delivery is not genuine.
 *
 * @param {string} rawBody
 * @param {import('node:http').IncomingHttpHeaders} headers
 * @param {string} secret the secret of the webhook endpoint, as it was shown
 * @returns {unknown}
 */
export function verifyDelivery(rawBody, headers, secret) {
  return new Webhook(secret).verify(rawBody, /** @type {Record<string, string>} */ (headers));
}
