// What customers get from the load balancers of the runbook when no API process answers, or when
// somebody wants to keep them out: a problem as the API's own, which clients can read and repeat.
import { Agent, request, type IncomingMessage } from 'node:http';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findFreePort } from '../support/ports.ts';
import { isInstalled, startDeployedNginx, startHaproxy } from './balancers.ts';

const [hasHaproxy, hasNginx] = await Promise.all([isInstalled('haproxy'), isInstalled('nginx')]);

/** What a client reads of a response. Its id stands in a header and in the body. */
async function read(response: Response): Promise<Record<string, unknown>> {
  const header = (name: string) => response.headers.get(name);
  const { request_id: requestId, ...body } = (await response.json()) as { request_id: string };
  expect(requestId).toMatch(/^[\da-f-]{32,36}$/);
  expect(header('x-request-id')).toBe(requestId);
  return {
    status: response.status,
    type: header('content-type'),
    retryAfter: header('retry-after'),
    cache: header('cache-control'),
    body,
  };
}

/** Starts a process that is ready, and does this when a request comes. Resolves with its port. */
async function startReady(onRequest: (socket: Socket, head: string) => void): Promise<number> {
  const server = createServer((socket) => {
    socket.once('data', (data) => {
      if (data.includes('/readyz')) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      else onRequest(socket, data.toString());
    });
    socket.on('error', () => undefined);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Sends what no client of HTTP would send, in parts, and resolves with the response. */
async function readRaw(url: string, ...parts: (string | Promise<string>)[]): Promise<unknown> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  for (const part of parts) socket.write(await part);
  const text = Buffer.concat(await socket.toArray()).toString();
  const [head = '', body] = text.split('\r\n\r\n');
  const [line = '', ...fields] = head.split('\r\n');
  const headers = fields.map((field) => field.split(': ', 2) as [string, string]);
  return read(new Response(body, { status: Number(line.split(' ')[1]), headers }));
}

const problem = (status: number, code: string, title: string) => ({
  status,
  type: 'application/problem+json',
  retryAfter: status === 503 ? '5' : null,
  cache: 'no-store',
  body: { type: 'about:blank', title, status, code },
});

const CHUNKED = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n';
const UNAVAILABLE_503 = problem(503, 'unavailable', 'Temporarily unavailable');

describe.each([
  { name: 'haproxy.cfg', start: startHaproxy, has: hasHaproxy },
  { name: 'nginx.conf', start: startDeployedNginx, has: hasNginx },
])('$name', ({ start, has }) => {
  test.skipIf(!has)('says that the service is unavailable if no process answers', async () => {
    const { url } = await start([await findFreePort(), await findFreePort()]);
    expect(await read(await fetch(url))).toEqual(UNAVAILABLE_503);
    const posted = await fetch(url, { method: 'POST', body: '{}' });
    expect(await read(posted)).toEqual(UNAVAILABLE_503);
  });

  test.skipIf(!has)('says so if a process ends within a request', async () => {
    const port = await startReady((socket) => socket.destroy());
    const { url } = await start([port, await findFreePort()]);
    const posted = await fetch(url, { method: 'POST', body: '{}' });
    expect(await read(posted)).toEqual(UNAVAILABLE_503);
  });
});

describe.each([
  { name: 'haproxy.cfg', start: startHaproxy, has: hasHaproxy },
  { name: 'nginx.conf', start: startDeployedNginx, has: hasNginx },
])('$name sends to one process only', ({ start, has }) => {
  // The process may have done what it was asked for before it ended.
  test.skipIf(!has).for(['DELETE', 'PATCH', 'POST', 'PUT'])('a %s', async (method) => {
    const asked: string[] = [];
    const onRequest = (socket: Socket, head: string): void => {
      asked.push(head.split(' ')[0] ?? '');
      socket.destroy();
    };
    const { url } = await start([await startReady(onRequest), await startReady(onRequest)]);
    expect(await read(await fetch(`${url}/a?b=c`, { method }))).toEqual(UNAVAILABLE_503);
    expect(asked).toEqual([method]);
  });
});

// A token of the host application becomes a cookie, whatever its length.
test.skipIf(!hasNginx).for(['GET', 'POST', 'DELETE'])(
  'nginx.conf lets 12 KB of headers through in the answer to a %s',
  async (method) => {
    const answer = `HTTP/1.1 204 No Content\r\nSet-Cookie: ${'a'.repeat(12_000)}\r\n\r\n`;
    const { url } = await startDeployedNginx([await startReady((socket) => socket.end(answer))]);
    const { status, headers } = await fetch(url, { method });
    expect([status, headers.get('set-cookie')?.length]).toEqual([204, 12_000]);
  },
);

// From 1.29.7 on nginx keeps connections unless it is told not to; older ones say so in any case.
test.skipIf(!hasNginx)('nginx.conf keeps no connection to a process', async () => {
  const heads: string[] = [];
  const onRequest = (socket: Socket, head: string): void => {
    heads.push(head);
    socket.end('HTTP/1.1 204 No Content\r\n\r\n');
  };
  const { url } = await startDeployedNginx([await startReady(onRequest)]);
  await fetch(url);
  expect(heads).toEqual([expect.stringMatching(/^connection: close\r$/im)]);
});

/** Opens connections from each of these addresses and begins a request on each. */
async function flood(url: string, addresses: number, each: number): Promise<void> {
  const port = Number(new URL(url).port);
  const opened = Array.from({ length: addresses * each }, (_, number) => {
    const localAddress = `127.0.0.${2 + (number % addresses)}`;
    const socket = connect({ host: '127.0.0.1', port, localAddress });
    socket.on('error', () => undefined);
    socket.write('GET / HTTP/1.1\r\nX:');
    return socket;
  });
  onTestFinished(() => opened.forEach((socket) => socket.destroy()));
  await Promise.all(opened.map((socket) => once(socket, 'connect').catch(() => undefined)));
}

// HAProxy has 8,192 connections for all that it serves.
describe.skipIf(!hasHaproxy)('haproxy.cfg has connections left', () => {
  const statusOf = async (url: string): Promise<number> =>
    (await fetch(url, { signal: AbortSignal.timeout(5_000) })).status;

  test('for customers, if one address opens thousands', async () => {
    const { url } = await startHaproxy([await findFreePort(), await findFreePort()]);
    await flood(url, 1, 8500);
    // Of HAProxy itself: no process is there.
    expect(await statusOf(url)).toBe(503);
  });

  test('for Prometheus and for Postgres, if many addresses do', async () => {
    const metricsPort = await findFreePort();
    const ports = [await findFreePort(), await findFreePort()];
    const { url } = await startHaproxy(ports, metricsPort);
    await flood(url, 43, 198);
    expect(await statusOf(`http://127.0.0.1:${metricsPort}/metrics`)).toBe(200);
  });
});

// The API closes idle connections after five seconds, and one at its stop.
test.skipIf(!hasHaproxy)(
  'haproxy.cfg loses no request on a connection that is closed',
  async () => {
    const server = createServer((socket) => {
      socket.once('data', () => {
        // The next request and the end of the connection meet.
        socket.once('data', () => socket.destroy());
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      });
      socket.on('error', () => undefined);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const { url } = await startHaproxy([port, port]);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    const statuses = [];
    for (const path of ['/a', '/b', '/c']) {
      const asked = request(new URL(path, url), { agent, method: 'POST' }).end();
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      response.resume();
      await once(response, 'end');
      statuses.push(response.statusCode);
    }
    expect(statuses).toEqual([200, 200, 200]);
  },
);

// The others of HAProxy's own 400 and 408 cannot be replaced: haproxy.cfg says so.
test.skipIf(!hasHaproxy)(
  'haproxy.cfg refuses a malformed chunk behind the headers as the API does',
  async () => {
    const arrived = Promise.withResolvers<string>();
    const port = await startReady(() => arrived.resolve('ZZZ\r\n'));
    const { url } = await startHaproxy([port, await findFreePort()]);
    const refused = await readRaw(url, `${CHUNKED}1\r\na\r\n`, arrived.promise);
    expect(refused).toEqual(problem(400, 'bad_request', 'Bad request'));
  },
);

describe.skipIf(!hasNginx)('nginx.conf refuses as the API does', () => {
  test('a body that is too large', async () => {
    const { url } = await startDeployedNginx([await findFreePort()]);
    const response = await fetch(url, { method: 'POST', body: 'x'.repeat(2_200_000) });
    expect(await read(response)).toEqual(problem(413, 'bad_request', 'Bad request'));
  });

  test('a body that it cannot store', async () => {
    const { url, folder } = await startDeployedNginx([await findFreePort()]);
    await rm(join(folder, 'nginx-body'), { recursive: true });
    const response = await fetch(url, { method: 'POST', body: 'x'.repeat(200_000) });
    expect(await read(response)).toEqual(UNAVAILABLE_503);
  });

  test.for([
    ['what is not HTTP', 'GARBAGE\r\n\r\n'],
    ['a request without a host', 'GET / HTTP/1.1\r\n\r\n'],
    ['a header that is too large', `GET / HTTP/1.1\r\nHost: a\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`],
    ['an address that is too long', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: a\r\n\r\n`],
    ['another encoding', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n'],
    ['another version', 'GET / HTTP/3.0\r\nHost: a\r\nConnection: close\r\n\r\n'],
    ['a chunk without a length', `${CHUNKED}ZZZ\r\n`],
    ['a chunk that is longer than it says', `${CHUNKED}1\r\nZZZ\r\n`],
    ['a method of proxies', 'TRACE / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
  ] as const)('%s', async ([, request]) => {
    const { url } = await startDeployedNginx([await findFreePort()]);
    expect(await readRaw(url, request)).toEqual(problem(400, 'bad_request', 'Bad request'));
  });
});
