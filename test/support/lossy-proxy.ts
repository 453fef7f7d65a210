// A server before the API that loses, delays or replaces what it answers.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { atEnd } from './at-end.ts';
import { findFreePort } from './ports.ts';

/** What becomes of a request. `refused`: nobody listens, for which `shut` must be called. */
export const LOSSES = [
  'refused',
  'reset before the request was passed on',
  'reset before the headers',
  'half of the headers',
  'half of the body',
  'too late',
  '500',
  '502 with a page',
  '503 with a number as code',
  '504 with a text as code',
  '503',
  '429',
  '200 with a page',
] as const;
export type Loss = (typeof LOSSES)[number];

export interface LossyProxy {
  readonly url: string;
  /** What becomes of the next requests, the first one first; null: it is answered. */
  readonly losses: (Loss | null)[];
  /** In the order of their arrival. */
  readonly requests: { readonly method: string; readonly path: string; readonly key: unknown }[];
  /** Nobody listens from now on. */
  shut(): Promise<void>;
  open(): Promise<void>;
}

/** Starts a proxy of the server at the origin `target`. It is stopped when the test file ends. */
export async function startLossyProxy(target: string): Promise<LossyProxy> {
  const losses: (Loss | null)[] = [];
  const requests: LossyProxy['requests'] = [];
  const server = createServer((request, response) => {
    const { method = '', url: path = '', headers } = request;
    requests.push({ method, path, key: headers['idempotency-key'] });
    // Without an answer of the server there is none of the proxy.
    answer({ request, response, target, loss: losses.shift() ?? null }).catch(() =>
      request.socket.resetAndDestroy(),
    );
  });
  const listen = async (port: number): Promise<number> => {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  };
  const shut = async (): Promise<void> => {
    if (!server.listening) return;
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  };
  // None that the system gives to others while it is shut.
  const port = await listen(await findFreePort());
  const proxy: LossyProxy = {
    url: `http://127.0.0.1:${port}`,
    losses,
    requests,
    shut,
    open: async () => {
      await listen(port);
    },
  };
  atEnd(shut);
  return proxy;
}

const PAGE = '<html><body>A page of a gateway</body></html>';

async function answer({
  request,
  response,
  target,
  loss,
}: {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly target: string;
  readonly loss: Loss | null;
}): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { socket } = request;
  if (loss === 'reset before the request was passed on') return void socket.resetAndDestroy();
  if (loss === '500') return refuse(response, 500, 'internal');
  if (loss === '503') return refuse(response, 503, 'unavailable');
  if (loss === '429') return refuse(response, 429, 'rate_limited', { 'retry-after': '1' });
  const { method = '', url: path = '', headers } = request;
  const body = Buffer.concat(chunks);
  // What is passed on is neither compressed nor in chunks, so that half of it is well known.
  const { host: _host, connection: _connection, ...others } = headers;
  const passed = await fetch(target + path, {
    method,
    headers: { ...(others as Record<string, string>), 'accept-encoding': 'identity' },
    ...(body.length > 0 && { body }),
    redirect: 'manual',
  });
  const text = await passed.text();
  if (loss === 'reset before the headers') return void socket.resetAndDestroy();
  if (loss === '502 with a page') return sendPage(response, 502);
  if (loss === '503 with a number as code') return sendJson(response, 503, 503);
  if (loss === '504 with a text as code') return sendJson(response, 504, 'GATEWAY_TIMEOUT');
  if (loss === '200 with a page') return sendPage(response, 200);
  if (loss === 'half of the headers') {
    socket.end('HTTP/1.1 200 OK\r\ncontent-type: applica');
    return;
  }
  if (loss === 'too late') {
    await once(response, 'close');
    return;
  }
  const ended = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  const kept = Object.fromEntries(passed.headers.entries());
  delete kept['transfer-encoding'];
  response.writeHead(passed.status, { ...kept, ...ended });
  if (loss === null) {
    response.end(text);
    return;
  }
  response.write(text.slice(0, text.length / 2));
  // So that the half has arrived. A reset could overtake it, which is another loss.
  await delay(50);
  socket.end();
}

function sendPage(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'text/html' });
  response.end(PAGE);
}

/** As Envoy and others answer in place of the API. */
function sendJson(response: ServerResponse, status: number, code: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ code, message: 'upstream connect error' }));
}

function refuse(
  response: ServerResponse,
  status: number,
  code: string,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/problem+json', ...headers });
  const problem = { type: 'about:blank', title: code, status, code, request_id: 'req_of_the_test' };
  response.end(JSON.stringify(problem));
}
