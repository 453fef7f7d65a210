/**
 * Lets new connections begin, so that whoever opens thousands at once keeps nobody else waiting.
 *
 * Accepting a connection is cheap, but what its first request costs is not, and Node accepts few
 * connections per turn of its event loop. If each of 2,500 began as soon as it was accepted, each
 * turn would end with their requests, and somebody else's connection, behind them in the kernel's
 * queue, would wait until all of them are answered. So connections are accepted without being read,
 * and those of an address that has many of them begin one by one.
 */
import type { Socket } from 'node:net';
import { createLine, type Line } from '../core/line.ts';
import { networkOf, normalizeIp } from '../core/network.ts';

/** So many of an address (IPv6: its /64) begin at once. */
const FEW = 8;
/**
 * If more wait, one begins in each turn; one more for each of these milliseconds that the last turn
 * took. So a busy process still begins 500 a second, for instance of a proxy.
 */
const EVERY_MS = 2;

/** Returns what takes a new connection. `begin` is called with it, later in this turn or after. */
export function createArrivals(
  begin: (socket: Socket) => void,
  now = () => performance.now(),
): (socket: Socket) => void {
  const waiting = new Map<string, Line<Socket>>();
  let lastAt = 0;
  const beginSome = (): void => {
    const at = now();
    const count = Math.max(1, Math.floor((at - lastAt) / EVERY_MS));
    lastAt = at;
    for (const [network, line] of waiting) {
      for (let left = line.size() <= FEW ? FEW : count; left > 0; left -= 1) {
        const socket = line.shift();
        if (!socket) break;
        begin(socket);
      }
      if (line.size() === 0) waiting.delete(network);
    }
    if (waiting.size > 0) setImmediate(beginSome);
  };
  return (socket) => {
    if (waiting.size === 0) {
      lastAt = now();
      setImmediate(beginSome);
    }
    const network = networkOf(normalizeIp(socket.remoteAddress));
    const line = waiting.get(network) ?? createLine();
    waiting.set(network, line);
    line.join(socket);
  };
}
