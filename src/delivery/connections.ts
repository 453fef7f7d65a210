/**
 * Connections to receivers, kept for later attempts. A connection is reused only for the same
 * origin *and* the same checked addresses. So no attempt goes to an address that was not checked
 * for it.
 */
import { isIP, type Socket, type TcpSocketConnectOpts } from 'node:net';
import { DEFAULT_CIPHERS } from 'node:tls';
import { buildConnector, Client, errors } from 'undici';
import { systemClock, type Cancel, type Clock } from '../core/clock.ts';
import type { HostAddress } from '../core/dns-lookup.ts';
import { CountedSocket } from './counted-socket.ts';
import { acceptLikeCurl } from './parser.ts';

type Way = Partial<TcpSocketConnectOpts>;

/** The addresses of one origin. */
export interface Route {
  readonly key: string;
  readonly origin: string;
  /** How a socket comes to one of the addresses. */
  readonly way: Way;
  readonly connect: ReturnType<typeof buildConnector>;
  /** The connections that no request uses, the last used one at the end. */
  readonly idle: Connection[];
  /** How many connections it has, in use or idle. Written by connect and discard. */
  connections: number;
}

/**
 * undici's client for one request at a time. It connects at its first request, and again when its
 * socket is gone.
 */
export interface Connection {
  readonly client: Client;
  /** How often it has connected. Written by its client's `connect` event; read by sender.ts. */
  opened: number;
  /** Its socket of now or, once that is closed, of before; null until it has connected. */
  socket: Socket | null;
  /** What is below the socket, if that has TLS. */
  below: CountedSocket | null;
  /** The bytes that undici had taken from the socket before the last request. */
  takenBefore: number;
  /** Written by keep; read by sweep. */
  idleSinceMs: number;
}

/** All connections of one sender. */
export interface Connections {
  readonly attemptTimeoutMs: number;
  readonly keepAliveMs: number;
  readonly clock: Pick<Clock, 'monotonicMs' | 'after' | 'every'>;
  /** By origin and addresses. Written by routeTo and sweep. */
  readonly routes: Map<string, Route>;
  /** All clients, in use or idle. Written by connect and discard; read by closeConnections. */
  readonly open: Set<Client>;
  readonly endSweeps: Cancel;
}

/** How long a connection is kept that no request uses. */
export const KEEP_ALIVE_MS = 15_000;

/**
 * What is read of an answer, counted at the socket: its head, the excerpt, and what may stand
 * around both. undici counts only parts of it. An answer without an end would keep the process
 * busy.
 */
const ANSWER_MAX_BYTES = 32_768;
/** What TLS may add to an answer: 22 bytes for each piece, tickets, new keys, its end. */
const ANSWER_TLS_MAX_BYTES = 16_384;
/**
 * Without those for which the server chooses a prime: one of 10,000 bits takes 0.8 s of computing.
 * Whoever has them has those of elliptic curves, too.
 */
const CIPHERS = `${DEFAULT_CIPHERS}:!DHE`;
/** A server sends about two tickets for later TLS sessions. They do not count as bytes read. */
const TICKETS_MAX = 20;

/**
 * How many addresses of a name are tried, each one for this part of the attempt's time, the last
 * one until its end. The part is longer than the second in which a lost packet is repeated.
 */
const ADDRESSES_TRIED = 3;
const ADDRESS_SHARE = 0.25;

/** Returns an empty pool. The caller must end its attempts within `attemptTimeoutMs`. */
export function newConnections(
  attemptTimeoutMs: number,
  keepAliveMs: number,
  clock: Connections['clock'] = systemClock,
): Connections {
  const connections: Connections = {
    attemptTimeoutMs,
    keepAliveMs,
    clock,
    routes: new Map(),
    open: new Set(),
    endSweeps: clock.every(keepAliveMs, () => sweep(connections)),
  };
  return connections;
}

/** Finds or adds the route to the checked addresses of an origin. */
export function routeTo(
  { routes, attemptTimeoutMs }: Connections,
  origin: string,
  addresses: readonly HostAddress[],
): Route {
  const sorted = addresses.map(({ address }) => address).toSorted();
  const key = `${origin} ${sorted.join()}`;
  const known = routes.get(key);
  if (known) return known;
  const way: Way = {
    lookup: (_name, _options, done) => done(null, addresses.slice(0, ADDRESSES_TRIED)),
    autoSelectFamily: true,
    // Node takes a whole number.
    autoSelectFamilyAttemptTimeout: Math.ceil(attemptTimeoutMs * ADDRESS_SHARE),
  };
  // The attempt's own timer cannot stop a socket that is still connecting. This timeout does.
  const timeout = attemptTimeoutMs + 1_000;
  const connect = buildConnector({ ...way, timeout, allowH2: false, ciphers: CIPHERS });
  const route: Route = { key, origin, way, connect, idle: [], connections: 0 };
  routes.set(key, route);
  return route;
}

