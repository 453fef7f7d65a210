import { buffer } from 'node:stream/consumers';
import { verifyWebhook } from '@team-customer-api/client';

/** @import { WebhookEvent } from '@team-customer-api/client' */

/**
 * Responds to one delivery. In Express, call it before anything parses the body.
 *
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 * @param {string} secret the secret of the webhook endpoint, including `whsec_`
 * @param {(event: WebhookEvent) => Promise<void>} keep stores the event
 */
export async function receiveWebhook(request, response, secret, keep) {
  let event;
  try {
    event = await verifyWebhook(await buffer(request), request.headers, secret);
  } catch (error) {
    response.writeHead(400).end(String(error));
    return;
  }
  try {
    // Store it unless you know its id, and process it later.
    await keep(event);
    response.writeHead(204).end();
  } catch (error) {
    // The delivery comes again.
    console.error(error);
    response.writeHead(500).end();
  }
}
