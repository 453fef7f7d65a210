// Requests that no client library sends, written as bytes to a socket.
import { once } from 'node:events';
import { connect } from 'node:net';
import type { ApiResponse } from '../support/api.ts';

/** Only a server that hangs takes longer. */
const ANSWER_TIMEOUT_MS = 60_000;

export interface RawConnection {
  readonly opened: Promise<unknown>;
  send(bytes: string | Buffer): void;
  /** Resolves with the next response. Rejects if the connection ends without one. */
  answer(): Promise<ApiResponse>;
  /** Resolves when the server closes the connection, with what it sent after the last response. */
  ended(): Promise<string>;
  close(): void;
}

/** Opens a connection to the API on this port, from another address of this machine if given. */
export function openConnection(port: number, localAddress = '127.0.0.1'): RawConnection {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy(new Error('no answer in time')));
  const chunks = socket[Symbol.asyncIterator]();
  let received = Buffer.alloc(0);
  const receive = async (): Promise<boolean> => {
    const { value, done } = await chunks.next();
    if (!done) received = Buffer.concat([received, value as Buffer]);
    return !done;
  };
  return {
    opened: once(socket, 'connect'),
    send: (bytes) =>
      void socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes),
    answer: async () => {
      for (;;) {
        const found = parseAnswer(received);
        if (found) {
          received = received.subarray(found.length);
          return found.response;
        }
        if (!(await receive()))
          throw new Error(`the connection ended after ${JSON.stringify(received.toString())}`);
      }
    },
    ended: async () => {
      while (await receive()) continue;
      return received.toString();
    },
    close: () => void socket.destroy(),
  };
}

/** Sends the bytes and resolves with the first response. Rejects if there is none. */
export async function sendBytes(port: number, bytes: string | Buffer): Promise<ApiResponse> {
  const connection = openConnection(port);
  try {
    connection.send(bytes);
    return await connection.answer();
  } finally {
    connection.close();
  }
}

/** Returns a request with these header lines, `Host` and the body. */
export function requestBytes(
  requestLine: string,
  headers: readonly string[],
  body: string | Buffer = '',
): Buffer {
  const head = `${[requestLine, 'Host: localhost', ...headers].join('\r\n')}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(body)]);
}

function parseAnswer(
  bytes: Buffer,
): { readonly response: ApiResponse; readonly length: number } | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  );
  const length = end + 4 + Number(headers['content-length'] ?? 0);
  if (bytes.length < length) return null;
  const text = bytes.subarray(end + 4, length).toString();
  const isJson = text !== '' && /json/.test(headers['content-type'] ?? '');
  const body: unknown = isJson ? JSON.parse(text) : undefined;
  return { response: { status: Number(statusLine.split(' ')[1]), headers, text, body }, length };
}
