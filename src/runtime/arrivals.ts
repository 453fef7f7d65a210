/**
 * Lets new connections begin, so that whoever opens thousands at once keeps nobody else waiting.
 *
 * Accepting a connection is cheap, but what its first request costs is not, and Node accepts few
 * connections per turn of its event loop. If each of 2,500 began as soon as it was accepted, each
 * turn would end with their requests, and somebody else's connection, behind them in the kernel's
 * queue, would wait until all of them are answered. So connections are accepted without being read,
 * and those of an address that has many of them begin one by one.
 *
 * Those that wait are bounded, too: whoever opens connections faster than they begin would fill the
 * memory and use up the files that the process may open. For one too many, the newest of the
 * address with the longest line is turned away, so nobody else loses one.
 */
import type { Socket } from 'node:net';
import { systemClock, type Clock } from '../core/clock.ts';
import { createLine, type Line } from '../core/line.ts';
import { networkOf, normalizeIp } from '../core/network.ts';

/** So many of an address (IPv6: its /64) begin at once. */
const FEW = 8;
/**
 * If more wait, one begins for each of these milliseconds, so a busy process still begins 500 a
 * second, for instance of a proxy. In a turn in which none comes, at least one begins. While they
 * come, those in the kernel's queue are accepted first, because somebody else's may be among them.
 */
const EVERY_MS = 2;

/**
 * So many wait at most, of all addresses. They are many, because whoever is turned away comes back
 * at once, and costs more than one that waits: beside an address that holds 4000, neighbours waited
 * for 4 to 8 s with 2000 here, and 0.4 s with these (both on a machine with much else to do).
 */
export const WAITING_MAX = 8000;

export interface Arrivals {
  /** Called with a new connection, later in the turn in which it came or after. */
  readonly begin: (socket: Socket) => void;
  /** Called with one that must be closed, because too many wait. */
  readonly turnAway: (socket: Socket) => void;
  readonly clock?: Pick<Clock, 'monotonicMs'>;
}

/** Returns what takes a new connection. */
export function createArrivals({
  begin,
  turnAway,
  clock = systemClock,
}: Arrivals): (socket: Socket) => void {
  const waiting = new Map<string, Line<Socket>>();
  let size = 0;
  let lastAt = 0;
  /** In this turn. */
  let hasCome = false;
  const beginSome = (): void => {
    const at = clock.monotonicMs();
    const count = Math.max(hasCome ? 0 : 1, Math.floor((at - lastAt) / EVERY_MS));
    hasCome = false;
    if (count > 0) lastAt = at;
    for (const [network, line] of waiting) {
      for (let left = line.size() <= FEW ? FEW : count; left > 0; left -= 1) {
        const socket = line.shift();
        if (!socket) break;
        size -= 1;
        begin(socket);
      }
      if (line.size() === 0) waiting.delete(network);
    }
    if (waiting.size > 0) setImmediate(beginSome);
  };
  const shorten = (line: Line<Socket>): void => {
    const socket = line.pop();
    if (!socket) return;
    size -= 1;
    turnAway(socket);
  };
  return (socket) => {
    if (waiting.size === 0) {
      lastAt = clock.monotonicMs();
      setImmediate(beginSome);
    }
    const network = networkOf(normalizeIp(socket.remoteAddress));
    const line = waiting.get(network) ?? createLine();
    waiting.set(network, line);
    line.join(socket);
    hasCome = true;
    size += 1;
    if (size > WAITING_MAX) shorten(longestOf(waiting, line));
  };
}

/** `line` if none is longer. More than a few of each address wait, so these are some hundreds. */
function longestOf(waiting: ReadonlyMap<string, Line<Socket>>, line: Line<Socket>): Line<Socket> {
  let longest = line;
  for (const other of waiting.values()) if (other.size() > longest.size()) longest = other;
  return longest;
}
