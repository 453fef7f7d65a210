// What a receiver may send below its answer, while and after the connection is encrypted.
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import {
  closeConnections,
  connect,
  newConnections,
  routeTo,
} from '../../src/delivery/connections.ts';
import { createSender, type Sender } from '../../src/delivery/sender.ts';
import {
  AUTHORITY,
  EXPIRED,
  GOOD,
  KEY,
  OF_ANOTHER_NAME,
  SELF_SIGNED,
} from '../support/certificates.ts';
import { changeKeys } from '../support/key-updates.ts';
import { startReceiver, status } from '../support/receiver.ts';
import { until } from '../support/until.ts';

beforeAll(() => {
  const known = getCACertificates('default');
  setDefaultCACertificates([...known, AUTHORITY]);
  return () => setDefaultCACertificates(known);
});

function newSender(timeoutMs = 60_000): Sender {
  const lookup = async () => [{ address: '127.0.0.1', family: 4 }];
  // No connection is closed because it is not used.
  const keepAliveMs = 600_000;
  const sender = createSender({ allowPrivateTargets: true, lookup, timeoutMs, keepAliveMs });
  onTestFinished(() => sender.close());
  return sender;
}

/** The alert `protocol_version` (RFC 8446, 6): the server speaks no version of the client's. */
const TOO_OLD = Buffer.from([0x15, 0x03, 0x01, 0x00, 0x02, 0x02, 0x46]);

/** Resolves with the URL of a server that does this with its first connection. */
async function listen(connected: (socket: Socket) => void): Promise<string> {
  const server = createServer(connected).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return `https://receiver.test:${(server.address() as AddressInfo).port}/`;
}

describe('a chain of certificates', () => {
  const sendTo = async (certificates: number) => {
    const chain = GOOD + AUTHORITY.repeat(certificates - 1);
    const receiver = await startReceiver({ cert: chain, key: KEY });
    const { error } = await newSender().send(`${receiver.url}/`, {}, '');
    return { error, connections: receiver.connections() };
  };

  test('may be 20 KB long', async () => {
    expect(await sendTo(60)).toEqual({ error: null, connections: 1 });
  });

  test('is not checked if it is longer than 24 KB', async () => {
    expect(await sendTo(75)).toEqual({ error: 'tls_error', connections: 0 });
  });
});

describe('a certificate that is not valid', () => {
  test.each([
    ['nobody knows its issuer', SELF_SIGNED, 'tls_unknown_issuer'],
    ['it has expired', EXPIRED, 'tls_certificate_expired'],
    ['it is for another name', OF_ANOTHER_NAME, 'tls_wrong_name'],
  ])('is told by its reason: %s', async (_what, cert, error) => {
    const receiver = await startReceiver({ cert, key: KEY });
    expect(await newSender().send(`${receiver.url}/`, {}, '')).toMatchObject({ error });
  });
});

test.each([
  ['speaks TLS 1.1 only', 'TLSv1.1', 'tls_version'],
  ['speaks no TLS', null, 'tls_error'],
] as const)('a server that %s is told by its reason', async (_what, version, error) => {
  const url = await listen((socket) => {
    socket.once('data', () => socket.end(version === null ? 'HTTP/1.1 400\r\n\r\n' : TOO_OLD));
  });
  expect(await newSender().send(url, {}, '')).toMatchObject({ error });
});

/** TLS 1.2 with `DHE-RSA-` and AES or ChaCha20, by number. */
const WITH_A_PRIME = [0x33, 0x39, 0x67, 0x6b, 0x9e, 0x9f, 0xccaa];

test('no cipher is offered for which the server chooses a prime', async () => {
  let hello: Buffer | null = null;
  const url = await listen((socket) => {
    socket.once('data', (chunk) => {
      hello = chunk;
      socket.destroy();
    });
  });
  await newSender().send(url, {}, '');
  expect(ciphersOf(hello)).toContain(0xc02f);
  expect(ciphersOf(hello).filter((cipher) => WITH_A_PRIME.includes(cipher))).toEqual([]);
});

