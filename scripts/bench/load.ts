// The load generator. It is a separate process, so that its cost is not counted as the server's.
// It receives jobs over IPC and replies with the outcome. It uses raw sockets, because an HTTP
// client library costs more processor time than the server under test.
import { connect } from 'node:net';
import { median, quantile } from './report.ts';

/** What the load generator sends. */
export interface Job {
  /** The ports of the servers; connections go to each of them in turn. */
  readonly ports: readonly number[];
  /** Complete HTTP requests, sent in turn. `{n}` is replaced with a unique twelve-digit number. */
  readonly requests: readonly string[];
  /** The number of connections; each has one request in flight. */
  readonly concurrency: number;
  /** How long to send, or how often to send each request. */
  readonly until: { readonly seconds: number } | { readonly rounds: number };
}

/** How a job went. All its requests were answered with 2xx. */
export interface Outcome {
  readonly count: number;
  readonly perSecond: number;
  /** Over all requests; `mediansMs` has one figure for each entry of `requests`. */
  readonly medianMs: number;
  readonly mediansMs: readonly number[];
  /** The slowest of a hundred. */
  readonly p99Ms: number;
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
  // Continue where the last run ended: a short run from the start would only reach a few teams.
  const offset = 'seconds' in job.until ? unique : 0;
  let sent = 0;
  const take = (): number | null =>
    performance.now() < endsAt && sent < most ? (offset + sent++) % job.requests.length : null;
  const record = (place: number, ms: number): unknown => times[place]?.push(ms);
  const { ports, concurrency } = job;
  await Promise.all(
    Array.from({ length: concurrency }, (_, number) =>
      converse({ job, port: ports[number % ports.length] ?? 0, take, record }),
    ),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  const all = times.flat();
  return {
    count: all.length,
    perSecond: all.length / seconds,
    medianMs: median(all),
    mediansMs: times.map(median),
    p99Ms: quantile(all, 0.99),
  };
}

/**
 * Sends requests over one connection until `take` returns null. Rejects at the first response that
 * is not 2xx, because timings of errors are worthless.
 */
function converse(conversation: {
  readonly job: Job;
  readonly port: number;
  readonly take: () => number | null;
  readonly record: (place: number, ms: number) => void;
}): Promise<void> {
  const { port, take, record } = conversation;
  const { requests } = conversation.job;
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1').setNoDelay().setTimeout(ANSWER_TIMEOUT_MS);
    let place = 0;
    let sentAt = 0;
    let head = '';
    let missingBytes = -1;
    let isLast = false;
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
        isLast = /\nconnection: *close/i.test(head);
        head = '';
      } else missingBytes -= chunk.length;
      if (missingBytes > 0) return;
      missingBytes = -1;
      record(place, performance.now() - sentAt);
      if (!isLast) return send();
      // A connection carries so many requests, and then another one goes on.
      socket.end();
      return resolve(converse(conversation));
    });
    socket.on('timeout', () => socket.destroy(new Error('no answer')));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed the connection')));
  });
}
