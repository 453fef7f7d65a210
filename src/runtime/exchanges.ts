import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createLine, type Line } from '../core/line.ts';

/** Called with how many exchanges are left on the connection. */
export type End = (left: number) => void;

/** A request and its response. */
export interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** What a connection has to do. */
export interface Exchanges {
  /** Those whose response was not sent yet, in their order. */
  readonly open: Line<Exchange>;
  /** The last request that was answered before all of it had come. */
  answeredEarly: IncomingMessage | null;
}

/**
 * Calls `begin` for each request of a server, with how many are open on its connection, and the
 * function that it returns once, when the response was sent or the connection ended. The `close`
 * event of a response is not enough: a response that waits behind another one of its connection
 * does not get it when the connection ends.
 *
 * Returns what tells the exchanges of a connection.
 */
export function trackExchanges(
  server: Server,
  begin: (request: IncomingMessage, response: ServerResponse, open: number) => End,
): (socket: Socket) => Exchanges {
  const connections = new WeakMap<Socket, Tracked>();
  const on = (socket: Socket): Tracked => {
    const known = connections.get(socket);
    if (known) return known;
    const made: Tracked = { open: createLine(), answeredEarly: null };
    connections.set(socket, made);
    socket.once('close', () => {
      for (const { end } of made.open) end();
    });
    return made;
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.socket.destroyed) return;
    const connection = on(request.socket);
    const { open } = connection;
    const end = (): void => {
      if (!leave()) return;
      connection.answeredEarly = request.complete ? null : request;
      ended(open.size());
    };
    const leave = open.join({ request, response, end });
    const ended = begin(request, response, open.size());
    response.once('close', end);
  });
  return on;
}

/**
 * Has a connection end with the last answer that it owes now. After one that says so, Node drops
 * those behind it, whatever their requests have done.
 */
export function closeAfterLast({ open }: Exchanges): void {
  const last = [...open].at(-1);
  for (const { response } of open) {
    if (response.headersSent) continue;
    if (response === last?.response) response.setHeader('Connection', 'close');
    else response.removeHeader('Connection');
  }
  if (!last?.response.headersSent) return;
  const { socket } = last.request;
  last.response.once('close', () => {
    if (open.size() === 0) socket.destroySoon();
  });
}

interface Tracked extends Exchanges {
  readonly open: Line<Exchange & { readonly end: () => void }>;
}
