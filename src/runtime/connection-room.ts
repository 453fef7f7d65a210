/**
 * Who has how many of the open connections, and which one is closed when there is no room for a new
 * one. All of it takes the same time with two connections and with two thousand.
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
import type { Socket } from 'node:net';
import { createLine, firstOf, type Leave, type Line } from '../core/line.ts';
import { networkOf, normalizeIp } from '../core/network.ts';

/** A connection that never sent a request, is between two, or waits for a response. */
type ConnectionState = 'unused' | 'idle' | 'busy';

/** The connections of one address, or all of them. The longest in a state is first. */
type Lines = Readonly<Record<ConnectionState, Line<Connection>>>;

interface Address {
  readonly network: string;
  readonly lines: Lines;
  size: number;
  leaveRank: Leave;
}

interface Connection {
  readonly socket: Socket;
  readonly address: Address;
  hasLeft: boolean;
  leaveLines: () => void;
}

export interface Room {
  /** Lets a new connection in. Returns the one that must be closed for it; null: there is room. */
  enter(socket: Socket): Socket | null;
  /** Does nothing for a connection that has left. */
  move(socket: Socket, state: ConnectionState): void;
  /** The connections of the same address that never sent a request. */
  unusedOf(socket: Socket): Iterable<Socket>;
}

/** Below this share of the room, an address may be many people, or one with patience. */
const LARGE_SHARE = 1 / 20;

export function createRoom(openMax: number): Room {
  const everyone = createLines();
  const addresses = new Map<string, Address>();
  const connections = new WeakMap<Socket, Connection>();
  /** The addresses that have so many connections, by that number. */
  const ranks: Line<Address>[] = [];
  let open = 0;
  let most = 0;

  const resize = (address: Address, by: 1 | -1): void => {
    open += by;
    address.leaveRank();
    address.size += by;
    if (address.size === 0) addresses.delete(address.network);
    else {
      address.leaveRank = (ranks[address.size] ??= createLine()).join(address);
      most = Math.max(most, address.size);
    }
    // An address that leaves the highest rank goes to the one below.
    if (ranks[most]?.size() === 0) most -= 1;
  };
  const leave = (connection: Connection): void => {
    if (connection.hasLeft) return;
    connection.hasLeft = true;
    connection.leaveLines();
    resize(connection.address, -1);
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
    const largest = firstOf(ranks[most]);
    const from = largest && largest.size > openMax * LARGE_SHARE ? largest : null;
    const { unused, idle, busy } = from?.lines ?? everyone;
    const silent = firstOf(unused) ?? firstOf(idle);
    if (silent) return silent;
    return from === null || from === newest.address ? newest : (firstOf(busy) ?? newest);
  };
  return {
    enter: (socket) => {
      const network = networkOf(normalizeIp(socket.remoteAddress));
      const address = addresses.get(network) ?? {
        network,
        lines: createLines(),
        size: 0,
        leaveRank: () => false,
      };
      addresses.set(network, address);
      const connection: Connection = {
        socket,
        address,
        hasLeft: false,
        leaveLines: () => undefined,
      };
      connections.set(socket, connection);
      resize(address, 1);
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
