/** A file or page that is the same for every reader, compressed when it is first asked for. */
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

const compressBrotli = promisify(brotliCompress);
const compressGzip = promisify(gzip);

/** The best first, because browsers accept all of them with the same weight. */
export const ENCODINGS = ['br', 'gzip', 'identity'] as const;
type Encoding = (typeof ENCODINGS)[number];

const COMPRESS: Readonly<Record<Encoding, (body: Buffer) => Promise<Buffer>>> = {
  // The highest level takes a second for the longest page, and saves a tenth.
  br: (body) => compressBrotli(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (body) => compressGzip(body, { level: 9 }),
  identity: async (body) => body,
};

export interface Resource {
  readonly type: string;
  /** The length before it is compressed. */
  readonly bytes: number;
  /** A hash of the content. */
  readonly version: string;
  readonly bodyAs: (encoding: Encoding) => Promise<Buffer>;
  /**
   * False for what only one reader gets: compressing it would cost more than making it. False also
   * for what is compressed already, such as fonts.
   */
  readonly isShared: boolean;
  /** True if its address names its content even without `?v=`. */
  readonly isImmutable?: boolean;
}

export function createResource(type: string, content: string | Buffer, isShared = true): Resource {
  const body = typeof content === 'string' ? Buffer.from(content) : content;
  const encoded = new Map<Encoding, Promise<Buffer>>();
  return {
    type,
    bytes: body.length,
    isShared,
    version: createHash('sha256').update(body).digest('hex').slice(0, 12),
    bodyAs: (encoding) => {
      const known = encoded.get(encoding) ?? COMPRESS[encoding](body);
      encoded.set(encoding, known);
      return known;
    },
  };
}

/** Weak, because the bytes differ by encoding. */
export function etagOf({ version }: Resource): string {
  return `W/"${version}"`;
}
