import { createHmac, timingSafeEqual } from 'node:crypto';

const MAX_AGE_S = 300;

/**
 * Returns whether a delivery is genuine and recent.
 *
 * @param {string} secret the secret of the webhook endpoint, including `whsec_`
 * @param {string} signature the header `Svc-Signature`
 * @param {Buffer} rawBody the bytes of the body, before anything parses them
 */
export function isGenuine(secret, signature, rawBody) {
  const [, t, v1] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(signature) ?? [];
  if (t === undefined || v1 === undefined) return false;
  if (Math.abs(Date.now() / 1000 - Number(t)) > MAX_AGE_S) return false;
  const expected = createHmac('sha256', secret).update(`${t}.`).update(rawBody).digest();
  return timingSafeEqual(expected, Buffer.from(v1, 'hex'));
}
