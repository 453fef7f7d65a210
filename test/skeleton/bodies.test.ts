// How many large bodies are read at once, and whose.
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ProblemError } from '../../src/core/problem.ts';
import { createBodies } from '../../src/http/api/bodies.ts';
import { createBodyRoom } from '../../src/http/api/body-room.ts';
import { BODY_MAX_BYTES } from '../../src/http/api/request-body.ts';
import { steppedClock } from '../support/clocks.ts';
import { until } from '../support/until.ts';

const OWNER_MAX = 4;
const TOTAL_MAX = 32;
/** A little more than what needs no room. */
const MIDDLE = Buffer.from(JSON.stringify('x'.repeat(18_000)));
const SMALL = Buffer.from('"twenty bytes long"');
const LARGE = Buffer.from(JSON.stringify('x'.repeat(BODY_MAX_BYTES - 2)));

/**
 * A server that reads bodies after `ready`. Requests name their owner and themselves:
 * `/<owner>/<name>`.
 */
async function serve(ready?: (request: IncomingMessage) => Promise<unknown>) {
  const clock = steppedClock(new Date());
  // No work of the event loop takes time, so there is no pause after it.
  const bodyClock = { ...clock, wait: async () => undefined };
  const { readText } = createBodies(() => undefined, bodyClock);
  const begun: string[] = [];
  const read: string[] = [];
  const refused: string[] = [];
  const codes: string[] = [];
  const sizes = new Map<string, () => number>();
  const server = createServer((request, response) => {
    const [, owner = '', name = ''] = request.url?.split('/') ?? [];
    begun.push(name);
    sizes.set(name, () => request.socket.bytesRead);
    const reading = ready
      ? ready(request).then(() => readText(request, owner))
      : readText(request, owner);
    reading.then(
      (text) => {
        read.push(name);
        response.end(String(text?.length));
      },
      (error: unknown) => {
        refused.push(name);
        if (error instanceof ProblemError) codes.push(error.code);
        response.destroy();
      },
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  /** Sends a request with its headers and the first bytes of its body, all but one by default. */
  const begin = async (
    owner: string,
    name: string,
    { body = LARGE, size = LARGE.length - 1, isChunked = false } = {},
  ): Promise<Socket> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    const length = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`;
    const lines = [`POST /${owner}/${name} HTTP/1.1`, 'Host: x', 'Content-Type: application/json'];
    const head = `${[...lines, length].join('\r\n')}\r\n\r\n`;
    const first = body.subarray(0, size);
    const sent = isChunked ? `${first.length.toString(16)}\r\n${first.toString()}\r\n` : first;
    socket.write(head);
    socket.write(sent);
    await until(() => begun.includes(name));
    return socket;
  };
  const send = (owner: string, name: string, body = LARGE): Promise<Socket> =>
    begin(owner, name, { body, size: body.length });
  /** Resolves when all that was sent has arrived, so that room is taken for it. */
  const fill = async (owner: string, count: number): Promise<Socket[]> => {
    const names = Array.from({ length: count }, (_, index) => `${owner}${index}`);
    const sockets = await Promise.all(names.map((name) => begin(owner, name)));
    const hasCome = (name: string): boolean => (sizes.get(name)?.() ?? 0) > LARGE.length;
    await until(() => names.every(hasCome));
    return sockets;
  };
  const fillAll = async (): Promise<Socket[]> => {
    const owners = Array.from({ length: TOTAL_MAX / OWNER_MAX }, (_, index) => `o${index}-`);
    return (await Promise.all(owners.map((owner) => fill(owner, OWNER_MAX)))).flat();
  };
  const isRead = (...names: string[]): Promise<unknown> =>
    until(() => names.every((name) => read.includes(name)));
  return { clock, begin, send, fill, fillAll, isRead, read, refused, codes };
}

test('a large body waits for those of its owner, and not for those of others', async () => {
  const { send, fill, isRead, read } = await serve();
  const [first] = await fill('a', OWNER_MAX);
  await send('a', 'late');
  await send('b', 'other');
  await isRead('other');
  expect(read).not.toContain('late');
  first?.write(LARGE.subarray(-1));
  await isRead('a0', 'late');
});

test('a small body waits for nobody', async () => {
  const { begin, send, fill, isRead, read } = await serve();
  await fill('a', OWNER_MAX);
  await send('a', 'small', SMALL);
  await isRead('small');
  const chunked = await begin('a', 'chunked', { body: SMALL, size: SMALL.length, isChunked: true });
  chunked.write('0\r\n\r\n');
  await isRead('chunked');
  expect(read).toEqual(['small', 'chunked']);
});

test('a body whose connection has gone before it is read is refused', async () => {
  const closed = (request: IncomingMessage): Promise<unknown> => {
    request.on('error', () => undefined);
    return new Promise((done) => request.on('close', done));
  };
  const { begin, refused, codes } = await serve(closed);
  const socket = await begin('a', 'gone', { body: SMALL, size: 1 });
  socket.destroy();
  await until(() => refused.includes('gone'));
  expect(codes).toEqual(['bad_request']);
});

test('an announced length takes no room', async () => {
  const { begin, send, isRead, read } = await serve();
  for (let index = 0; index < TOTAL_MAX; index += 1)
    await begin(`o${Math.floor(index / OWNER_MAX)}`, `${index}`, { size: 1 });
  await send('ninth', 'ninth', MIDDLE);
  await isRead('ninth');
  expect(read).toEqual(['ninth']);
});

test('large bodies of all owners together have a limit', async () => {
  const { send, fillAll, isRead, read } = await serve();
  const [first] = await fillAll();
  await send('late', 'late');
  await send('small', 'small', SMALL);
  await isRead('small');
  expect(read).not.toContain('late');
  first?.destroy();
  await isRead('late');
});

test('a body that finds no room does not hold up a smaller one', async () => {
  const { send, fillAll, isRead, read } = await serve();
  await fillAll();
  await send('late', 'late');
  await send('later', 'later', MIDDLE);
  await isRead('later');
  expect(read).toEqual(['later']);
});

test('however many large bodies come together, all of them are read', async () => {
  const { begin, isRead, refused } = await serve();
  const names = Array.from({ length: 2 * TOTAL_MAX }, (_, index) => `x${index}`);
  const half = LARGE.length / 2;
  const sockets = await Promise.all(
    names.map((name, index) => begin(`o${index % 3}`, name, { size: half })),
  );
  for (const socket of sockets) socket.write(LARGE.subarray(half));
  await isRead(...names);
  expect(refused).toEqual([]);
});

test('a body waits for one of another owner, however many of those have come', async () => {
  const everybody = Promise.withResolvers<void>();
  const { begin, isRead, read } = await serve(() => everybody.promise);
  const size = MIDDLE.length;
  const many = Array.from({ length: 100 }, (_, n) => `a${n}`);
  await Promise.all(many.map((name) => begin('a', name, { body: MIDDLE, size })));
  await begin('b', 'other', { body: MIDDLE, size });
  everybody.resolve();
  await isRead('other', ...many);
  expect(read.indexOf('other')).toBeLessThan(many.length / 2);
});

describe('while a body waits for room', () => {
  test('those in its way that are slow are refused', async () => {
    const { clock, send, fillAll, isRead, refused, codes } = await serve();
    await fillAll();
    clock.advance(10_000);
    await send('late', 'late');
    await isRead('late');
    expect(refused).toHaveLength(TOTAL_MAX);
    expect(new Set(codes)).toEqual(new Set(['unavailable']));
  });

  test('those that become slow are refused, and not those that are fast', async () => {
    const { clock, send, fillAll, isRead, read, refused } = await serve();
    await fillAll();
    clock.advance(1_900);
    await send('late', 'late');
    await send('small', 'small', SMALL);
    await isRead('small');
    expect([read, refused]).toEqual([['small'], []]);
    clock.advance(200);
    await isRead('late');
    expect(refused).toHaveLength(TOTAL_MAX);
  });

  test('those of others are in its way only if all of the room is taken', async () => {
    const { clock, send, fill, isRead, refused } = await serve();
    await fill('b', 1);
    await fill('a', OWNER_MAX);
    clock.advance(10_000);
    await send('a', 'late');
    await isRead('late');
    expect(refused.toSorted()).toEqual(['a0', 'a1', 'a2', 'a3']);
  });

  test('its own wait does not make it slow', async () => {
    const { clock, send, fill, isRead, refused } = await serve();
    const sockets = await fill('a', OWNER_MAX);
    await send('a', 'late');
    await send('a', 'later');
    for (const socket of sockets) socket.write(LARGE.subarray(-1));
    clock.advance(900);
    await isRead('a0', 'a1', 'a2', 'a3', 'late', 'later');
    expect(refused).toEqual([]);
  });
});

test('a slow body is read while nobody waits', async () => {
  const { clock, fill, isRead, refused } = await serve();
  const sockets = await fill('a', OWNER_MAX);
  clock.advance(20_000);
  for (const socket of sockets) socket.write(LARGE.subarray(-1));
  await isRead('a0', 'a1', 'a2', 'a3');
  expect(refused).toEqual([]);
});

test('a client that goes makes room, whether it was read or waited', async () => {
  const { begin, send, fill, isRead, read, refused } = await serve();
  const sockets = await fill('a', OWNER_MAX);
  const waiting = await begin('a', 'waiting');
  await send('a', 'patient');
  for (const socket of [waiting, ...sockets]) socket.destroy();
  await isRead('patient');
  await until(() => refused.includes('waiting'));
  expect(read).toEqual(['patient']);
  expect(refused.toSorted()).toEqual(['a0', 'a1', 'a2', 'a3', 'waiting']);
  await send('a', 'next');
  await isRead('next');
});

test('a body may come in chunks of one byte', async () => {
  const { begin, isRead, refused } = await serve();
  const body = Buffer.from(JSON.stringify('x'.repeat(30_000)));
  const socket = await begin('a', 'slow', { body, size: 1 });
  for (const byte of body.subarray(1)) socket.write(Buffer.of(byte));
  await isRead('slow');
  expect(refused).toEqual([]);
});

/** Room for ten bytes of each owner, and for a hundred of all. */
function openRoom() {
  const clock = steppedClock(new Date());
  const enter = createBodyRoom({ totalMaxBytes: 100, ownerMaxBytes: 10 }, clock);
  const refused = new Set<string>();
  const went: string[] = [];
  const begin = (name: string, bytes: number, owner = 'a') => {
    const refuse = () => void refused.add(name);
    const place = enter({ owner, received: () => 0, refuse });
    place.enter(bytes, () => went.push(name));
    return place;
  };
  return { clock, begin, refused, went };
}

test('how long a body waited does not count as its own time, once it is let in', () => {
  const { clock, begin, refused } = openRoom();
  const first = begin('first', 10);
  begin('second', 10);
  clock.advance(60_000);
  first.leave();
  begin('third', 10);
  clock.advance(1_000);
  expect([...refused]).toEqual(['first']);
  clock.advance(1_001);
  expect([...refused]).toEqual(['first', 'second']);
});

test('a small body behind a large one of its owner refuses no body of others', () => {
  const { clock, begin, refused, went } = openRoom();
  begin('slow', 10, 'other');
  begin('first', 6);
  begin('large', 6);
  begin('behind', 1);
  clock.advance(2_000);
  expect(went).toEqual(['slow', 'first']);
  expect([...refused]).toEqual(['first']);
});

test('a body that has left while it waited takes no room', () => {
  const { begin, went } = openRoom();
  const first = begin('first', 6);
  begin('second', 4);
  begin('waiting', 6).leave();
  first.leave();
  begin('next', 6);
  expect(went).toEqual(['first', 'second', 'next']);
});
