// Requests that no client library sends: bytes on a socket.
import { connect } from 'node:net';
import type { ApiResponse } from '../support/api.ts';

const ANSWER_TIMEOUT_MS = 10_000;

/** Sends the bytes as they are and resolves with the first answer; rejects when the connection ends without one. */
export function sendBytes(port: number, bytes: string | Buffer): Promise<ApiResponse> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let received = Buffer.alloc(0);
    const settle = (done: () => void): void => {
      socket.destroy();
      done();
    };
    socket.setTimeout(ANSWER_TIMEOUT_MS, () => settle(() => reject(new Error('no answer in time'))));
    socket.on('error', (error) => settle(() => reject(error)));
    socket.on('close', () => reject(new Error(`the connection ended after ${JSON.stringify(received.toString())}`)));
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const answer = parseAnswer(received);
      if (answer) settle(() => resolve(answer));
    });
    socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  });
}

/** The head of a request with these lines, `Host` included, and the body after it. */
export function requestBytes(requestLine: string, headers: readonly string[], body: string | Buffer = ''): Buffer {
  const head = `${[requestLine, 'Host: localhost', ...headers].join('\r\n')}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)]);
}

function parseAnswer(bytes: Buffer): ApiResponse | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const body = bytes.subarray(end + 4);
  if (body.length < Number(headers['content-length'] ?? 0)) return null;
  const text = body.toString();
  return { status: Number(statusLine.split(' ')[1]), headers, text, body: text === '' ? undefined : JSON.parse(text) };
}
