import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

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
  const open = new WeakMap<Socket, Set<() => void>>();
  const openOn = (socket: Socket): Set<() => void> => {
    const known = open.get(socket);
    if (known) return known;
    const made = new Set<() => void>();
    open.set(socket, made);
    socket.once('close', () => made.forEach((end) => end()));
    return made;
  };
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (request.socket.destroyed) return;
    const ends = openOn(request.socket);
    const ended = begin(request, response, ends.size + 1);
    const end = (): void => {
      if (ends.delete(end)) ended(ends.size);
    };
    ends.add(end);
    response.once('close', end);
  });
}
