/**
 * Listens on a port with several sockets at once, over which the kernel spreads new connections.
 * Node accepts one connection of a socket in each turn of its event loop. With a single socket,
 * whoever connects behind a client that opens hundreds of connections would wait for as many turns.
 * `arrivals.ts` keeps these turns short.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server as NetServer, type Socket } from 'node:net';
import type { Server } from 'node:http';
import { createArrivals } from './arrivals.ts';

export interface Listening {
  readonly port: number;
  /** Accepts no more connections. Resolves when those that were accepted are closed. */
  readonly close: () => Promise<void>;
}

/**
 * Behind 2,500 new connections of somebody, one request in twenty takes 0.4 to 0.7 s with 16 of
 * them, and 0.1 to 0.25 s with 64. Elsewhere than on Linux, the kernel does not spread connections.
 */
const SOCKETS = process.platform === 'linux' ? 64 : 1;
/**
 * How many connections may wait at each socket until they are accepted; the kernel may allow fewer.
 * Whoever finds the line full tries again after a second.
 */
const BACKLOG = 4096;

/**
 * Resolves when the server listens. Rejects with the error of the port (`EADDRINUSE`). `prepare` is
 * called with the port before the first connection is accepted.
 */
export async function listen(
  server: Server,
  {
    port: wanted,
    host,
    turnAway,
  }: {
    readonly port: number;
    readonly host: string;
    /** Closes a connection that did not begin, because too many wait. */
    readonly turnAway: (socket: Socket) => void;
  },
  prepare: (port: number) => void,
): Promise<Listening> {
  const open = async (socket: NetServer, port: number, reusePort: boolean): Promise<number> => {
    socket.listen({ port, host, backlog: BACKLOG, reusePort });
    await once(socket, 'listening');
    return (socket.address() as AddressInfo).port;
  };
  // Sockets that share a port would share it with those of another process, too.
  if (wanted !== 0 && SOCKETS > 1) {
    const probe = createServer();
    await open(probe, wanted, false);
    await close([probe]);
  }
  const arrive = createArrivals({
    begin: (socket) => {
      server.emit('connection', socket);
      socket.resume();
    },
    turnAway,
  });
  const createSocket = (): NetServer =>
    // The first two options are those that Node gives to the socket of an HTTP server.
    createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, arrive);
  const first = createSocket();
  const port = await open(first, wanted, SOCKETS > 1);
  prepare(port);
  // Checks its deadlines from now on.
  server.emit('listening');
  const others = Array.from({ length: SOCKETS - 1 }, createSocket);
  await Promise.all(others.map((other) => open(other, port, true)));
  const sockets = [first, ...others];
  for (const socket of sockets) socket.on('error', (error) => server.emit('error', error));
  return { port, close: () => close(sockets) };
}

/** `http.Server.close` would close idle connections, too, and lose the requests just sent there. */
async function close(sockets: readonly NetServer[]): Promise<void> {
  await Promise.all(
    sockets.map((socket) => new Promise<void>((resolve) => void socket.close(() => resolve()))),
  );
}
