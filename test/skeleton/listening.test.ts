// How the API process accepts connections on its port.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { listen } from '../../src/runtime/listening.ts';
import { nextTurn } from '../support/turns.ts';

const HOST = '127.0.0.1';

async function serve(port = 0) {
  const server = createServer();
  const told: number[] = [];
  const turnAway = (): never => expect.fail('a connection was turned away');
  const options = { port, host: HOST, turnAway };
  const listening = await listen(server, options, (prepared) => told.push(prepared));
  onTestFinished(async () => {
    server.closeAllConnections();
    await listening.close();
  });
  return { server, listening, told };
}

function open(port: number, localAddress = HOST) {
  const socket = connect({ port, host: HOST, localAddress });
  onTestFinished(() => void socket.destroy());
  return socket;
}

test.runIf(process.platform === 'linux')(
  'behind hundreds of new connections of another address, one waits for few turns',
  async () => {
    const { server, listening } = await serve();
    let hasBegun = false;
    server.on('connection', (socket) => (hasBegun ||= socket.remoteAddress === HOST));
    for (let count = 0; count < 320; count += 1) open(listening.port, '127.0.0.2');
    open(listening.port);
    let turns = 0;
    for (; !hasBegun; turns += 1) await nextTurn();
    expect(turns).toBeLessThan(100);
  },
);

test('a response comes on each of many connections', async () => {
  const { server, listening, told } = await serve();
  server.on('request', (_request, response) => response.end('ok'));
  const url = `http://${HOST}:${listening.port}/`;
  const ask = async () => (await fetch(url, { headers: { connection: 'close' } })).text();
  const answers = await Promise.all(Array.from({ length: 64 }, ask));
  expect(new Set(answers)).toEqual(new Set(['ok']));
  expect(told).toEqual([listening.port]);
});

test('a port that is listened on in the same way is refused', async () => {
  const { listening } = await serve();
  await expect(serve(listening.port)).rejects.toMatchObject({ code: 'EADDRINUSE' });
});

test('a port is free again after it was closed', async () => {
  const { listening } = await serve();
  await listening.close();
  await expect(once(open(listening.port), 'connect')).rejects.toMatchObject({
    code: 'ECONNREFUSED',
  });
  expect((await serve(listening.port)).listening.port).toBe(listening.port);
});

test('closing waits for the connections that were accepted, and leaves them open', async () => {
  const { server, listening } = await serve();
  server.on('request', (_request, response) => response.end('ok'));
  const sockets = [];
  for (let count = 0; count < 32; count += 1) {
    sockets.push(open(listening.port));
    await once(server, 'connection');
  }
  const closed = listening.close();
  for (const socket of sockets)
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  const received = await Promise.all(sockets.map(async (socket) => text(socket)));
  expect(new Set(received.map((each) => each.slice(-2)))).toEqual(new Set(['ok']));
  await closed;
});
