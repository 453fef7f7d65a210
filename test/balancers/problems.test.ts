// What customers get from the load balancers of the runbook when no API process answers: a problem
// as the API's own, which clients can read and repeat.
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { findFreePort } from '../support/ports.ts';
import { isInstalled, startDeployedNginx, startHaproxy } from './balancers.ts';

const UNAVAILABLE = {
  type: 'about:blank',
  title: 'Temporarily unavailable',
  status: 503,
  code: 'unavailable',
  request_id: expect.stringMatching(/^[\da-f-]{32,36}$/),
};

const [hasHaproxy, hasNginx] = await Promise.all([isInstalled('haproxy'), isInstalled('nginx')]);

/** What a client reads of a response. */
async function read(response: Response): Promise<Record<string, unknown>> {
  const header = (name: string) => response.headers.get(name);
  return {
    status: response.status,
    type: header('content-type'),
    retryAfter: header('retry-after'),
    cache: header('cache-control'),
    body: await response.json(),
  };
}

const UNAVAILABLE_503 = {
  status: 503,
  type: 'application/problem+json',
  retryAfter: '5',
  cache: 'no-store',
  body: UNAVAILABLE,
};

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
    const server = createServer((socket) => {
      // It is ready, and is killed when a request comes.
      socket.once('data', (data) => {
        if (data.includes('/readyz')) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
        else socket.destroy();
      });
      socket.on('error', () => undefined);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const { url } = await start([port, await findFreePort()]);
    const posted = await fetch(url, { method: 'POST', body: '{}' });
    expect(await read(posted)).toEqual(UNAVAILABLE_503);
  });
});

test.skipIf(!hasNginx)('nginx.conf refuses a body that is too large as the API does', async () => {
  const { url } = await startDeployedNginx([await findFreePort()]);
  const response = await fetch(url, { method: 'POST', body: 'x'.repeat(2_200_000) });
  expect(response.status).toBe(413);
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  expect(await response.json()).toMatchObject({ status: 413, code: 'bad_request' });
});
