/** Makes one POST request on one connection. */
import { errors, type Client } from 'undici';

/** One POST request, independent of the connection. */
export interface Post {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
  /** If the body of the answer is longer, the rest is not read. */
  readonly readMaxBytes: number;
  readonly deadline: Deadline;
}

/** The end of an attempt's time. */
export interface Deadline {
  /** Written by the attempt's timer. */
  isOver: boolean;
  /**
   * Aborts the request in flight; null until one has begun. Written by `post` when a request
   * begins; called by the attempt's timer.
   */
  abort: ((reason: Error) => void) | null;
}

/** The part of the receiver's answer that has arrived so far. Written by `post` alone. */
export interface HttpAnswer {
  /** 0 until the answer begins. */
  statusCode: number;
  /** The time of the receiver's clock. */
  date: string | string[] | undefined;
  retryAfter: string | string[] | undefined;
  encoding: string | string[] | undefined;
  /** The beginning of the body, in the first `sizeBytes` bytes; null until it begins. */
  body: Buffer | null;
  sizeBytes: number;
}

/** How many 1xx responses may come before the answer. */
const INTERIM_MAX = 20;

/** An answer of which nothing has arrived yet. */
export function newAnswer(): HttpAnswer {
  const headers = { date: undefined, retryAfter: undefined, encoding: undefined };
  return { statusCode: 0, ...headers, body: null, sizeBytes: 0 };
}

/**
 * Sends the request and reads the answer into `answer`. Resolves with true if the whole answer was
 * read, else with false: then the connection cannot be used again. Rejects with undici's error.
 *
 * Uses undici's handler, because its streams and signals cost as much as the rest of a delivery.
 */
export function post(client: Client, request: Post, answer: HttpAnswer): Promise<boolean> {
  const { path, headers, body, readMaxBytes, deadline } = request;
  let interim = 0;
  return new Promise((resolve, reject) => {
    client.dispatch(
      { method: 'POST', path, headers, body },
      {
        onRequestStart: (controller) => {
          deadline.abort = (reason) => controller.abort(reason);
          if (deadline.isOver) controller.abort(new Error('timeout'));
        },
        onResponseStart: (controller, statusCode, answered) => {
          if (statusCode < 200) {
            interim += 1;
            if (interim > INTERIM_MAX) controller.abort(new errors.ResponseExceededMaxSizeError());
            return;
          }
          answer.statusCode = statusCode;
          answer.date = answered['date'];
          answer.retryAfter = answered['retry-after'];
          answer.encoding = answered['content-encoding'];
        },
        onResponseData: (controller, chunk) => {
          // A chunk of one byte would keep all that was read with it, a pooled buffer its pool.
          answer.body ??= Buffer.allocUnsafeSlow(readMaxBytes);
          const copied = chunk.copy(answer.body, answer.sizeBytes);
          answer.sizeBytes += copied;
          if (copied === chunk.length) return;
          resolve(false);
          controller.abort(new Error('the rest is not read'));
        },
        onResponseEnd: () => resolve(true),
        onResponseError: (_controller, error) => reject(error),
      },
    );
  });
}
