/**
 * The connections of the API process. Nobody may hold one for free: there is a deadline for sending
 * a request, one for the whole exchange, and a limit to what clients leave unread. When there is no
 * room for a new connection, one of the address that has most makes room (`createRoom`).
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { atMostEvery } from '../core/at-most-every.ts';
import { systemClock, type Clock } from '../core/clock.ts';
import { createLine, firstOf, type Leave, type Line } from '../core/line.ts';
import type { Limit, ObserveRefusal } from '../core/limits.ts';
import { networkOf, normalizeIp } from '../core/network.ts';

export interface ConnectionLimits {
  /** The most open connections. */
  readonly openMax: number;
  /** The most requests in flight on one connection. Only a client that pipelines sends several. */
  readonly pipelinedMax: number;
  /** How often the address of a client that sent more may open a connection, for a while. */
  readonly suspectEveryMs: number;
  /** From the first byte of a request, or from the connection, to the end of its headers. */
  readonly headersTimeoutMs: number;
  /** From the first byte of a request to the end of its body. */
  readonly requestTimeoutMs: number;
  /** From the end of a request's headers to the last byte of the response. */
  readonly exchangeTimeoutMs: number;
  /** The most bytes of responses that wait for clients to read, over all connections. */
  readonly unreadMaxBytes: number;
  /** How often deadlines are checked. */
  readonly checkEveryMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  openMax: 2000,
  pipelinedMax: 16,
  suspectEveryMs: 250,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  exchangeTimeoutMs: 60_000,
  unreadMaxBytes: 64 * 1024 * 1024,
  checkEveryMs: 1_000,
};

/** After so many requests a client connects anew, so that clients spread over new processes. */
const REQUESTS_PER_CONNECTION_MAX = 1000;

const TELL_EVERY_MS = 10_000;

export interface GuardedServer {
  readonly server: Server;
  /**
   * Lets the address of a connection open only few new ones, for a while. For an address that is
   * the caller's own, not a proxy's.
   */
  readonly suspect: (socket: Socket) => void;
  /** Has a connection end with the last answer that it owes now. */
  readonly closeAfterLast: (socket: Socket) => void;
  /** Closes a connection for which there is no room. */
  readonly turnAway: (socket: Socket) => void;
  /**
   * Sets what answers a connection whose bytes are no HTTP, or come too late. It is called only if
   * its answer cannot be taken for that of another request.
   */
  readonly onBroken: (answer: AnswerBroken) => void;
}

/** Answers what the parser has refused, and ends the connection. */
export type AnswerBroken = (error: NodeJS.ErrnoException, socket: Socket) => void;

/**
 * Creates a server that keeps the limits. `onFull` is called when connections have to make room, at
 * most every ten seconds.
 */
export function createGuardedServer(
  options: {
    readonly limits?: Partial<ConnectionLimits>;
    readonly onFull?: () => void;
    readonly observeRefusal?: ObserveRefusal;
    readonly clock?: ConnectionClock;
  } = {},
): GuardedServer {
  const limits = { ...CONNECTION_LIMITS, ...options.limits };
  const clock = options.clock ?? systemClock;
  const count = (limit: Limit): void => options.observeRefusal?.(limit, null);
  const server = createServer({
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: limits.checkEveryMs,
    // Node's own answers to these have no body. The app refuses them.
    requireHostHeader: false,
  });
  server.on('checkExpectation', (...exchange) => void server.emit('request', ...exchange));
  server.maxRequestsPerSocket = REQUESTS_PER_CONNECTION_MAX;
  const room = createRoom(limits.openMax);
  const floods = slowDownFloods({ limits, room, count, clock });
  const turnAway = toTurnAway(clock, () => count('connections'), options.onFull);
  server.on('connection', (socket: Socket) => {
    if (!floods.admit(socket)) {
      socket.destroy();
      return;
    }
    const closing = room.enter(socket);
    if (closing) turnAway(closing);
  });
  const reading = closeUnread(limits, count);
  const deadline = closeLate(server, { limits, count, clock });
  const exchangesOf = trackExchanges(server, ({ socket }, response, open) => {
    room.move(socket, 'busy');
    const endDeadline = deadline.begin(socket);
    response.once('prefinish', () => reading.begin(socket));
    if (open > limits.pipelinedMax) floods.stop(socket);
    return (left) => {
      endDeadline();
      reading.end(socket);
      if (left === 0) room.move(socket, 'idle');
    };
  });
  const onBroken: GuardedServer['onBroken'] = (answer) =>
    void server.on('clientError', endBroken(exchangesOf, answer, count));
  return {
    server,
    suspect: floods.suspect,
    closeAfterLast: (socket) => closeAfterLast(exchangesOf(socket)),
    turnAway,
    onBroken,
  };
}

type Count = (limit: Limit) => void;
type ConnectionClock = Pick<Clock, 'monotonicMs' | 'every'>;

/** What each of the guards below gets. */
interface Guard {
  readonly limits: ConnectionLimits;
  readonly count: Count;
  readonly clock: ConnectionClock;
}

