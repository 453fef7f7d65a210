import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
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
): (error: Error & { code?: string }, socket: Duplex) => void {
  return (error, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const status = STATUSES[error.code ?? ''] ?? 400;
    const requestId = newRequestId();
    const body = JSON.stringify(
      problemBody(new ProblemError('bad_request', { status }), {
        publicUrl,
        language: 'de',
        requestId,
        route: null,
      }),
    );
    const head = [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'Content-Type: application/problem+json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Content-Language: de',
      'Cache-Control: no-store',
      'X-Content-Type-Options: nosniff',
      `X-Request-Id: ${requestId}`,
      'RateLimit-Limit: 0',
      'RateLimit-Remaining: 0',
      'RateLimit-Reset: 60',
      'Connection: close',
    ];
    socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
  };
}
