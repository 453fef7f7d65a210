import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { newRequestId } from '../../core/ids.ts';
import { ProblemError } from '../../core/problem.ts';
import { problemBody } from './problem-response.ts';

/** Answers what Node's HTTP parser refuses before there is a request (headers too large, not HTTP at all) in the documented form. */
export function answerBrokenRequest(
  publicUrl: string,
): (error: Error & { code?: string }, socket: Duplex) => void {
  return (error, socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const status =
      error.code === 'HPE_HEADER_OVERFLOW'
        ? 431
        : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
          ? 408
          : 400;
    const requestId = newRequestId();
    const body = JSON.stringify(
      problemBody(new ProblemError('bad_request', { status }), {
        publicUrl,
        language: 'de',
        requestId,
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
  };
}
