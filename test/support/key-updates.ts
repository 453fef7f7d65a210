// A TLS server that changes its key again and again. Node has no function for it, so the messages
// are made here (RFC 8446, 4.6.3, 5.2 and 7.2).
import { createCipheriv, createHmac } from 'node:crypto';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { GOOD, KEY } from './certificates.ts';

/** OpenSSL sends two tickets before anything else. */
const TICKETS = 2;
/** 216 KB: more than any answer may have. */
const UPDATES = 8_000;

/**
 * Answers the handshake on `raw` for `receiver.test`, and the first request with `answer`, or not
 * at all if that is empty. Then it changes the key until `raw` is gone.
 */
export function changeKeys(raw: Socket, answer: string): void {
  const server = new TLSSocket(raw, {
    isServer: true,
    cert: GOOD,
    key: KEY,
    minVersion: 'TLSv1.3',
    ciphers: 'TLS_AES_128_GCM_SHA256',
  });
  let secret: Buffer = Buffer.alloc(0);
  server.on('keylog', (line: Buffer) => {
    const [label, , hex = ''] = line.toString().trim().split(' ');
    if (label === 'SERVER_TRAFFIC_SECRET_0') secret = Buffer.from(hex, 'hex');
  });
  for (const socket of [raw, server]) socket.on('error', () => undefined);
  let sent = 0;
  const pour = (): void => {
    if (raw.destroyed || sent >= UPDATES) return;
    const updates = Array.from({ length: 100 }, () => {
      const update = keyUpdate(secret, sent === 0 ? TICKETS + (answer === '' ? 0 : 1) : 0);
      sent += 1;
      secret = expand(secret, 'traffic upd', 32);
      return update;
    });
    raw.write(Buffer.concat(updates));
    setImmediate(pour);
  };
  server.once('data', () => (answer === '' ? pour() : server.write(answer, pour)));
}

/** The record of a KeyUpdate message, the `number`th since the last change of the key. */
function keyUpdate(secret: Buffer, number: number): Buffer {
  const nonce = expand(secret, 'iv', 12);
  nonce.writeUInt8(nonce.readUInt8(11) ^ number, 11);
  const head = Buffer.from([23, 3, 3, 0, 22]);
  const cipher = createCipheriv('aes-128-gcm', expand(secret, 'key', 16), nonce).setAAD(head);
  const text = cipher.update(Buffer.from([24, 0, 0, 1, 0, 22]));
  return Buffer.concat([head, text, cipher.final(), cipher.getAuthTag()]);
}

function expand(secret: Buffer, label: string, bytes: number): Buffer {
  const named = Buffer.from(`tls13 ${label}`);
  const info = Buffer.concat([Buffer.from([0, bytes, named.length]), named, Buffer.from([0, 1])]);
  return createHmac('sha256', secret).update(info).digest().subarray(0, bytes);
}
