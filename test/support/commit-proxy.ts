// Stands between the service and Postgres, and breaks the connection at the end of a transaction.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** `before`: Postgres never gets the COMMIT. `after`: the service never gets the answer to it. */
export const CUTS = ['before', 'after'] as const;
export type Cut = (typeof CUTS)[number];

export interface CommitProxy {
  /** The database's URL through this proxy. */
  readonly url: string;
  /**
   * Breaks the connection of the `nth` transaction from now on, counted from 1, at its end. A
   * statement outside a transaction is one if it writes.
   */
  cutAt(nth: number, cut: Cut): void;
  /** The statements of the transaction that was cut; null while none was. */
  wasCut(): readonly string[] | null;
  stop(): Promise<void>;
}

/** What is asked for, and what became of it. */
interface Plan {
  left: number;
  readonly cut: Cut;
  texts: readonly string[] | null;
}

const WRITES = /\b(?:insert into|update|delete from|graphile_worker\.add_jobs?)\b/;

/** Starts the proxy, which forwards everything until `cutAt` is called. */
export async function startCommitProxy(databaseUrl: string): Promise<CommitProxy> {
  const { hostname, port } = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let plan: Plan = { left: 0, cut: 'before', texts: null };
  const server = createServer((service) => {
    const postgres = connect({ host: hostname, port: Number(port) });
    forward({ service, postgres }, () => plan);
    for (const [socket, peer] of [
      [service, postgres],
      [postgres, service],
    ] as const) {
      sockets.add(socket);
      socket.setNoDelay();
      socket.on('error', () => undefined);
      socket.on('close', () => {
        peer.destroy();
        sockets.delete(socket);
      });
    }
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url: url.href,
    cutAt: (nth, cut) => {
      plan = { left: nth, cut, texts: null };
    },
    wasCut: () => plan.texts,
    stop: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
}

/**
 * Passes on what the service sends up to each Sync, which Postgres answers with one `Z`. So the
 * answer to a COMMIT is known among those before it.
 */
function forward(
  { service, postgres }: { readonly service: Socket; readonly postgres: Socket },
  planOf: () => Plan,
): void {
  const readTransactions = createTransactionReader();
  const splitSent = messageSplitter({ hasStartup: true });
  const splitAnswers = messageSplitter({ hasStartup: false });
  let group: Buffer[] = [];
  // The startup is answered with a `Z`, too.
  let sent = 1;
  let answered = 0;
  let unanswered = Infinity;
  service.on('data', (chunk: Buffer) => {
    for (const message of splitSent(chunk)) {
      group.push(message);
      const kind = kindOf(message);
      if (kind === 'S' || kind === 'Q') sent += 1;
      else if ('PBDECH'.includes(kind)) continue;
      const plan = planOf();
      for (const texts of readTransactions(group)) {
        plan.left -= 1;
        if (plan.left !== 0) continue;
        plan.texts = texts;
        if (plan.cut === 'before') return void service.destroy();
        unanswered = sent;
      }
      postgres.write(Buffer.concat(group));
      group = [];
    }
  });
  postgres.on('data', (chunk: Buffer) => {
    for (const message of splitAnswers(chunk)) {
      if (answered + 1 < unanswered) service.write(message);
      if (kindOf(message) === 'Z') answered += 1;
      if (answered === unanswered) return void service.destroy();
    }
  });
}

/** Returns what reads a group and returns the statements of each transaction that it ends. */
function createTransactionReader(): (group: readonly Buffer[]) => string[][] {
  const prepared = new Map<string, string>();
  let open: string[] | null = null;
  return (group) => {
    const ended: string[][] = [];
    for (const message of group) {
      const texts = message.subarray(5).toString('latin1').split('\0');
      const [first = '', second = ''] = texts;
      const kind = kindOf(message);
      if (kind === 'P') prepared.set(first, second);
      const text = kind === 'Q' ? first : kind === 'B' ? (prepared.get(second) ?? '') : '';
      if (/^begin\b/i.test(text)) open = [];
      else if (/^(?:commit|rollback)\b/i.test(text)) {
        if (open && /^commit/i.test(text)) ended.push(open);
        open = null;
      } else if (open) open.push(text);
      else if (WRITES.test(text)) ended.push([text]);
    }
    return ended;
  };
}

function kindOf(message: Buffer): string {
  return String.fromCharCode(message[0] ?? 0);
}

/** Splits a stream into messages: a letter, which the startup lacks, the length, and the rest. */
function messageSplitter({ hasStartup }: { readonly hasStartup: boolean }) {
  let rest = Buffer.alloc(0);
  let letter = hasStartup ? 0 : 1;
  return (chunk: Buffer): Buffer[] => {
    rest = Buffer.concat([rest, chunk]);
    const messages: Buffer[] = [];
    while (rest.length >= letter + 4) {
      const length = letter + rest.readInt32BE(letter);
      if (rest.length < length) break;
      messages.push(rest.subarray(0, length));
      rest = rest.subarray(length);
      letter = 1;
    }
    return messages;
  };
}