/** Adds a connection. It connects at its first request. */
export function connect({ open, keepAliveMs }: Connections, route: Route): Connection {
  const client = new Client(route.origin, {
    pipelining: 1,
    keepAliveTimeout: keepAliveMs,
    // The attempt's own timer is exact. undici's timers count half seconds and may be early.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: 16_384,
    connect: (options, done) => {
      const below = options.protocol === 'https:' ? new CountedSocket() : null;
      const ofTls = below && { servername: nameToTell(options.hostname), httpSocket: below };
      route.connect({ ...options, ...ofTls }, (...[error, socket]) => {
        if (error) return done(error, null);
        limitAnswers(connection, socket, below);
        if (below) ignoreAfterClose(socket);
        done(null, socket);
      });
      if (below) connectBelow(below, route.way, options);
    },
  });
  const connection: Connection = {
    client,
    opened: 0,
    socket: null,
    below: null,
    takenBefore: 0,
    idleSinceMs: 0,
  };
  client.on('connect', () => {
    connection.opened += 1;
    if (connection.socket) acceptLikeCurl(connection.socket);
  });
  open.add(client);
  route.connections += 1;
  return connection;
}

/** A name that is told to a server has no dot at its end (RFC 6066), though that of a URL may. */
function nameToTell(hostname: string): string {
  return isIP(hostname) ? '' : hostname.replace(/\.$/, '');
}

/** As undici does without TLS, but it does not hold the process open: a draining loop does. */
function connectBelow(
  below: CountedSocket,
  way: Way,
  { hostname, port }: { readonly hostname: string; readonly port: string },
): void {
  below.setNoDelay(true).setKeepAlive(true, 60_000).unref();
  below.connect({ ...way, host: hostname, port: Number(port || 443) });
}

/**
 * Over a socket in JavaScript, TLS may tell an error after it has closed, for instance a reset by
 * the receiver. undici has failed the request by then, and would break the process over the error.
 */
function ignoreAfterClose(socket: Socket): void {
  socket.once('close', () => {
    socket.removeAllListeners('error');
    socket.on('error', () => undefined);
  });
}

/** Breaks off whatever is longer than an answer, also between two requests. */
function limitAnswers(connection: Connection, socket: Socket, below: CountedSocket | null): void {
  connection.socket = socket;
  connection.below = below;
  expectAnswer(connection);
  const refuse = (): unknown => socket.destroy(new errors.ResponseExceededMaxSizeError());
  // Called before undici takes what has come.
  socket.on('readable', () => {
    if (takenFrom(socket) - connection.takenBefore > ANSWER_MAX_BYTES) refuse();
  });
  let tickets = 0;
  socket.on('session', () => {
    tickets += 1;
    if (tickets > TICKETS_MAX) refuse();
  });
}

/** Counts the bytes of the next answer from here. Call it before each request. */
export function expectAnswer(connection: Connection): void {
  if (connection.socket) connection.takenBefore = takenFrom(connection.socket);
  connection.below?.allow(ANSWER_MAX_BYTES + ANSWER_TLS_MAX_BYTES);
}

function takenFrom({ bytesRead, readableLength }: Socket): number {
  return bytesRead - readableLength;
}

/** Keeps a connection for the route's next request. */
export function keep({ clock }: Connections, route: Route, connection: Connection): void {
  connection.idleSinceMs = clock.monotonicMs();
  route.idle.push(connection);
}

/** Closes a connection that no request uses any more. */
export function discard({ open }: Connections, route: Route, { client }: Connection): void {
  open.delete(client);
  route.connections -= 1;
  // No request is in flight on it, so nothing can fail.
  void client.destroy();
}

/** Closes all connections. Requests in flight fail. */
export async function closeConnections({ open, endSweeps }: Connections): Promise<void> {
  endSweeps();
  await Promise.all([...open].map((client) => client.destroy()));
}

/**
 * Drops connections that were not used for `keepAliveMs`, and routes without connections. Requests
 * take the connection that was used last, so the unused ones age at the front.
 */
function sweep(connections: Connections): void {
  const { routes, keepAliveMs, clock } = connections;
  const oldestMs = clock.monotonicMs() - keepAliveMs;
  for (const [key, route] of routes) {
    const { idle } = route;
    const young = idle.findIndex(({ idleSinceMs }) => idleSinceMs >= oldestMs);
    const old = idle.splice(0, young < 0 ? idle.length : young);
    for (const connection of old) discard(connections, route, connection);
    // A connection in use comes back to it.
    if (route.connections === 0) routes.delete(key);
  }
}
