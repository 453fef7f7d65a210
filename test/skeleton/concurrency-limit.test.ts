// The concurrency limit of an address.
import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createConcurrencyLimit } from '../../src/http/concurrency-limit.ts';
import { heapBytes } from '../support/heap.ts';

const PLACES = 16;
const PLACES_OF_RECOGNIZED = 64;
const WAIT = { timeout: 60_000 };

interface Entered {
  readonly name: string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** A server whose requests name their address and themselves: `/<address>/<name>`. */
async function serve(placeMaxMs = 60_000) {
  const limit = createConcurrencyLimit(placeMaxMs);
  const arrived = new Map<string, IncomingMessage>();
  const entered: Entered[] = [];
  const server = createServer((request, response) => {
    const [, address = '', name = ''] = request.url?.split('/') ?? [];
    arrived.set(name, request);
    limit.enter(address, request, response, () => entered.push({ name, request, response }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  /** Sends requests over a connection of their own, and resolves when they have arrived. */
  const send = async (address: string, ...names: string[]): Promise<Socket> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const lines = names.map((name) => `GET /${address}/${name} HTTP/1.1\r\nHost: x\r\n\r\n`);
    socket.write(lines.join(''));
    await vi.waitUntil(() => names.every((name) => arrived.has(name)), WAIT);
    return socket;
  };
  const fill = (address: string): Promise<Socket[]> =>
    Promise.all(Array.from({ length: PLACES }, (_, index) => send(address, `${address}${index}`)));
  const names = (): string[] => entered.map(({ name }) => name);
  const find = (name: string): Entered => {
    const found = entered.find((each) => each.name === name);
    if (!found) throw new Error(`${name} was not let in`);
    return found;
  };
  const isIn = (name: string): Promise<unknown> => vi.waitUntil(() => names().includes(name), WAIT);
  return { limit, arrived, send, fill, names, find, isIn };
}

test('requests of one address wait for each other, and those of another do not', async () => {
  const { send, fill, names } = await serve();
  await fill('a');
  await send('a', 'late');
  await send('b', 'other');
  expect(names()).toHaveLength(PLACES + 1);
  expect(names()).toContain('other');
  expect(names()).not.toContain('late');
});

test('the next request comes in when one was admitted or answered, in order', async () => {
  const { limit, send, fill, names, find, isIn } = await serve();
  await fill('a');
  await send('a', 'first');
  await send('a', 'second');
  limit.release(find('a3').request);
  await isIn('first');
  expect(names()).not.toContain('second');
  find('a5').response.end();
  await isIn('second');
});

test('a request that was admitted and answered gives its place back only once', async () => {
  const { limit, send, fill, names, find, isIn } = await serve();
  await fill('a');
  const { request, response } = find('a0');
  limit.release(request);
  limit.release(request);
  response.end();
  await once(response, 'close');
  await send('a', 'one');
  await send('a', 'two');
  await isIn('one');
  limit.release(find('a1').request);
  await isIn('two');
  await send('a', 'three');
  expect(names()).not.toContain('three');
});

test('a client that goes takes its requests along, wherever they wait', async () => {
  const { arrived, send, names, isIn } = await serve();
  const all = Array.from({ length: PLACES }, (_, index) => `x${index}`);
  const first = await send('a', ...all);
  const waiting = await send('a', 'waiting');
  await send('a', 'patient');
  waiting.destroy();
  await vi.waitUntil(() => arrived.get('waiting')?.socket.destroyed, WAIT);
  first.destroy();
  await isIn('patient');
  expect(names()).not.toContain('waiting');
  const more = Array.from({ length: PLACES - 1 }, (_, index) => `y${index}`);
  await send('a', ...more);
  await isIn(`y${PLACES - 2}`);
});

test('a place goes to the first of those who wait and are still there', async () => {
  const { limit, arrived, send, fill, names, find, isIn } = await serve();
  await fill('a');
  const gone = await send('a', 'gone');
  await send('a', 'patient');
  gone.destroy();
  await vi.waitUntil(() => arrived.get('gone')?.socket.destroyed, WAIT);
  limit.release(find('a0').request);
  // What was freed is given away by then.
  await send('b', 'stranger');
  await isIn('stranger');
  expect(names()).toContain('patient');
  expect(names()).not.toContain('gone');
});

test('a request that waits for long inside gives its place to the next', async () => {
  const { send, fill, names, isIn } = await serve(1);
  await fill('a');
  await send('a', 'next');
  await isIn('next');
  expect(names()).toContain('next');
});

test('recognized callers take other places, so that the next ones come in', async () => {
  const { limit, send, fill, names, find, isIn } = await serve();
  await fill('a');
  await send('a', 'next');
  const { request } = find('a0');
  limit.recognize(request);
  limit.recognize(request);
  await isIn('next');
  await send('a', 'later');
  limit.release(request);
  // What was freed is a place for recognized callers: `later` would be in before `stranger`.
  await send('b', 'stranger');
  await isIn('stranger');
  expect(names()).not.toContain('later');
});

test('as many recognized callers as there are places for them, and then no more', async () => {
  const { limit, send, fill, names, find, isIn } = await serve();
  const recognize = (name: string): void => limit.recognize(find(name).request);
  await fill('a');
  const all = Array.from({ length: PLACES_OF_RECOGNIZED + 1 }, (_, index) => `x${index}`);
  for (const name of all) await send('a', name);
  const entering = Array.from({ length: PLACES }, (_, index) => `a${index}`).concat(all);
  for (const [index, name] of all.slice(0, -1).entries()) {
    recognize(entering[index] ?? '');
    await isIn(name);
  }
  const [last = ''] = all.slice(-1);
  const oneMore = entering[PLACES_OF_RECOGNIZED] ?? '';
  recognize(oneMore);
  await send('b', 'stranger');
  await isIn('stranger');
  expect(names()).not.toContain(last);
  // A recognized caller that goes makes room for another one.
  limit.release(find('a0').request);
  recognize(oneMore);
  await isIn(last);
});

test('a recognized caller that goes leaves the places of those who came after it', async () => {
  const { limit, send, fill, names, find, isIn } = await serve();
  await send('a', 'recognized');
  const { request } = find('recognized');
  limit.recognize(request);
  // Its place is free by then, and nobody else of its address is in.
  await send('b', 'other');
  await fill('a');
  limit.release(request);
  await send('a', 'late');
  await send('b', 'stranger');
  await isIn('stranger');
  expect(names()).not.toContain('late');
});

test('nothing is kept of an address whose requests are answered, recognized or not', async () => {
  const limit = createConcurrencyLimit(60_000);
  const visit = (address: string, isRecognized: boolean): void => {
    const request = Object.assign(new EventEmitter(), { socket: { destroyed: false } });
    limit.enter(address, request as never, new EventEmitter() as never, () => undefined);
    if (isRecognized) limit.recognize(request as never);
    setImmediate(() => request.emit('close'));
  };
  const visitAll = async (count: number, isRecognized: boolean): Promise<void> => {
    for (let n = 0; n < count; n += 1) visit(`${isRecognized} ${n}`, isRecognized);
    // The turn in which they leave, and the one in which their places become free.
    for (let turn = 0; turn < 3; turn += 1) await new Promise((done) => setImmediate(done));
  };
  await visitAll(1_000, true);
  const before = heapBytes();
  const count = 50_000;
  await visitAll(count, true);
  await visitAll(count, false);
  expect((heapBytes() - before) / count).toBeLessThan(50);
});
