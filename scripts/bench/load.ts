// The load generator: a process of its own, so that what it costs is not the server's. Told by IPC what to send, answers how it went.
// Raw sockets, because a client library costs more than the server that it asks.
import { connect } from 'node:net';
import { median } from './report.ts';

export interface Job {
  readonly port: number;
  /** Whole HTTP requests, sent in turn. `{n}` becomes a number of twelve digits that no other request has. */
  readonly requests: readonly string[];
  /** Connections, each with one request at a time. */
  readonly concurrency: number;
  /** How long, or how often each request. */
  readonly until: { readonly seconds: number } | { readonly rounds: number };
}

export interface Outcome {
  readonly count: number;
  readonly perSecond: number;
  /** Of all, and of each request by its place. */
  readonly medianMs: number;
  readonly mediansMs: readonly number[];
}

type Message = { readonly outcome: Outcome } | { readonly error: string };

const ANSWER_TIMEOUT_MS = 10_000;
let unique = 0;

process.on('message', (job: Job) => {
  const reply = (message: Message): unknown => process.send?.(message);
  run(job).then(
    (outcome) => reply({ outcome }),
    (error: unknown) => reply({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit());

async function run(job: Job): Promise<Outcome> {
  const startedAt = performance.now();
  const endsAt = 'seconds' in job.until ? startedAt + job.until.seconds * 1000 : Infinity;
  const most = 'rounds' in job.until ? job.until.rounds * job.requests.length : Infinity;
  const times = job.requests.map((): number[] => []);
  // Not always from the first one: a short run would otherwise be one of a few tenants.
  const offset = 'seconds' in job.until ? unique : 0;
  let sent = 0;
  const take = (): number | null =>
    performance.now() < endsAt && sent < most ? (offset + sent++) % job.requests.length : null;
  const record = (place: number, ms: number): unknown => times[place]?.push(ms);
  await Promise.all(Array.from({ length: job.concurrency }, () => converse(job, take, record)));
  const seconds = (performance.now() - startedAt) / 1000;
  const all = times.flat();
  return {
    count: all.length,
    perSecond: all.length / seconds,
    medianMs: median(all),
    mediansMs: times.map(median),
  };
}

/** One connection, until there is nothing left to take. Rejects at the first answer that is not 2xx: figures of errors are worth nothing. */
function converse(
  { port, requests }: Job,
  take: () => number | null,
  record: (place: number, ms: number) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1').setNoDelay().setTimeout(ANSWER_TIMEOUT_MS);
    let place = 0;
    let sentAt = 0;
    let head = '';
    let missingBytes = -1;
    const send = (): void => {
      const next = take();
      if (next === null) {
        socket.end(resolve);
        return;
      }
      place = next;
      unique += 1;
      const request = (requests[place] ?? '').replaceAll('{n}', String(unique).padStart(12, '0'));
      sentAt = performance.now();
      socket.write(request, 'latin1');
    };
    socket.on('connect', send);
    socket.on('data', (chunk: Buffer) => {
      if (missingBytes < 0) {
        head += chunk.toString('latin1');
        const end = head.indexOf('\r\n\r\n');
        if (end < 0) return;
        if (head.charAt(9) !== '2') {
          socket.destroy(new Error(`${requests[place]?.split('\r\n', 1)[0]} → ${head.slice(9)}`));
          return;
        }
        missingBytes =
          Number(/\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0) - (head.length - end - 4);
        head = '';
      } else missingBytes -= chunk.length;
      if (missingBytes > 0) return;
      missingBytes = -1;
      record(place, performance.now() - sentAt);
      send();
    });
    socket.on('timeout', () => socket.destroy(new Error('no answer')));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed the connection')));
  });
}
