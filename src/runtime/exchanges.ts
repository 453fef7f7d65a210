import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { createLine, type Line } from '../core/line.ts';

/** Called with how many exchanges are left on the connection. */
export type End = (left: number) => void;

/**
 * Calls `begin` for each request of a server, with how many are open on its connection, and the
 * function that it returns once, when the response was sent or the connection ended. The `close`
 * event of a response is not enough: a response that waits behind another one of its connection
 * does not get it when the connection ends.
 */
export function trackExchanges(
  server: Server,
  begin: (request: IncomingMessage, response: ServerResponse, open: number) => End,
): void {
  const open = new WeakMap<Socket, Line<() => void>>();
  const openOn = (socket: Socket): Line<() => void> => {
    const known = open.get(socket);
    if (known) return known;
    const made = createLine<() => void>();
    open.set(socket, made);
    socket.once('close', () => {
      for (const end of made) end();
    });
    return made;
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.socket.destroyed) return;
    const ends = openOn(request.socket);
    const ended = begin(request, response, ends.size() + 1);
    const end = (): void => {
      if (leave()) ended(ends.size());
    };
    const leave = ends.join(end);
    response.once('close', end);
  });
}
