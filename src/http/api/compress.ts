/**
 * Compresses the bodies of reads for callers that accept it. What is decided here, by the figures
 * in README.md:
 *  * Bodies of 4 KB and more: a smaller one takes hardly fewer packets.
 *  * The lowest levels: the next ones cost twice the time for a tenth of the bytes.
 *  * Up to 32 KB at once, in less time than it takes to hand the body to a thread and back. Larger
 *    ones in Node's threads, so the event loop is not held. If many are there already, the body is
 *    sent as it is: nobody waits for somebody else's compression.
 *  * Never where the output has a secret in its shape: the length would tell of it to whoever can
 *    put text beside it (BREACH). Nor the responses of writes, which repeat what was sent.
 */
import { promisify } from 'node:util';
import {
  brotliCompress,
  brotliCompressSync,
  constants,
  gzip,
  gzipSync,
  type BrotliOptions,
} from 'node:zlib';
import Negotiator from 'negotiator';
import { privateFieldsOf } from '../../core/private-fields.ts';
import type { Endpoint } from '../../routers/endpoints.ts';

export type ContentEncoding = 'br' | 'gzip';

const COMPRESSED_MIN_BYTES = 4 * 1024;
const AT_ONCE_MAX_BYTES = 32 * 1024;
const IN_THREADS_MAX = 8;
const GZIP = { level: 1 };

const inThread = { br: promisify(brotliCompress), gzip: promisify(gzip) };
const atOnce = { br: brotliCompressSync, gzip: gzipSync };

/** Whether responses of the endpoint may be compressed. */
export function isCompressible({ method, output }: Pick<Endpoint, 'method' | 'output'>): boolean {
  return method === 'GET' && privateFieldsOf(output).every(({ kind }) => kind !== 'secret');
}

/** The encoding for a body of this length; null: as it is. */
export function chooseEncoding(
  acceptEncoding: string | undefined,
  bytes: number,
): ContentEncoding | null {
  if (acceptEncoding === undefined || bytes < COMPRESSED_MIN_BYTES) return null;
  const headers = { 'accept-encoding': acceptEncoding };
  // Of equal weights it takes the one that the client names first: at these levels that is no loss.
  const chosen = new Negotiator({ headers } as never).encoding(['br', 'gzip', 'identity']);
  return chosen === 'br' || chosen === 'gzip' ? chosen : null;
}

/**
 * Returns a function that compresses. It returns null if the body is to be sent as it is: too many
 * are being compressed, or it does not become smaller.
 */
export function createCompressor(): (
  body: Buffer,
  encoding: ContentEncoding,
) => Buffer | null | Promise<Buffer | null> {
  let inThreads = 0;
  return (body, encoding) => {
    const options = encoding === 'gzip' ? GZIP : brotliOptions(body.length);
    const smaller = (compressed: Buffer) => (compressed.length < body.length ? compressed : null);
    if (body.length <= AT_ONCE_MAX_BYTES) return smaller(atOnce[encoding](body, options));
    if (inThreads >= IN_THREADS_MAX) return null;
    inThreads += 1;
    return inThread[encoding](body, options)
      .then(smaller)
      .finally(() => {
        inThreads -= 1;
      });
  };
}

function brotliOptions(bytes: number): BrotliOptions {
  const { BROTLI_PARAM_QUALITY: quality, BROTLI_PARAM_SIZE_HINT: hint } = constants;
  return { params: { [quality]: 1, [hint]: bytes } };
}
