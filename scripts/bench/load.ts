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
  /**
   * Requests a second, only with `seconds`: each is due at its time, whatever became of the ones
   * before, and its time counts from then. So a server that stands still is not asked less often.
   * Without it, a connection sends when it has its last answer.
   */
  readonly perSecond?: number;
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
  readonly maxMs: number;
  /** With `perSecond`: the number of each request, and when it was answered, in Unix time. */
  readonly answers: readonly Answer[];
}

type Answer = readonly [n: string, atMs: number];

/** What the process is sent. Several jobs may run at once. */
export interface Order {
  readonly id: string;
  readonly job: Job;
}

/** What it replies, with the id of the order. */
export type Reply = { readonly id: string } & (
  | { readonly outcome: Outcome }
  | { readonly error: string }
);

const ANSWER_TIMEOUT_MS = 10_000;
/** A timer may be so late. That is no delay of the server, and does not count. */
const TIMER_MS = 2;
/** Nothing is due before all connections are open. */
const CONNECT_MS = 100;
let unique = 0;

process.on('message', ({ id, job }: Order) => {
  const reply = (message: Reply): unknown => process.send?.(message);
  run(job).then(
    (outcome) => reply({ id, outcome }),
    (error: unknown) => reply({ id, error: String(error) }),
  );
});
process.on('disconnect', () => process.exit());

async function run(job: Job): Promise<Outcome> {
  const { ports, concurrency, perSecond } = job;
  const startedAt = performance.now() + (perSecond ? CONNECT_MS : 0);
  const endsAt = 'seconds' in job.until ? startedAt + job.until.seconds * 1000 : Infinity;
  const most = 'rounds' in job.until ? job.until.rounds * job.requests.length : Infinity;
  const times = job.requests.map((): number[] => []);
  const answers: Answer[] = [];
  // Continue where the last run ended: a short run from the start would only reach a few teams.
  const offset = 'seconds' in job.until ? unique : 0;
  let sent = 0;
  const take = (): Turn | null => {
    const dueAt = perSecond ? startedAt + (sent * 1000) / perSecond : performance.now();
    if (dueAt >= endsAt || sent >= most) return null;
    return { place: (offset + sent++) % job.requests.length, dueAt };
  };
  const record = (place: number, ms: number, n: string): void => {
    times[place]?.push(ms);
    if (perSecond) answers.push([n, performance.timeOrigin + performance.now()]);
  };
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
    maxMs: quantile(all, 1),
    answers,
  };
}

/** The place of a request among those of the job, and when to send it. */
interface Turn {
  readonly place: number;
  /** A time of performance.now(). */
  readonly dueAt: number;
}

/**
 * Sends requests over one connection until `take` returns null. Rejects at the first response that
 * is not 2xx, because timings of errors are worthless.
 */
function converse(conversation: {
  readonly job: Job;
  readonly port: number;
  readonly take: () => Turn | null;
  readonly record: (place: number, ms: number, n: string) => void;
}): Promise<void> {
  const { port, take, record } = conversation;
  const { requests } = conversation.job;
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1').setNoDelay().setTimeout(ANSWER_TIMEOUT_MS);
    const read = readAnswers();
    let place = 0;
    let countsFrom = 0;
    let n = '';
    const send = (): void => {
      unique += 1;
      n = String(unique).padStart(12, '0');
      socket.write((requests[place] ?? '').replaceAll('{n}', n), 'latin1');
    };
    const sendNext = (): void => {
      const next = take();
      if (next === null) {
        socket.end(resolve);
        return;
      }
      const { dueAt } = next;
      ({ place } = next);
      countsFrom = dueAt;
      const earlyMs = dueAt - performance.now();
      if (earlyMs <= 0) return send();
      setTimeout(() => {
        const now = performance.now();
        if (now - dueAt < TIMER_MS) countsFrom = now;
        send();
      }, earlyMs);
    };
    socket.on('connect', sendNext);
    socket.on('data', (chunk: Buffer) => {
      const head = read(chunk);
      if (head === null) return;
      if (head.charAt(9) !== '2') {
        socket.destroy(new Error(`${requests[place]?.split('\r\n', 1)[0]} → ${head.slice(9)}`));
        return;
      }
      record(place, performance.now() - countsFrom, n);
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

const END_OF_CHUNKS = '\r\n0\r\n\r\n';

/**
 * Returns a function that takes what comes over one connection, and returns the head of an answer
 * once all of it has come; null before.
 */
function readAnswers(): (chunk: Buffer) => string | null {
  let head = '';
  let headLength = -1;
  let missingBytes = 0;
  /** The last characters of an answer in chunks; null: the answer has a length. */
  let tail: string | null = null;
  return (chunk) => {
    if (headLength < 0) {
      head += chunk.toString('latin1');
      headLength = head.indexOf('\r\n\r\n');
      if (headLength < 0) return null;
      missingBytes =
        Number(/\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0) - (head.length - headLength - 4);
      tail = /\ntransfer-encoding: *chunked/i.test(head) ? head.slice(-END_OF_CHUNKS.length) : null;
    } else {
      missingBytes -= chunk.length;
      if (tail !== null) tail = (tail + chunk.toString('latin1')).slice(-END_OF_CHUNKS.length);
    }
    if (tail === null ? missingBytes > 0 : tail !== END_OF_CHUNKS) return null;
    const answered = head;
    head = '';
    headLength = -1;
    return answered;
  };
}
