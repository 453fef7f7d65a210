import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';

const secret = process.env.WEBHOOK_SECRET;
if (!secret) throw new Error('WEBHOOK_SECRET is missing');

createServer(async (request, response) => {
  const body = await buffer(request);
  if (!isGenuine(String(request.headers['svc-signature']), body)) {
    response.writeHead(400).end();
    return;
  }
  const event = JSON.parse(body.toString());
  console.log(event.type, event.data);
  response.writeHead(204).end();
}).listen(4000);

function isGenuine(signature, body) {
  const [, t] = /^t=(\d+)/.exec(signature) ?? [];
  if (!t || Math.abs(Date.now() / 1000 - Number(t)) > 300) return false;
  const expected = createHmac('sha256', secret).update(`${t}.`).update(body).digest();
  // There are two while a secret is being changed.
  return [...signature.matchAll(/v1=([0-9a-f]{64})/g)].some(([, v1]) =>
    timingSafeEqual(expected, Buffer.from(v1, 'hex')),
  );
}
