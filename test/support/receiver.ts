// A receiver of webhooks for tests: a real HTTP(S) server on 127.0.0.1 that keeps what it got, and answers as the test says, path by path.
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll } from 'vitest';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The bytes, as they came. */
  readonly body: Buffer;
  /** Which connection it came on, counted from 1. */
  readonly connection: number;
}

/** Answers one request, or does something else with its socket. */
export type Behaviour = (response: ServerResponse, request: Received, socket: Socket) => unknown;

export interface Receiver {
  readonly port: number;
  /** `http://127.0.0.1:<port>` or, with a certificate, `https://receiver.test:<port>`, which the lookup of the test leads here. */
  readonly url: string;
  readonly requests: readonly Received[];
  /** How many connections were made to it. */
  connections(): number;
  /** What the path answers from now on; 200 and `ok` as long as nothing is said. */
  on(path: string, behaviour: Behaviour): void;
  requestsTo(path: string): Received[];
  /** Resolves once so many requests have come to the path. */
  arrived(path: string, count?: number): Promise<Received[]>;
  stop(): Promise<void>;
}

const started = new Set<Receiver>();
afterAll(async () => {
  for (const receiver of started) await receiver.stop();
});

export async function startReceiver(certificate?: {
  readonly cert: string;
  readonly key: string;
}): Promise<Receiver> {
  const requests: Received[] = [];
  const behaviours = new Map<string, Behaviour>();
  const sockets = new Map<Socket, number>();
  let connections = 0;
  const answer: RequestListener = (request, response) => {
    void readBody(request).then((body) => {
      const path = request.url ?? '';
      const received = {
        method: request.method ?? '',
        path,
        headers: request.headers,
        body,
        connection: sockets.get(request.socket) ?? 0,
      };
      requests.push(received);
      return (behaviours.get(path) ?? status(200, 'ok'))(response, received, request.socket);
    }, ignore);
  };
  const server: Server = certificate ? createTlsServer(certificate, answer) : createServer(answer);
  server.on(certificate ? 'secureConnection' : 'connection', (socket: Socket) => {
    connections += 1;
    sockets.set(socket, connections);
    // A sender that goes away is part of the tests.
    socket.on('error', ignore);
  });
  server.on('tlsClientError', ignore);
  server.on('clientError', (_error, socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const requestsTo = (path: string): Received[] =>
    requests.filter((request) => request.path === path);
  const receiver: Receiver = {
    port,
    url: certificate ? `https://receiver.test:${port}` : `http://127.0.0.1:${port}`,
    requests,
    connections: () => connections,
    on: (path, behaviour) => behaviours.set(path, behaviour),
    requestsTo,
    arrived: async (path, count = 1) => {
      while (requestsTo(path).length < count) await delay(5);
      return requestsTo(path);
    },
    stop: async () => {
      started.delete(receiver);
      if (!server.listening) return;
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  started.add(receiver);
  return receiver;
}

/** Answers with the status, and a body where it has one. */
export function status(
  code: number,
  body?: string | Buffer,
  headers: Record<string, string> = {},
): Behaviour {
  return (response) => response.writeHead(code, headers).end(body);
}

/** One behaviour after the other; the last one stays. */
export function inTurn(...behaviours: readonly [Behaviour, ...Behaviour[]]): Behaviour {
  let turn = 0;
  return (...request) => {
    const behaviour = behaviours[Math.min(turn, behaviours.length - 1)] ?? behaviours[0];
    turn += 1;
    return behaviour(...request);
  };
}

/** Answers nothing, ever. */
export const hang: Behaviour = () => undefined;

/** Answers with these bytes, whatever they are, and leaves the connection open. */
export function raw(text: string | Buffer): Behaviour {
  return (_response, _request, socket) => socket.write(text);
}

/** Answers once the test says so. */
export function held(then: Behaviour): { readonly behaviour: Behaviour; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return {
    behaviour: (...request) => promise.then(() => then(...request)),
    open: () => resolve(),
  };
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function ignore(): void {}
