// What holds a connection of the API process for free, and when it ends. Node's own deadlines are
// short here, and the tests wait for the end, however long it takes.
import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { answerBrokenRequest } from '../../src/http/api/broken-request.ts';
import { createGuardedServer, type ConnectionLimits } from '../../src/runtime/connections.ts';
import { steppedClock } from '../support/clocks.ts';
import { until } from '../support/until.ts';

const GET = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n';
const LARGE = Buffer.alloc(32 * 1024 * 1024, 'x');
const FAST = { checkEveryMs: 20 };

/** A client that reads only what it is told to. */
interface Client {
  readonly socket: Socket;
  readonly closed: Promise<unknown>;
  /** Resolves when the text has been received. */
  receives(text: string): Promise<void>;
}

async function serve(
  limits: Partial<ConnectionLimits>,
  listener: RequestListener = (_request, response) => response.end('ok'),
) {
  const full: number[] = [];
  const clock = steppedClock(new Date());
  const { server, suspect, onBroken } = createGuardedServer({
    limits,
    clock,
    onFull: () => full.push(1),
  });
  server.on('request', listener);
  onBroken(answerBrokenRequest('http://x', clock));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const open = async ({
    allowHalfOpen = false,
    localAddress = '127.0.0.1',
  } = {}): Promise<Client> => {
    const { port } = server.address() as AddressInfo;
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen, localAddress });
    socket.on('error', () => undefined);
    onTestFinished(() => void socket.destroy());
    const closed = new Promise((resolve) => socket.once('close', resolve));
    await Promise.all([once(socket, 'connect'), once(server, 'connection')]);
    const receives = async (text: string): Promise<void> => {
      let received = '';
      while (!received.includes(text))
        received += String(((await once(socket, 'data')) as [Buffer])[0]);
    };
    return { socket, closed, receives };
  };
  return { server, open, full, suspect, clock };
}

async function ask(client: Client): Promise<void> {
  client.socket.write(GET);
  await client.receives('ok');
}

/** Reads what the server sends until it closes the connection. */
async function readToEnd({ socket, closed }: Client): Promise<string> {
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += String(chunk)));
  await closed;
  return received;
}

describe('when there is no room for a new connection', () => {
  test('the one that has never sent a request for longest makes room', async () => {
    const { open, full } = await serve({ openMax: 3 });
    const used = await open();
    await ask(used);
    const [first, second] = [await open(), await open()];
    expect(full).toEqual([]);
    const late = await open();
    await readToEnd(first);
    await ask(late);
    await ask(used);
    await ask(second);
    expect(full).toEqual([1]);
  });

  test('one that is between two requests makes room, if all have sent one', async () => {
    const { open } = await serve({ openMax: 2 });
    const [first, second] = [await open(), await open()];
    await ask(second);
    await ask(first);
    const late = await open();
    expect(await readToEnd(second)).toBe('');
    await ask(late);
    await ask(first);
  });

  test('it is closed itself if all others wait for a response', async () => {
    const answers: (() => void)[] = [];
    const { open, server } = await serve({ openMax: 1 }, (_request, response) => {
      answers.push(() => response.end('ok'));
    });
    const busy = await open();
    busy.socket.write(GET);
    await once(server, 'request');
    const late = await open();
    expect(await readToEnd(late)).toBe('');
    answers.forEach((answer) => answer());
    await busy.receives('ok');
  });

  test('one that has an answer and waits for another one is not between two requests', async () => {
    const held: ServerResponse[] = [];
    const { open } = await serve({ openMax: 1 }, (_request, response) => void held.push(response));
    const busy = await open();
    busy.socket.write(GET + GET);
    await until(() => held.length === 2);
    held[0]?.end('first');
    await busy.receives('first');
    const late = await open();
    expect(await readToEnd(late)).toBe('');
    held[1]?.end('second');
    await busy.receives('second');
  });
});

