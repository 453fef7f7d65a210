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
    const ended = begin(request, response, open.size() + 1);
    const end = (): void => {
      if (!leave()) return;
      connection.answeredEarly = request.complete ? null : request;
      ended(open.size());
    };
    const leave = open.join({ request, response, end });
    response.once('close', end);
  });
  return on;
}

interface Tracked extends Exchanges {
  readonly open: Line<Exchange & { readonly end: () => void }>;
}
