import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';

const secret = process.env.WEBHOOK_SECRET;
if (!secret) throw new Error('WEBHOOK_SECRET is missing');

createServer(async (request, response) => {
  try {
    const body = await buffer(request);
    const genuine = isGenuine(String(request.headers['svc-signature']), body);
    if (genuine) console.log(JSON.parse(body.toString()));
    response.writeHead(genuine ? 204 : 400).end();
  } catch (error) {
    // For instance, the sender hung up.
    console.error(error);
    response.writeHead(500).end();
  }
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