// Other addresses of this machine are on Linux only.
describe.runIf(process.platform === 'linux')('when there is no room for one more', () => {
  const CUSTOMER = { localAddress: '127.0.0.1' };
  const CROWD = { localAddress: '127.0.0.2' };

  test('one of the address that has most makes room, however long others are idle', async () => {
    const { open } = await serve({ openMax: 4 });
    const kept = await open(CUSTOMER);
    await ask(kept);
    const crowd = [await open(CROWD), await open(CROWD), await open(CROWD)];
    for (const client of crowd) await ask(client);
    const fresh = await open({ localAddress: '127.0.0.3' });
    expect(await readToEnd(crowd[0] as Client)).toBe('');
    // The new one has never sent a request, and stays, too.
    const next = await open(CROWD);
    expect(await readToEnd(crowd[1] as Client)).toBe('');
    for (const client of [kept, fresh, next]) await ask(client);
  });

  test('one of that address that waits for a response makes room for others', async () => {
    const answers: (() => void)[] = [];
    const { open, server } = await serve({ openMax: 4 }, (request, response) => {
      if (request.socket.remoteAddress === CROWD.localAddress)
        answers.push(() => response.end('ok'));
      else response.end('ok');
    });
    const kept = await open(CUSTOMER);
    await ask(kept);
    const crowd = [await open(CROWD), await open(CROWD), await open(CROWD)];
    for (const client of crowd) {
      client.socket.write(GET);
      await once(server, 'request');
    }
    expect(await readToEnd(await open(CROWD))).toBe('');
    const fresh = await open(CUSTOMER);
    expect(await readToEnd(crowd[0] as Client)).toBe('');
    await ask(fresh);
    await ask(kept);
    answers.forEach((answer) => answer());
    await crowd[1]?.receives('ok');
  });

  test('one that never sent a request does, while all addresses have few', async () => {
    const { open } = await serve({ openMax: 40 });
    const kept = [await open(CUSTOMER), await open(CUSTOMER)];
    for (const client of kept) await ask(client);
    const silent: Client[] = [];
    for (let index = 0; index < 38; index += 1)
      silent.push(await open({ localAddress: `127.0.1.${index}` }));
    await open({ localAddress: '127.0.2.1' });
    expect(await readToEnd(silent[0] as Client)).toBe('');
    for (const client of kept) await ask(client);
  });

  test('a suspect may open one now and then, and others notice nothing', async () => {
    const { open, server, suspect } = await serve({ suspectEveryMs: 1_000_000 });
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const known = await open(CROWD);
    const [socket] = await accepted;
    suspect(socket);
    expect(await readToEnd(await open(CROWD))).toBe('');
    await ask(known);
    await ask(await open(CUSTOMER));
  });
});

