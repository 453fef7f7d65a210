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
  readonly p99Ms: number;
}

/** What the process replies to a job. */
export type Reply = { readonly outcome: Outcome } | { readonly error: string };

const ANSWER_TIMEOUT_MS = 10_000;
let unique = 0;

process.on('message', (job: Job) => {
  const reply = (message: Reply): unknown => process.send?.(message);
  run(job).then(
    (outcome) => reply({ outcome }),
    (error: unknown) => reply({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit());

async function run({ ports, requests, concurrency, until }: Job): Promise<Outcome> {
  const startedAt = performance.now();
  const endsAt = 'seconds' in until ? startedAt + until.seconds * 1000 : Infinity;
  const most = 'rounds' in until ? until.rounds * requests.length : Infinity;
  const times = requests.map((): number[] => []);
  // Continue where the last run ended: a short run from the start would only reach a few teams.
  const offset = 'seconds' in until ? unique : 0;
  let sent = 0;
  const take = (): number | null => {
    if (performance.now() >= endsAt || sent >= most) return null;
    return (offset + sent++) % requests.length;
  };
  const record = (place: number, ms: number): void => void times[place]?.push(ms);
  await Promise.all(
    Array.from({ length: concurrency }, (_, number) =>
      converse({ requests, port: ports[number % ports.length] ?? 0, take, record }),
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
  readonly requests: readonly string[];
  readonly port: number;
  readonly take: () => number | null;
  readonly record: (place: number, ms: number) => void;
}): Promise<void> {
  const { requests, port, take, record } = conversation;
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1').setNoDelay().setTimeout(ANSWER_TIMEOUT_MS);
    const read = readAnswers();
    let place = 0;
    let sentAt = 0;
    const sendNext = (): void => {
      const next = take();
      if (next === null) {
        socket.end(resolve);
        return;
      }
      place = next;
      unique += 1;
      const n = String(unique).padStart(12, '0');
      sentAt = performance.now();
      socket.write((requests[place] ?? '').replaceAll('{n}', n), 'latin1');
    };
    socket.on('connect', sendNext);
    socket.on('data', (chunk: Buffer) => {
      const head = read(chunk);
      if (head === null) return;
      if (head.charAt(9) !== '2') {
        socket.destroy(new Error(`${requests[place]?.split('\r\n', 1)[0]} → ${head.slice(9)}`));
        return;
      }
      record(place, performance.now() - sentAt);
      if (!/\nconnection: *close/i.test(head)) return sendNext();
      // A connection carries so many requests, and then another one goes on.
      socket.end();
      resolve(converse(conversation));
    });
    socket.on('timeout', () => socket.destroy(new Error('no answer')));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('the server closed the connection')));
  });
}

/**
 * Returns a function that takes what comes over one connection, and returns the head of an answer
 * once all of it has come; null before. Every answer states its length.
 */
function readAnswers(): (chunk: Buffer) => string | null {
  let head = '';
  let missingBytes = NaN;
  return (chunk) => {
    if (Number.isNaN(missingBytes)) {
      head += chunk.toString('latin1');
      const headLength = head.indexOf('\r\n\r\n');
      if (headLength < 0) return null;
      missingBytes =
        Number(/\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0) - (head.length - headLength - 4);
    } else {
      missingBytes -= chunk.length;
    }
    if (missingBytes > 0) return null;
    const answered = head;
    head = '';
    missingBytes = NaN;
    return answered;
  };
}
