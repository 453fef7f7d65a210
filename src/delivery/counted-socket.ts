/**
 * The TCP connection below one with TLS. It counts what comes before OpenSSL sees it: Node itself
 * counts only what OpenSSL makes of it. Two things would keep the process busy that never become
 * an answer. Of a chain of certificates, however long, all signatures are checked in one turn of
 * the event loop. And a server may change its key without end, also between two requests.
 *
 * TLS must get it before it connects: the bytes of a connected socket never come past JavaScript.
 */
import { Socket } from 'node:net';
import { errors } from 'undici';

/**
 * What a server may send until the connection is encrypted: mostly its certificates, and perhaps
 * the names of all authorities from which it takes those of clients. Most send 3 to 8 KB.
 */
const HANDSHAKE_MAX_BYTES = 24_576;

/** A connection that is destroyed when more comes than may come. */
export class CountedSocket extends Socket {
  #readMaxBytes = HANDSHAKE_MAX_BYTES;
  #isEncrypted = false;

  /** From here, `bytes` may come. Call it once the connection is encrypted, and as you need. */
  allow(bytes: number): void {
    this.#isEncrypted = true;
    this.#readMaxBytes = this.bytesRead + bytes;
  }

  /** Called by Node with what has come. */
  override push(chunk: unknown, encoding?: BufferEncoding): boolean {
    const surplus = this.bytesRead - this.#readMaxBytes;
    if (surplus <= 0 || !Buffer.isBuffer(chunk)) return super.push(chunk, encoding);
    if (surplus < chunk.length) super.push(chunk.subarray(0, chunk.length - surplus));
    // Not yet: what may come may be all that the sender wants of a long answer.
    setImmediate(() => this.#refuse());
    return false;
  }

  #refuse(): void {
    this.destroy(this.#isEncrypted ? new errors.ResponseExceededMaxSizeError() : longHandshake());
  }
}

function longHandshake(): Error {
  const error = new Error(`The TLS handshake is longer than ${HANDSHAKE_MAX_BYTES} bytes.`);
  return Object.assign(error, { code: 'ERR_TLS_HANDSHAKE_TOO_LONG' });
}
