import { buffer } from 'node:stream/consumers';
import { verifyWebhook } from 'team-customer-api/webhook-verification';

/**
 * Answers one delivery. Behind Express, put it before anything that parses bodies.
 *
 * @param {import('node:http').IncomingMessage} request
 * @param {import('node:http').ServerResponse} response
 * @param {string} secret the endpoint's secret, `whsec_` included
 * @param {(event: import('team-customer-api/webhook-verification').WebhookEvent) => Promise<void>} keep
 */
export async function receiveWebhook(request, response, secret, keep) {
  let event;
  try {
    event = verifyWebhook(await buffer(request), request.headers, secret);
  } catch (error) {
    response.writeHead(400).end(String(error));
    return;
  }
  // Keep it, unless its id is known, and work on it later: an answer that takes more than 10 seconds is none.
  await keep(event);
  response.writeHead(204).end();
}
