/**
 * The connections of the API process. Nobody may hold one for free: there is a deadline for sending
 * a request, one for the whole exchange, and a limit to what clients leave unread. When there is no
 * room for a new connection, `connection-room.ts` says which one makes room.
 */
import { createServer, type Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { atMostEvery } from '../core/at-most-every.ts';
import { systemClock, type Clock } from '../core/clock.ts';
import { createLine, type Leave } from '../core/line.ts';
import type { Limit, ObserveRefusal } from '../core/limits.ts';
import { networkOf, normalizeIp } from '../core/network.ts';
import { createRoom, type Room } from './connection-room.ts';
import { closeAfterLast, trackExchanges, type Exchanges } from './exchanges.ts';

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
  const networkOfSocket = ({ remoteAddress }: Socket): string =>
    networkOf(normalizeIp(remoteAddress));
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
