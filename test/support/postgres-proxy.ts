import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** The number that the protocol has in place of its version. */
const CANCEL_REQUEST = 80877102;

/** Stands between the service and Postgres, and can fall silent as a lost host does. */
export interface PostgresProxy {
  /** The database's URL through this proxy. */
  readonly url: string;
  /** Drops what both sides send. Connections stay open, and new ones are accepted. */
  fallSilent(): void;
  /**
   * Falls silent as soon as the service sends this text, which Postgres does not get. Resolves
   * then.
   */
  fallSilentAt(text: string): Promise<void>;
  /**
   * Keeps the service's next request to cancel a statement. Resolves then, with a function that
   * forwards the request, even if the service has given up meanwhile, and resolves when Postgres
   * has handled it.
   */
  holdCancellation(): Promise<() => Promise<void>>;
  /** Breaks all connections. New ones are turned away, as by a Postgres that still starts. */
  turnAway(): void;
  /** Breaks the connections of that time and forwards again. */
  recover(): void;
  /** Breaks all connections. New ones lead to this database. */
  redirect(databaseUrl: string): void;
  /** From now on, Postgres prepares this text for the service's statement of this name. */
  prepareInstead(name: string, text: string): void;
  stop(): Promise<void>;
}

/**
 * Starts the proxy. It forwards until `fallSilent` is called. Connections with the startup
 * parameter `refused` are turned away, as PgBouncer does. `isPooler`: it tells each connection a
 * number of its own for the session.
 */
export async function startPostgresProxy(
  databaseUrl: string,
  { refused, isPooler }: { readonly refused?: string; readonly isPooler?: boolean } = {},
): Promise<PostgresProxy> {
  let target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let isSilent = false;
  let isStarting = false;
  let silentAt: string | null = null;
  let onSilent = (): void => undefined;
  let onCancellation: ((forward: () => Promise<void>) => void) | null = null;
  let instead: { readonly name: string; readonly text: string } | null = null;
  // A lost host does not close its side, either.
  const allowHalfOpen = true;
  const server = createServer({ allowHalfOpen }, (service) => {
    const postgres = connect({ port: Number(target.port), host: target.hostname, allowHalfOpen });
    let isHeld = false;
    for (const [socket, peer] of [
      [service, postgres],
      [postgres, service],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay();
      socket.on('error', () => undefined);
      socket.on('data', (chunk) => {
        if (isStarting && socket === service) {
          service.end(refusalOf('57P03', 'the database system is starting up'));
          return;
        }
        // Only the first packet of a connection holds the parameters.
        if (refused && socket === service && chunk.includes(`\0${refused}\0`)) {
          service.end(refusalOf('08P01', `unsupported startup parameter: ${refused}`));
          return;
        }
        if (isPooler && socket === postgres) renumber(chunk);
        if (!isSilent && silentAt !== null && socket === service && chunk.includes(silentAt)) {
          isSilent = true;
          onSilent();
        }
        if (onCancellation && socket === service && asksToCancel(chunk)) {
          onCancellation(() => forwardLast(peer, chunk));
          onCancellation = null;
          isHeld = true;
          return;
        }
        if (!isSilent) peer.write(instead && socket === service ? changed(chunk, instead) : chunk);
      });
      const keepsPeer = (): boolean => isHeld && socket === service;
      socket.on('end', () => {
        if (!isSilent && !keepsPeer()) peer.end();
      });
      socket.on('close', () => {
        if (!keepsPeer()) peer.destroy();
        sockets.delete(socket);
      });
    }
  });
  const breakAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    fallSilent: () => {
      isSilent = true;
    },
    fallSilentAt: (text) => {
      silentAt = text;
      return new Promise((resolve) => {
        onSilent = resolve;
      });
    },
    holdCancellation: () => {
      const { promise, resolve } = Promise.withResolvers<() => Promise<void>>();
      onCancellation = resolve;
      return promise;
    },
    turnAway: () => {
      isStarting = true;
      breakAll();
    },
    recover: () => {
      breakAll();
      isSilent = false;
      isStarting = false;
      silentAt = null;
    },
    redirect: (url) => {
      target = new URL(url);
      breakAll();
    },
    prepareInstead: (name, text) => {
      instead = { name, text };
    },
    stop: async () => {
      breakAll();
      await new Promise((done) => server.close(done));
    },
  };
}

function asksToCancel(chunk: Buffer): boolean {
  return chunk.length >= 8 && chunk.readInt32BE(4) === CANCEL_REQUEST;
}

/** Changes the number that a login is answered with, in its message: a letter, the length, it. */
function renumber(chunk: Buffer): void {
  const start = chunk.indexOf('K\0\0\0\f');
  if (start >= 0) chunk.writeInt32BE(chunk.readInt32BE(start + 5) + 1_000_000, start + 5);
}

/** Resolves when the connection has ended. */
async function forwardLast(postgres: Socket, chunk: Buffer): Promise<void> {
  if (postgres.destroyed) return;
  postgres.end(chunk);
  await once(postgres, 'close');
}

/** An error at the start, as the protocol has it: each field has a letter and ends with a zero. */
function refusalOf(code: string, message: string): Buffer {
  const fields = `SFATAL\0C${code}\0M${message}\0\0`;
  const head = Buffer.alloc(5, 'E');
  head.writeInt32BE(4 + fields.length, 1);
  return Buffer.concat([head, Buffer.from(fields)]);
}

/**
 * Changes the text in the message that prepares the statement: a letter, the length, the name, the
 * text, and the number of types.
 */
function changed(
  chunk: Buffer,
  { name, text }: { readonly name: string; readonly text: string },
): Buffer {
  const start = chunk.indexOf(`${name}\0`) - 5;
  if (chunk[start] !== 'P'.charCodeAt(0)) return chunk;
  const oldText = start + 5 + Buffer.byteLength(name) + 1;
  const body = Buffer.from(`${name}\0${text}\0\0\0`);
  const head = Buffer.alloc(5, 'P');
  head.writeInt32BE(4 + body.length, 1);
  const rest = chunk.subarray(start + 1 + chunk.readInt32BE(start + 1));
  if (chunk.readInt16BE(chunk.indexOf(0, oldText) + 1) !== 0) throw new Error('it names types');
  return Buffer.concat([chunk.subarray(0, start), head, body, rest]);
}
