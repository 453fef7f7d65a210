// The team that must not notice anything. It runs in a thread of its own, so that the work of an
// attack in the test's thread does not count as waiting.
import { createServer, Agent, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { parentPort } from 'node:worker_threads';

/** What the test's thread says to this one. */
export type Order = { readonly kind: 'start'; readonly customer: Customer } | { kind: 'stop' };

/** What this thread answers: first the receiver's port, in the end what it saw. */
export type Answer =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'saw'; readonly seen: Seen };

export interface Customer {
  /** The API's address, with the base path. */
  readonly base: string;
  readonly key: string;
  readonly memberId: string;
}

export interface Seen {
  /** Status, or what went wrong → how often. */
  readonly statuses: Readonly<Record<string, number>>;
  /**
   * Milliseconds of each `GET /me`, in order of size. The time is left out for which this thread
   * itself stood still: the service cannot do that to another process.
   */
  readonly requestsMs: readonly number[];
  /** Milliseconds from a change's response to its webhook, in order of size, without that time. */
  readonly webhooksMs: readonly number[];
  /** For how many milliseconds this thread stood still. */
  readonly pausedMs: number;
  /** Changes whose webhook has not come. */
  readonly missing: number;
}

interface Exchange {
  readonly outcome: string;
  readonly span: Span;
  readonly body: string;
}

interface Webhook {
  readonly data: { readonly assignment_id: string };
}

const ASK_EVERY_MS = 40;
const CHANGE_EVERY_MS = 200;
const PATIENCE_MS = 30_000;

/** A timer of this thread that comes so late shows that the machine stood still. */
const PAUSE_MS = 300;
const LOOK_EVERY_MS = 20;

interface Span {
  readonly from: number;
  readonly to: number;
}

const pauses: Span[] = [];
let lookedAt = performance.now();
setInterval(() => {
  const now = performance.now();
  if (now - lookedAt > PAUSE_MS) pauses.push({ from: lookedAt, to: now });
  lookedAt = now;
}, LOOK_EVERY_MS).unref();
const sharedMs = (one: Span, other: Span): number =>
  Math.max(0, Math.min(one.to, other.to) - Math.max(one.from, other.from));
/** How long each lasted while this thread ran, in milliseconds in order of size. */
const unpaused = (spans: readonly Span[]): number[] =>
  spans
    .map((span) => pauses.reduce((ms, pause) => ms - sharedMs(span, pause), span.to - span.from))
    .toSorted((a, b) => a - b);

const kept = new Agent({ keepAlive: true });
const statuses: Record<string, number> = {};
const requests: Span[] = [];
const webhooks: Span[] = [];
/** Assignment id → when its creation was acknowledged. */
const acknowledged = new Map<string, number>();
const arrived = new Map<string, number>();
const open = new Set<Promise<void>>();
let isStopped = false;

const receiver = createServer((received, response) => {
  const chunks: Buffer[] = [];
  received.on('data', (chunk: Buffer) => chunks.push(chunk));
  received.on('end', () => {
    response.end('ok');
    const { data } = JSON.parse(Buffer.concat(chunks).toString()) as Webhook;
    arrived.set(data.assignment_id, performance.now());
  });
});
receiver.listen(0, '127.0.0.1', () =>
  say({ kind: 'listening', port: (receiver.address() as AddressInfo).port }),
);
parentPort?.on('message', (order: Order) => {
  if (order.kind === 'start') void Promise.all([ask(order.customer), change(order.customer)]);
  else void finish();
});

/** Asks at a steady pace, whether or not the earlier requests were answered. */
async function ask({ base, key }: Customer): Promise<void> {
  for (let count = 0; !isStopped; count += 1) {
    // Every other request on a new connection: a service that accepts none is stopped too.
    const agent = count % 2 === 0 ? kept : false;
    track(
      exchange({ url: `${base}/me`, method: 'GET', key, agent }).then(({ outcome, span }) => {
        statuses[outcome] = (statuses[outcome] ?? 0) + 1;
        requests.push(span);
      }),
    );
    await delay(ASK_EVERY_MS);
  }
}

async function change({ base, key, memberId }: Customer): Promise<void> {
  for (let count = 0; !isStopped; count += 1) {
    const body = JSON.stringify({
      member_id: memberId,
      title: `Change ${count}`,
      situation_id: 'sit_cold',
      personality_id: 'per_calm',
      industry_id: 'ind_saas',
    });
    track(
      exchange({ url: `${base}/assignments`, method: 'POST', key, agent: kept, body }).then(
        (response) => {
          const outcome = response.outcome === '201' ? '200' : response.outcome;
          statuses[outcome] = (statuses[outcome] ?? 0) + 1;
          if (response.outcome !== '201') return;
          acknowledged.set((JSON.parse(response.body) as { id: string }).id, performance.now());
        },
      ),
    );
    await delay(CHANGE_EVERY_MS);
  }
}

function exchange(call: {
  readonly url: string;
  readonly method: string;
  readonly key: string;
  readonly agent: Agent | false;
  readonly body?: string;
}): Promise<Exchange> {
  const from = performance.now();
  return new Promise((resolve) => {
    const done = (outcome: string, body = ''): void =>
      resolve({ outcome, body, span: { from, to: performance.now() } });
    const sent = request(
      call.url,
      {
        method: call.method,
        agent: call.agent,
        signal: AbortSignal.timeout(PATIENCE_MS),
        headers: {
          authorization: `Bearer ${call.key}`,
          ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          done(String(response.statusCode), Buffer.concat(chunks).toString()),
        );
        response.on('error', (error) => done(error.message));
      },
    );
    sent.on('error', (error) => done(error.message));
    sent.end(call.body);
  });
}

function track(work: Promise<void>): void {
  open.add(work);
  void work.finally(() => open.delete(work));
}

/** Stops asking, waits for what is on its way, and says what was seen. */
async function finish(): Promise<void> {
  isStopped = true;
  await Promise.all(open);
  const waitsUntil = performance.now() + PATIENCE_MS;
  const missing = (): string[] => [...acknowledged.keys()].filter((id) => !arrived.has(id));
  while (missing().length > 0 && performance.now() < waitsUntil) await delay(50);
  for (const [id, acknowledgedAt] of acknowledged) {
    const arrivedAt = arrived.get(id);
    if (arrivedAt !== undefined)
      webhooks.push({ from: acknowledgedAt, to: Math.max(acknowledgedAt, arrivedAt) });
  }
  // A pause that has just ended is seen by the next look.
  await delay(2 * LOOK_EVERY_MS);
  say({
    kind: 'saw',
    seen: {
      statuses,
      requestsMs: unpaused(requests),
      webhooksMs: unpaused(webhooks),
      pausedMs: pauses.reduce((ms, { from, to }) => ms + to - from, 0),
      missing: missing().length,
    },
  });
}

function say(answer: Answer): void {
  parentPort?.postMessage(answer);
}
