import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { systemClock, type Clock } from '../../core/clock.ts';
import { newRequestId } from '../../core/ids.ts';
import { ProblemError } from '../../core/problem.ts';
import { problemBody } from './problem-response.ts';

const STATUSES: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** How long a client has to read that its request was broken. */
const LINGER_MS = 1_000;

/**
 * Responds with a documented problem when Node's HTTP parser refuses the input before there is a
 * request: the headers are too large, the request takes too long, or it is not HTTP at all.
 * Closes the connection, whether or not the client does.
 */
export function answerBrokenRequest(
  publicUrl: string,
  clock: Pick<Clock, 'after'> = systemClock,
): (error: NodeJS.ErrnoException, socket: Duplex) => void {
  return (error, socket) => {
    const status = STATUSES[error.code ?? ''] ?? 400;
    const { headers, body } = describe(publicUrl, status);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const head = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
    socket.once(
      'close',
      clock.after(LINGER_MS, () => void socket.destroy()),
    );
  };
}

/**
 * What RFC 9112 (3.2) allows as `Host`; it demands 400 for all else. Any host is served, so a name
 * may be empty or no DNS name (`_`), and a port too high: health checks and proxies send such ones.
 */
const HOST = /^(?:\[[\w.~!$&'()*+,;=:-]+\]|(?:[\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(?::\d*)?$/i;

/**
 * The status for a request that HTTP does not allow, or that a proxy in front may have read in
 * another way; null: it is sound. 400: not one header `Host` (HTTP/1.0 needs none) or one that
 * holds no host, or a `Transfer-Encoding` of which `chunked` is only a part. 417: it expects what
 * nobody offers.
 */
export function statusOfBroken(request: IncomingMessage): 400 | 417 | null {
  const { headers, headersDistinct, httpVersion } = request;
  const encoding = headers['transfer-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked') return 400;
  const [host, another] = headersDistinct['host'] ?? (httpVersion === '1.0' ? [''] : []);
  if (host === undefined || another !== undefined || !HOST.test(host)) return 400;
  const { expect } = headers;
  return expect === undefined || expect.toLowerCase() === '100-continue' ? null : 417;
}

/** Answers such a request as one that is not HTTP at all. */
export function refuseBroken(publicUrl: string, response: ServerResponse, status: number): void {
  const { headers, body } = describe(publicUrl, status);
  response.writeHead(status, headers).end(body);
}

function describe(
  publicUrl: string,
  status: number,
): { readonly headers: Readonly<Record<string, string | number>>; readonly body: string } {
  const requestId = newRequestId();
  const problem = new ProblemError('bad_request', { status });
  const context = { publicUrl, language: 'de', requestId, route: null } as const;
  const body = JSON.stringify(problemBody(problem, context));
  return {
    headers: {
      'Content-Type': 'application/problem+json',
      'Content-Length': Buffer.byteLength(body),
      'Content-Language': 'de',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
      'X-Request-Id': requestId,
      'RateLimit-Limit': 0,
      'RateLimit-Remaining': 0,
      'RateLimit-Reset': 60,
      Connection: 'close',
    },
    body,
  };
}