describe('a connection is closed', () => {
  test('that sends nothing, or half of its headers', async () => {
    const { open } = await serve({ ...FAST, headersTimeoutMs: 200 });
    const [silent, half] = [await open(), await open()];
    half.socket.write('GET / HTTP/1.1\r\nHost');
    expect(await readToEnd(half)).toMatch(/^HTTP\/1\.1 408 /);
    expect(await readToEnd(silent)).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('whose body does not end', async () => {
    const { open } = await serve(
      { ...FAST, headersTimeoutMs: 200, requestTimeoutMs: 300 },
      (request) => {
        request.resume();
      },
    );
    const client = await open();
    client.socket.write('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf');
    expect(await readToEnd(client)).toMatch(/^HTTP\/1\.1 408 /);
  });

  test('whose client is told so, and does not close its side', async () => {
    const { open, server, clock } = await serve({ ...FAST, headersTimeoutMs: 200 });
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const client = await open({ allowHalfOpen: true });
    const [socket] = await accepted;
    const ended = once(socket, 'close');
    await client.receives('408');
    expect(socket.destroyed).toBe(false);
    clock.advance(1_000);
    await ended;
    expect(socket.destroyed).toBe(true);
  });

  test('whose client does not read its response', async () => {
    const responses: ServerResponse[] = [];
    const { open, clock } = await serve({ exchangeTimeoutMs: 60_000 }, (_request, response) => {
      responses.push(response.end(LARGE));
    });
    const client = await open();
    client.socket.pause();
    client.socket.write(GET);
    const response = await until(() => responses[0]);
    clock.advance(59_000);
    expect(response.destroyed).toBe(false);
    clock.advance(1_000);
    await until(() => response.destroyed);
    expect(response.writableFinished).toBe(false);
  });

  test('that left its response unread for longest, when clients leave too much', async () => {
    const { open, server } = await serve(
      { unreadMaxBytes: 1.5 * LARGE.length },
      (_request, response) => response.end(LARGE),
    );
    const clients = [await open(), await open()];
    for (const { socket } of clients) {
      socket.pause();
      socket.write(GET);
      await once(server, 'request');
    }
    const [first, second] = clients as [Client, Client];
    second.socket.resume();
    await until(() => second.socket.bytesRead > LARGE.length);
    first.socket.resume();
    await first.closed;
    expect(first.socket.bytesRead).toBeLessThan(LARGE.length);
  });

  test('that sends many requests at once without waiting for a response', async () => {
    let started = 0;
    const { open } = await serve({ pipelinedMax: 3 }, ({ socket }) => {
      if (!socket.destroyed) started += 1;
    });
    const client = await open();
    client.socket.write(GET.repeat(50));
    await readToEnd(client);
    expect(started).toBe(3);
  });

  test('that comes back at once after such a flood', async () => {
    const limits = { pipelinedMax: 3, suspectEveryMs: 1_000_000 };
    const { open } = await serve(limits, (_request, response) =>
      setImmediate(() => response.end('ok')),
    );
    const known = await open();
    await ask(known);
    const fresh = await open();
    const client = await open();
    client.socket.write(GET.repeat(50));
    await readToEnd(client);
    expect(await readToEnd(fresh)).toBe('');
    expect(await readToEnd(await open())).toBe('');
    await ask(known);
  });
});

describe('bytes that are no HTTP', () => {
  const GARBAGE = 'no request\r\n\r\n';

  /** Answers requests, named by their path, when the test says so. */
  async function serveSlowly(limits: Partial<ConnectionLimits> = {}) {
    const waiting = new Map<string, ServerResponse>();
    const served = await serve(limits, ({ url = '' }, response) => {
      waiting.set(url, response);
    });
    const send = async (client: Client, text: string, event: 'request' | 'clientError') => {
      const arrived = once(served.server, event);
      client.socket.write(text);
      await arrived;
    };
    const answer = (name: string): void => void waiting.get(`/${name}`)?.end(`${name} is done`);
    return { ...served, send, answer, waiting };
  }
  const get = (name: string): string => `GET /${name} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const chunked = (name: string): string =>
    `POST /${name} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n`;
  /** The status of each response, and whether it says that the connection closes. */
  const answersIn = (received: string): [string, boolean][] =>
    received
      .split(/(?=HTTP\/1\.1 \d{3} )/)
      .map((each) => [each.slice(9, 12), /^Connection: close\r$/im.test(each)]);

  test('on an idle connection are 400', async () => {
    const { open } = await serve({});
    const [fresh, used] = [await open(), await open()];
    await ask(used);
    for (const client of [fresh, used]) {
      client.socket.write(GARBAGE);
      expect(answersIn(await readToEnd(client))).toEqual([['400', true]]);
    }
  });

  test.each([
    ['behind a request, in one packet', [get('first') + GARBAGE]],
    ['behind a request that is being answered', [get('first'), GARBAGE]],
    ['again and again', [get('first'), GARBAGE, GARBAGE, GARBAGE]],
    ['in the body of the request behind', [get('first'), `${chunked('second')}zzz\r\n`]],
  ])('are not answered %s', async (_name, packets) => {
    const { open, send, answer } = await serveSlowly();
    const client = await open();
    for (const packet of packets)
      await send(client, packet, packet === get('first') ? 'request' : 'clientError');
    answer('first');
    expect(answersIn(await readToEnd(client))).toEqual([['200', true]]);
  });

  test('are not answered behind two requests, which both are', async () => {
    const { open, send, answer } = await serveSlowly();
    const client = await open();
    await send(client, get('first') + get('second') + GARBAGE, 'clientError');
    answer('second');
    answer('first');
    const received = await readToEnd(client);
    expect(answersIn(received)).toEqual([
      ['200', false],
      ['200', true],
    ]);
    expect(received).toMatch(/first is done.*second is done/s);
  });

  test('behind a response that has begun end the connection with it', async () => {
    const { open, send, waiting } = await serveSlowly();
    const client = await open();
    await send(client, get('first'), 'request');
    waiting.get('/first')?.writeHead(200, { 'Content-Length': 4 }).write('ha');
    await send(client, GARBAGE, 'clientError');
    waiting.get('/first')?.end('lf');
    const received = await readToEnd(client);
    expect(answersIn(received)).toEqual([['200', false]]);
    expect(received).toMatch(/\r\n\r\nhalf$/);
  });

  test('in the body of the only request are 400, unless it has its answer', async () => {
    const { open, send, answer } = await serveSlowly();
    const [waits, answered] = [await open(), await open()];
    await send(waits, chunked('waits'), 'request');
    waits.socket.write('zzz\r\n');
    expect(answersIn(await readToEnd(waits))).toEqual([['400', true]]);
    await send(answered, chunked('early'), 'request');
    answer('early');
    await answered.receives('early is done');
    answered.socket.write('zzz\r\n');
    expect(await readToEnd(answered)).toBe('');
  });

  test('or that come too late are not answered behind a request', async () => {
    const { open, send, answer } = await serveSlowly({ ...FAST, headersTimeoutMs: 200 });
    const client = await open();
    await send(client, get('first') + get('second').slice(0, -2), 'clientError');
    answer('first');
    expect(answersIn(await readToEnd(client))).toEqual([['200', true]]);
  });
});
