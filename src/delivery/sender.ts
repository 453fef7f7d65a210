/**
 * One attempt: resolve the name, check every address, connect to the first that takes a connection,
 * POST, read the beginning of the answer. Every outcome on the network is a result. Only our own
 * faults throw.
 *
 * A receiver may close a kept connection at any moment, even while a request is on its way. That is
 * not a failure of the receiver, so the request is made once more within the same attempt, on a new
 * connection. If the first request arrived after all, the receiver recognizes the second one by its
 * `Svc-Event-Id`. A request on a new connection is not repeated.
 */
import { systemClock, type Clock } from '../core/clock.ts';
import type { DeliveryError } from '../core/delivery-errors.ts';
import {
  EXCERPT_MAX_BYTES,
  isOwnFault,
  nameError,
  toResult,
  type AttemptResult,
} from './attempt-result.ts';
import {
  closeConnections,
  connect,
  discard,
  expectAnswer,
  keep,
  KEEP_ALIVE_MS,
  newConnections,
  routeTo,
  type Connection,
  type Connections,
  type Route,
} from './connections.ts';
import { newAnswer, post, type Deadline, type HttpAnswer, type Post } from './request.ts';
import { resolveTarget, type TargetOptions } from './target.ts';

/** Makes attempts over kept connections. */
export interface Sender {
  /**
   * Makes one attempt. Ends within the timeout, whatever the receiver and the network do. Rejects
   * if this machine lacks what an attempt needs, for instance file descriptors.
   */
  send(url: string, headers: Record<string, string>, body: string): Promise<AttemptResult>;
  /** Closes all connections. Attempts in flight fail. */
  close(): Promise<void>;
}

/** Which targets are allowed, and how long an attempt may take. */
export interface SenderOptions extends TargetOptions {
  /** For the whole attempt, from the lookup of the name to the last byte that is read. */
  readonly timeoutMs: number;
  /** How long a connection is kept that no request uses. */
  readonly keepAliveMs?: number;
  /** For all of these times; the system's clock by default. */
  readonly clock?: SenderClock;
}

type SenderClock = Pick<Clock, 'monotonicMs' | 'after' | 'every'>;

/** Returns a sender without connections. The caller closes it. */
export function createSender(options: SenderOptions): Sender {
  const { timeoutMs, keepAliveMs = KEEP_ALIVE_MS, clock = systemClock } = options;
  const connections = newConnections(timeoutMs, keepAliveMs, clock);
  return {
    send: (url, headers, body) => send(options, connections, { url, headers, body }),
    close: () => closeConnections(connections),
  };
}

interface Delivery {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

async function send(
  options: SenderOptions,
  connections: Connections,
  delivery: Delivery,
): Promise<AttemptResult> {
  const { clock } = connections;
  const startedAtMs = clock.monotonicMs();
  const deadline: Deadline = { isOver: false, abort: null };
  // The race also ends the wait for what cannot be aborted, for instance a DNS lookup.
  const { promise: late, reject } = Promise.withResolvers<never>();
  const cancel = clock.after(options.timeoutMs, () => {
    const timeout = new Error('timeout');
    deadline.isOver = true;
    deadline.abort?.(timeout);
    reject(timeout);
  });
  try {
    const exchanged = exchange(options, connections, delivery, deadline);
    return toResult(await Promise.race([exchanged, late]), passedMs(clock, startedAtMs));
  } catch (error) {
    if (!deadline.isOver && isOwnFault(error)) throw error;
    const name = deadline.isOver ? 'timeout' : nameError(error);
    return toResult({ error: name }, passedMs(clock, startedAtMs));
  } finally {
    cancel();
  }
}

function passedMs(clock: SenderClock, sinceMs: number): number {
  return Math.round(clock.monotonicMs() - sinceMs);
}

async function exchange(
  options: SenderOptions,
  connections: Connections,
  { url, headers, body }: Delivery,
  deadline: Deadline,
): Promise<{ readonly answer: HttpAnswer } | { readonly error: DeliveryError }> {
  const target = await resolveTarget(url, options);
  if (!target.ok) return { error: target.error };
  const { origin, pathname, search } = target.url;
  const request: Post = {
    path: pathname + search,
    headers,
    body,
    readMaxBytes: EXCERPT_MAX_BYTES,
    deadline,
  };
  const route = routeTo(connections, origin, target.addresses);
  const connection = route.idle.pop() ?? connect(connections, route);
  return { answer: await postOn(connections, route, connection, request) };
}

/** Posts on `connection`, and once more on a new one if this was a kept one that closed. */
async function postOn(
  connections: Connections,
  route: Route,
  connection: Connection,
  request: Post,
): Promise<HttpAnswer> {
  const openedBefore = connection.opened;
  const answer = newAnswer();
  expectAnswer(connection);
  try {
    const isWhole = await post(connection.client, request, answer);
    if (isWhole) keep(connections, route, connection);
    else discard(connections, route, connection);
    return answer;
  } catch (error) {
    discard(connections, route, connection);
    const wasKept = openedBefore > 0 && connection.opened === openedBefore;
    const hasClosed = answer.statusCode === 0 && nameError(error) === 'connection_closed';
    if (!wasKept || !hasClosed || request.deadline.isOver) throw error;
    return postOn(connections, route, connect(connections, route), request);
  }
}
