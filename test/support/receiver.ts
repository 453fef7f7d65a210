// A receiver of webhooks for tests: a real HTTP(S) server on 127.0.0.1 that keeps the requests it
// received and responds on each path as the test says.
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
import { atEnd } from './at-end.ts';
import { until } from './until.ts';

/** A request that the receiver got. */
export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** The bytes as received. */
  readonly body: Buffer;
  /** The number of its connection, counted from 1. */
  readonly connection: number;
}

/** Responds to one request, or does something else with its socket. */
export type Behaviour = (response: ServerResponse, request: Received, socket: Socket) => unknown;

/** A running receiver. */
export interface Receiver {
  readonly port: number;
  /**
   * `http://127.0.0.1:<port>` or, with a certificate, `https://receiver.test:<port>`. The test's
   * name lookup must resolve that name to 127.0.0.1.
   */
  readonly url: string;
  readonly requests: readonly Received[];
  /** Returns how many connections were made to it. */
  connections(): number;
  /** Sets how the path responds from now on; the default is 200 with the body `ok`. */
  on(path: string, behaviour: Behaviour): void;
  requestsTo(path: string): Received[];
  /** Resolves when at least `count` requests (by default 1) have come to the path. */
  arrived(path: string, count?: number): Promise<Received[]>;
  /** Forgets all requests and behaviours, and closes all connections. */
  reset(): void;
  stop(): Promise<void>;
}

/** Starts a receiver, with TLS if there is a certificate. It is stopped when the test file ends. */
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
    // Tests make senders that close their connection early.
    socket.on('error', ignore);
  });
  server.on('tlsClientError', ignore);
  server.on('clientError', (_error, socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  // A test that counts connections may pause for longer than the five seconds of Node.
  server.keepAliveTimeout = 0;
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
      await until(() => requestsTo(path).length >= count);
      return requestsTo(path);
    },
    reset: () => {
      server.closeAllConnections();
      requests.length = 0;
      behaviours.clear();
    },
    stop: async () => {
      stopped();
      if (!server.listening) return;
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
  const stopped = atEnd(() => receiver.stop());
  return receiver;
}

/** Responds with this status, body and headers. */
export function status(
  code: number,
  body?: string | Buffer,
  headers: Record<string, string> = {},
): Behaviour {
  return (response) => response.writeHead(code, headers).end(body);
}

/** Uses one behaviour per request, in turn. The last one is used for all further requests. */
export function inTurn(...behaviours: readonly [Behaviour, ...Behaviour[]]): Behaviour {
  let turn = 0;
  return (...request) => {
    const behaviour = behaviours[Math.min(turn, behaviours.length - 1)] ?? behaviours[0];
    turn += 1;
    return behaviour(...request);
  };
}

/** Never responds. */
export const hang: Behaviour = () => undefined;

/** Responds with these bytes, valid or not, and leaves the connection open. */
export function raw(text: string | Buffer): Behaviour {
  return (_response, _request, socket) => socket.write(text);
}

/** Responds as `then` does, but only after the test has called `open`. */
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