/** By the code of the parser's error. */
const LIMIT_OF_PARSER: Readonly<Record<string, Limit>> = {
  HPE_HEADER_OVERFLOW: 'header_size',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_time',
};

/**
 * Ends a connection whose bytes the parser has refused. The client reads answers in the order of
 * its requests. So while one waits for its answer, nothing is said about what came behind it: the
 * connection ends with the last answer that is owed. The same holds for a request that has its
 * answer, and whose body is what was refused.
 */
function endBroken(
  exchangesOf: (socket: Socket) => Exchanges,
  answer: AnswerBroken,
  count: Count,
): (error: NodeJS.ErrnoException, socket: Duplex) => void {
  const ending = new WeakSet<Socket>();
  return (error, stream) => {
    const socket = stream as Socket;
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    // The parser refuses each packet that comes from now on, too.
    if (ending.has(socket)) return;
    ending.add(socket);
    const limit = LIMIT_OF_PARSER[error.code ?? ''];
    if (limit) count(limit);
    const { open, answeredEarly } = exchangesOf(socket);
    const owed = [...open].findLast(({ request }) => request.complete)?.response;
    if (owed) {
      if (!owed.headersSent) owed.setHeader('Connection', 'close');
      owed.once('close', () => socket.destroySoon());
      return;
    }
    const [own] = open;
    const isAnswered = own?.response.headersSent ?? answeredEarly?.complete === false;
    if (isAnswered) socket.destroySoon();
    else answer(error, socket);
  };
}

function toTurnAway(
  clock: ConnectionClock,
  onClose: () => void,
  onFull?: () => void,
): (socket: Socket) => void {
  const tell = atMostEvery(TELL_EVERY_MS, clock, () => onFull?.());
  return (socket) => {
    socket.destroy();
    onClose();
    tell();
  };
}

/** How long an address that flooded a connection may open only few new ones. */
const SUSPECT_MS = 10_000;

/**
 * Closes a connection that has too many requests in flight. Node has then parsed hundreds more of
 * them at once, so the client must not come back with a new connection each time. Its unused
 * connections go, too: forty of them that are read in one turn would stop the process for a second.
 */
function slowDownFloods({ limits, room, count, clock }: Guard & { readonly room: Room }) {
  const { suspectEveryMs } = limits;
  const suspects = new Map<string, { until: number; nextAt: number }>();
  /** Whether the new connection may stay. */
  const admit = (socket: Socket): boolean => {
    if (suspects.size === 0) return true;
    const network = networkOfSocket(socket);
    const suspect = suspects.get(network);
    if (!suspect) return true;
    const now = clock.monotonicMs();
    if (suspect.until < now) suspects.delete(network);
    else if (suspect.nextAt > now) {
      count('connection_rate');
      return false;
    } else suspect.nextAt = now + suspectEveryMs;
    return true;
  };
  const suspect = (socket: Socket): void => {
    const now = clock.monotonicMs();
    const network = networkOfSocket(socket);
    const nextAt = suspects.get(network)?.nextAt ?? now + suspectEveryMs;
    // The last one to be suspected is the last one in the map.
    suspects.delete(network);
    suspects.set(network, { until: now + SUSPECT_MS, nextAt });
    for (const [known, { until }] of suspects) {
      if (until >= now) break;
      suspects.delete(known);
    }
  };
  const stop = (socket: Socket): void => {
    suspect(socket);
    count('pipelined_requests');
    // Node makes an error for each of them. Stack traces would be four fifths of the cost.
    const traces = Error.stackTraceLimit;
    socket.prependOnceListener('close', () => (Error.stackTraceLimit = 0));
    socket.once('close', () => (Error.stackTraceLimit = traces));
    socket.destroy();
    for (const other of room.unusedOf(socket)) other.destroy();
  };
  return { admit, suspect, stop };
}

/** Closes the connections of exchanges that take too long. */
function closeLate(server: Server, { limits, count, clock }: Guard) {
  const { exchangeTimeoutMs, checkEveryMs } = limits;
  const inFlight = createLine<{ readonly socket: Socket; readonly until: number }>();
  const endChecks = clock.every(checkEveryMs, () => {
    const now = clock.monotonicMs();
    for (const { socket, until } of inFlight) {
      if (until > now) break;
      if (!socket.destroyed) count('exchange_time');
      socket.destroy();
    }
  });
  server.once('close', endChecks);
  return {
    begin: (socket: Socket): Leave =>
      inFlight.join({ socket, until: clock.monotonicMs() + exchangeTimeoutMs }),
  };
}

/** Closes the connections that have left a response unread for longest, until the others fit. */
function closeUnread({ unreadMaxBytes }: ConnectionLimits, count: Count) {
  const unread = new Set<Socket>();
  const begin = (socket: Socket): void => {
    if (socket.writableLength === 0) return;
    unread.add(socket);
    let bytes = 0;
    for (const { writableLength } of unread) bytes += writableLength;
    for (const slow of unread) {
      if (bytes <= unreadMaxBytes) return;
      bytes -= slow.writableLength;
      unread.delete(slow);
      count('unread_bytes');
      slow.destroy();
    }
  };
  return { begin, end: (socket: Socket) => void unread.delete(socket) };
}

