// How many large bodies are read at once, and whose.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createBodies } from '../../src/http/api/bodies.ts';
import { BODY_MAX_BYTES } from '../../src/http/api/request-body.ts';

const OWNER_MAX = 4;
const TOTAL_MAX = 32;
const WAIT = { timeout: 60_000 };
const LARGE = Buffer.from(JSON.stringify('x'.repeat(BODY_MAX_BYTES - 2)));

/** A server that reads bodies. Requests name their owner and themselves: `/<owner>/<name>`. */
async function serve() {
  const { readText } = createBodies();
  const begun: string[] = [];
  const read: string[] = [];
  const refused: string[] = [];
  const server = createServer((request, response) => {
    const [, owner = '', name = ''] = request.url?.split('/') ?? [];
    begun.push(name);
    readText(request, owner).then(
      (text) => {
        read.push(name);
        response.end(String(text?.length));
      },
      () => refused.push(name),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  /** Sends a request with its headers and the first bytes of its body. */
  const begin = async (owner: string, name: string, body = LARGE, size = 1): Promise<Socket> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const head = [`POST /${owner}/${name} HTTP/1.1`, 'Host: x', 'Content-Type: application/json'];
    socket.write(`${[...head, `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n`);
    socket.write(body.subarray(0, size));
    await vi.waitUntil(() => begun.includes(name), WAIT);
    return socket;
  };
  const beginMany = (owner: string, count: number): Promise<Socket[]> =>
    Promise.all(Array.from({ length: count }, (_, index) => begin(owner, `${owner}${index}`)));
  const isRead = (name: string): Promise<unknown> => vi.waitUntil(() => read.includes(name), WAIT);
  return { begin, beginMany, isRead, read, refused };
}

test('a large body waits for those of its owner, and not for those of others', async () => {
  const { begin, beginMany, isRead, read } = await serve();
  const [first] = await beginMany('a', OWNER_MAX);
  await begin('a', 'late', LARGE, LARGE.length);
  await begin('b', 'other', LARGE, LARGE.length);
  await isRead('other');
  expect(read).not.toContain('late');
  first?.write(LARGE.subarray(1));
  await isRead('a0');
  await isRead('late');
});

test('a small body waits for nobody', async () => {
  const { begin, beginMany, isRead, read } = await serve();
  await beginMany('a', OWNER_MAX);
  const small = Buffer.from('"small"');
  await begin('a', 'small', small, small.length);
  await isRead('small');
  expect(read).toEqual(['small']);
});

test('large bodies of all owners together have a limit', async () => {
  const { begin, beginMany, isRead, read } = await serve();
  const owners = Array.from({ length: TOTAL_MAX / OWNER_MAX }, (_, index) => `o${index}-`);
  const [[first] = []] = await Promise.all(owners.map((owner) => beginMany(owner, OWNER_MAX)));
  await begin('late', 'late', LARGE, LARGE.length);
  await begin('small', 'small', Buffer.from('1'));
  await isRead('small');
  expect(read).not.toContain('late');
  first?.destroy();
  await isRead('late');
});

test('a client that goes makes room, whether it was read or waited', async () => {
  const { begin, beginMany, isRead, read, refused } = await serve();
  const [first] = await beginMany('a', OWNER_MAX);
  const waiting = await begin('a', 'waiting');
  await begin('a', 'patient', LARGE, LARGE.length);
  waiting.destroy();
  await vi.waitUntil(() => refused.includes('waiting'), WAIT);
  first?.destroy();
  await isRead('patient');
  expect([read, refused]).toEqual([['patient'], ['waiting', 'a0']]);
  await begin('a', 'next', LARGE, LARGE.length);
  await isRead('next');
});

test('a body may come in chunks of one byte', async () => {
  const { begin, isRead, refused } = await serve();
  const body = Buffer.from(JSON.stringify('x'.repeat(30_000)));
  const socket = await begin('a', 'slow', body);
  for (const byte of body.subarray(1)) socket.write(Buffer.of(byte));
  await isRead('slow');
  expect(refused).toEqual([]);
});
