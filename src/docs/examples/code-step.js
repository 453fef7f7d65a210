const crypto = require('crypto');

// The Input Data of the step: the raw body, the header Svc-Signature, and the secret.
const { body, signature, secret } = inputData;
if (!secret) throw new Error('There is no secret.');
const [, t = '0'] = /t=(\d+)/.exec(signature) ?? [];
const expected = crypto.createHmac('sha256', secret).update(`${t}.${body}`).digest();
const isGenuine = [...signature.matchAll(/v1=([0-9a-f]{64})/g)].some(([, v1]) =>
  crypto.timingSafeEqual(Buffer.from(v1, 'hex'), expected),
);
// An error ends the run, so that no later step acts.
if (!isGenuine) throw new Error('Not sent by the Team Customer API.');
if (Math.abs(Date.now() / 1000 - Number(t)) > 300) throw new Error('Too old.');
const event = JSON.parse(body);
output = { id: event.id, type: event.type, ...event.data };
