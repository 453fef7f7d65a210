import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A proxy between an API and Postgres that counts how often the API waits for Postgres. */
export interface RoundTripCounter {
  /** The database's URL through this proxy. */
  readonly url: string;
  /** Returns the round trips of all connections so far, without those of connecting. */
  count(): number;
  stop(): Promise<void>;
}

/**
 * Longer than a request computes between two statements that it sends without waiting. The proxy
 * and the API are in one process, so a delay of one also delays the other.
 */
const QUIET_MS = 5;
/** What tells workers after a commit, and what asks where a team is. No request waits for them. */
const ASIDE = ['wakeUps.notify', 'teamNodes.find'];

/** What the connections of one API have sent and not yet been answered, together. */
interface Waits {
  /** Passes on what the clients have sent. */
  readonly flushes: Set<() => void>;
  /** Passes on the answers. */
  readonly answers: Set<() => void>;
  quiet: NodeJS.Timeout | undefined;
  /** How many answers the requests wait for. */
  open: number;
  count: number;
}

/**
 * Starts the proxy. It collects what the client sends on any connection until the client has been
 * quiet, passes it on together, and holds the answers back until Postgres has answered all of it.
 * Statements that do not wait for each other's answers therefore count as one round trip, on one
 * connection or on several.
 */
export async function startRoundTripCounter(databaseUrl: string): Promise<RoundTripCounter> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const waits: Waits = {
    flushes: new Set(),
    answers: new Set(),
    quiet: undefined,
    open: 0,
    count: 0,
  };
  const server = createServer((client) => {
    const postgres = connect(Number(target.port), target.hostname);
    for (const socket of [client, postgres]) {
      sockets.add(socket);
      socket.setNoDelay();
      socket.on('error', () => undefined);
      socket.on('close', () => {
        for (const end of [client, postgres]) end.destroy();
        sockets.delete(socket);
      });
    }
    pass(client, postgres, waits);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = new URL(databaseUrl);
  url.hostname = '127.0.0.1';
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    count: () => waits.count,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

function pass(client: Socket, postgres: Socket, waits: Waits): void {
  let isConnected = false;
  /** The answers of Postgres ("ready for query") that are still to come, in order. */
  const awaited: ('request' | 'aside')[] = [];
  let outgoing: Buffer[] = [];
  let answers: Buffer[] = [];
  const countRequests = messageCounter('QS');
  const countAnswers = messageCounter('Z');

  const flush = (): void => {
    if (outgoing.length === 0) return;
    const together = Buffer.concat(outgoing);
    outgoing = [];
    const requests = countRequests(together);
    const isAside = requests === 1 && ASIDE.some((name) => together.includes(name));
    const kind = isAside ? 'aside' : 'request';
    awaited.push(...Array.from({ length: requests }, () => kind));
    // What is sent before Postgres has answered belongs to the same round trip.
    if (!isAside && waits.open === 0) waits.count += 1;
    if (!isAside) waits.open += requests;
    postgres.write(together);
  };
  const answer = (): void => {
    if (answers.length === 0 || waits.open > 0) return;
    if (awaited.length > 0 || outgoing.length > 0) return;
    client.write(Buffer.concat(answers));
    answers = [];
  };
  waits.flushes.add(flush);
  waits.answers.add(answer);
  client.once('close', () => {
    waits.flushes.delete(flush);
    waits.answers.delete(answer);
    waits.open -= awaited.filter((kind) => kind === 'request').length;
  });

  client.on('data', (chunk: Buffer) => {
    if (!isConnected) {
      postgres.write(chunk);
      return;
    }
    outgoing.push(chunk);
    clearTimeout(waits.quiet);
    waits.quiet = setTimeout(() => {
      for (const each of waits.flushes) each();
    }, QUIET_MS);
  });

  postgres.on('data', (chunk: Buffer) => {
    const ready = countAnswers(chunk);
    if (!isConnected) {
      isConnected = ready > 0;
      client.write(chunk);
      return;
    }
    answers.push(chunk);
    waits.open -= awaited.splice(0, ready).filter((kind) => kind === 'request').length;
    for (const each of waits.answers) each();
  });
}

/**
 * Counts the messages of the given types in a stream of the wire protocol. A message is a type
 * byte, a length of four bytes that includes itself, and the rest.
 */
function messageCounter(types: string): (chunk: Buffer) => number {
  let pending = Buffer.alloc(0);
  return (chunk) => {
    pending = Buffer.concat([pending, chunk]);
    let count = 0;
    while (pending.length >= 5) {
      const length = 1 + pending.readInt32BE(1);
      if (pending.length < length) break;
      if (types.includes(String.fromCharCode(pending.readUInt8(0)))) count += 1;
      pending = pending.subarray(length);
    }
    return count;
  };
}