/** A connection that never sent a request, is between two, or waits for a response. */
type ConnectionState = 'unused' | 'idle' | 'busy';

/** The connections of one address, or all of them. The longest in a state is first. */
type Lines = Readonly<Record<ConnectionState, Line<Connection>>>;

interface Address {
  readonly network: string;
  readonly lines: Lines;
  size: number;
}

interface Connection {
  readonly socket: Socket;
  readonly address: Address;
  hasLeft: boolean;
  leaveLines: () => void;
}

interface Room {
  /** Lets a new connection in. Returns the one that must be closed for it; null: there is room. */
  enter(socket: Socket): Socket | null;
  /** Does nothing for a connection that has left. */
  move(socket: Socket, state: ConnectionState): void;
  /** The connections of the same address that never sent a request. */
  unusedOf(socket: Socket): Iterable<Socket>;
}

/** Below this share of the room, an address may be many people, or one with patience. */
const LARGE_SHARE = 1 / 20;

/**
 * Counts who has how many of the open connections, and chooses the one that is closed when there is
 * no room for a new one.
 *
 * Whose connection it is, is told by the address of its peer (IPv6: its /64). While an address has
 * more than a twentieth of the room, one of the address that has most is closed: one that never
 * sent a request, or one between two requests, or one that waits for a response, in this order, and
 * of those the one that has been so for longest. So whoever opens thousands loses their own, and
 * keeps nobody out. While no address has so many, one that never sent a request goes before all
 * that have sent one, then the one that has been between two requests for longest, and if all wait
 * for a response, the new one.
 *
 * Behind a proxy (TRUST_PROXY) the peer of every connection is the proxy, and callers have no
 * connections here: all are of one address, so the order above is that of all connections, a
 * response is never cut off, and what one caller may open is the proxy's to limit. What a caller
 * may ask for is limited by the caller's own address there, too (`http/concurrency-limit.ts`).
 */
function createRoom(openMax: number): Room {
  const everyone = createLines();
  const addresses = new Map<string, Address>();
  const connections = new WeakMap<Socket, Connection>();
  let open = 0;

  const leave = (connection: Connection): void => {
    if (connection.hasLeft) return;
    connection.hasLeft = true;
    connection.leaveLines();
    open -= 1;
    connection.address.size -= 1;
    if (connection.address.size === 0) addresses.delete(connection.address.network);
  };
  const place = (connection: Connection, state: ConnectionState): void => {
    if (connection.hasLeft) return;
    connection.leaveLines();
    const leaveOwn = connection.address.lines[state].join(connection);
    const leaveAll = everyone[state].join(connection);
    connection.leaveLines = () => {
      leaveOwn();
      leaveAll();
    };
  };
  const choose = (newest: Connection): Connection => {
    let largest = newest.address;
    for (const address of addresses.values()) if (address.size > largest.size) largest = address;
    const from = largest.size > openMax * LARGE_SHARE ? largest : null;
    const { unused, idle, busy } = from?.lines ?? everyone;
    const silent = firstOf(unused) ?? firstOf(idle);
    if (silent) return silent;
    return from === null || from === newest.address ? newest : (firstOf(busy) ?? newest);
  };
  return {
    enter: (socket) => {
      const network = networkOfSocket(socket);
      const address = addresses.get(network) ?? { network, lines: createLines(), size: 0 };
      addresses.set(network, address);
      const leaveLines = (): void => undefined;
      const connection: Connection = { socket, address, hasLeft: false, leaveLines };
      connections.set(socket, connection);
      open += 1;
      address.size += 1;
      socket.once('close', () => leave(connection));
      const closing = open > openMax ? choose(connection) : null;
      if (closing) leave(closing);
      place(connection, 'unused');
      return closing && closing.socket;
    },
    move: (socket, state) => {
      const connection = connections.get(socket);
      if (connection) place(connection, state);
    },
    *unusedOf(socket) {
      for (const { socket: other } of connections.get(socket)?.address.lines.unused ?? [])
        yield other;
    },
  };
}

function createLines(): Lines {
  return { unused: createLine(), idle: createLine(), busy: createLine() };
}

function networkOfSocket({ remoteAddress }: Socket): string {
  return networkOf(normalizeIp(remoteAddress));
}

/** Called with how many exchanges are left on the connection. */
type End = (left: number) => void;

/** A request and its response. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/** What a connection has to do. */
interface Exchanges {
  /** Those whose response was not sent yet, in their order. */
  readonly open: Line<Exchange>;
  /** The last request that was answered before all of it had come. */
  answeredEarly: IncomingMessage | null;
}

interface Tracked extends Exchanges {
  readonly open: Line<Exchange & { readonly end: () => void }>;
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
