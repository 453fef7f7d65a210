import Stripe from 'stripe';

/**
 * Returns the event, or throws if the delivery is not genuine.
 *
 * @param {string} rawBody
 * @param {import('node:http').IncomingHttpHeaders} headers
 * @param {string} secret the secret of the webhook endpoint, as it was shown
 * @returns {unknown}
 */
export function verifyDelivery(rawBody, headers, secret) {
  return Stripe.webhooks.constructEvent(rawBody, String(headers['svc-signature']), secret);
}
