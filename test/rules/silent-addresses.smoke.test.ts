// A name with several addresses of which the first drops what is sent to it.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { createSender } from '../../src/delivery/sender.ts';
import { AUTHORITY, GOOD, KEY } from '../support/certificates.ts';
import { startReceiver } from '../support/receiver.ts';

const [SILENT, CLOSED, LISTENS] = ['127.0.0.2', '127.0.0.3', '127.0.0.1'];
const TIMEOUT_MS = 2_000;

beforeAll(() => {
  const known = getCACertificates('default');
  setDefaultCACertificates([...known, AUTHORITY]);
  return () => setDefaultCACertificates(known);
});

/** Listens and never accepts: its thread sleeps. */
const SLEEPING_SERVER = `
  const { createServer } = require('node:net');
  const { parentPort, workerData } = require('node:worker_threads');
  createServer().listen({ ...workerData, backlog: 1 }, () => {
    parentPort.postMessage('listens');
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
  });
`;

/** Lets the address drop every new connection: its queue of those not accepted is full. */
async function silence(host: string, port: number): Promise<void> {
  const worker = new Worker(SLEEPING_SERVER, { eval: true, workerData: { host, port } });
  onTestFinished(() => void worker.terminate());
  await once(worker, 'message');
  const sockets: Socket[] = [];
  onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
  // A queue of one has room for two. The others are dropped.
  for (let count = 0; count < 4; count += 1) sockets.push(connect(port, host));
  await Promise.all(sockets.slice(0, 2).map((socket) => once(socket, 'connect')));
}

test.each([
  ['http', 'second', [SILENT, LISTENS]],
  ['https', 'second', [SILENT, LISTENS]],
  ['http', 'third', [SILENT, CLOSED, LISTENS]],
])('with %s, the %s address gets the event within the time limit', async (scheme, _which, to) => {
  const receiver = await startReceiver(scheme === 'https' ? { cert: GOOD, key: KEY } : undefined);
  await silence(SILENT, receiver.port);
  const sender = createSender({
    allowPrivateTargets: true,
    lookup: async () => to.map((address) => ({ address, family: 4 })),
    timeoutMs: TIMEOUT_MS,
  });
  onTestFinished(() => sender.close());
  const url = `${scheme}://receiver.test:${receiver.port}/`;
  expect(await sender.send(url, {}, 'x')).toMatchObject({ ok: true, error: null });
  // The connection that came about is kept.
  expect(await sender.send(url, {}, 'x')).toMatchObject({ ok: true, error: null });
  expect([receiver.requests.length, receiver.connections()]).toEqual([2, 1]);
});

test('an attempt is a timeout if no address says anything', async () => {
  const receiver = await startReceiver();
  await silence(SILENT, receiver.port);
  const sender = createSender({
    allowPrivateTargets: true,
    lookup: async () => [SILENT, CLOSED].map((address) => ({ address, family: 4 })),
    timeoutMs: TIMEOUT_MS,
  });
  onTestFinished(() => sender.close());
  const url = `http://receiver.test:${receiver.port}/`;
  expect(await sender.send(url, {}, 'x')).toMatchObject({ ok: false, error: 'timeout' });
});