/** The ciphers of a ClientHello (RFC 8446, 4.1.2). */
function ciphersOf(hello: Buffer | null): number[] {
  if (!hello) throw new Error('no ClientHello');
  // Before it stand the record, the message, the version and 32 random bytes.
  const start = 44 + hello.readUInt8(43);
  const count = hello.readUInt16BE(start) / 2;
  return Array.from({ length: count }, (_, index) => hello.readUInt16BE(start + 2 + 2 * index));
}

test('a name with a dot at its end is told to the server without it', async () => {
  const receiver = await startReceiver({ cert: GOOD, key: KEY });
  const { port } = receiver;
  const names: unknown[] = [];
  receiver.on('/', (response, _request, socket) => {
    names.push((socket as TLSSocket).servername);
    response.end();
  });
  const sent = await newSender().send(`https://receiver.test.:${port}/`, {}, '');
  expect(sent).toMatchObject({ ok: true });
  expect(names).toEqual(['receiver.test']);
});

describe('a server that changes its key without end', () => {
  test('instead of its answer is left', async () => {
    const url = await listen((socket) => changeKeys(socket, ''));
    expect(await newSender().send(url, {}, '')).toMatchObject({ error: 'invalid_response' });
  });

  test('after its answer is left, too', async () => {
    let connection: Socket | null = null;
    const url = await listen((socket) => {
      connection = socket;
      changeKeys(socket, 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    });
    expect(await newSender().send(url, {}, '')).toMatchObject({ ok: true });
    await until(() => connection?.destroyed);
    expect(connection).toMatchObject({ destroyed: true });
  });
});

test('an error after the end of a connection breaks nothing', async () => {
  const receiver = await startReceiver({ cert: GOOD, key: KEY });
  const connections = newConnections(5_000, 600_000);
  onTestFinished(() => closeConnections(connections));
  const address = { address: '127.0.0.1', family: 4 } as const;
  const connection = connect(connections, routeTo(connections, receiver.url, [address]));
  await connection.client.request({ method: 'POST', path: '/' });
  const { below, socket } = connection;
  const broken: Error[] = [];
  const note = (error: Error) => broken.push(error);
  process.on('uncaughtExceptionMonitor', note);
  onTestFinished(() => void process.off('uncaughtExceptionMonitor', note));
  const reset = () => Object.assign(new Error('reset'), { code: 'ECONNRESET' });
  // As Node does it, if a write fails a turn after the connection has closed.
  below?.once('close', () => socket?.destroy(reset()));
  below?.destroy(reset());
  await until(() => socket?.closed);
  await new Promise(setImmediate);
  expect(broken).toEqual([]);
});

test('each request on a kept connection may have an answer of its own', async () => {
  const receiver = await startReceiver({ cert: GOOD, key: KEY });
  receiver.on('/', (response) => response.setHeader('x-long', 'x'.repeat(12_000)).end('ok'));
  const sender = newSender();
  for (let n = 0; n < 8; n += 1)
    expect(await sender.send(`${receiver.url}/`, {}, '')).toMatchObject({ ok: true });
  expect(receiver.connections()).toBe(1);
});

test('a long answer counts, although its end is not read', async () => {
  const receiver = await startReceiver({ cert: GOOD, key: KEY });
  const long = { 'x-long': 'x'.repeat(12_000) };
  receiver.on('/', status(200, 'y'.repeat(3_000_000), long));
  const sender = newSender();
  for (let n = 0; n < 8; n += 1)
    expect(await sender.send(`${receiver.url}/`, {}, '')).toMatchObject({
      ok: true,
      responseExcerpt: 'y'.repeat(1_000),
    });
});

test('a receiver that reads slowly gets the whole body', async () => {
  const receiver = await startReceiver({ cert: GOOD, key: KEY });
  const body = 'x'.repeat(2_000_000);
  expect(await newSender().send(`${receiver.url}/`, {}, body)).toMatchObject({ ok: true });
  expect(receiver.requests.map((request) => request.body.length)).toEqual([body.length]);
});

test('a connection whose handshake never ends is closed', async () => {
  let connection: Socket | null = null;
  const url = await listen((socket) => {
    connection = socket.resume();
  });
  expect(await newSender(100).send(url, {}, '')).toMatchObject({ error: 'timeout' });
  await until(() => connection?.destroyed);
  expect(connection).toMatchObject({ destroyed: true });
});
