/** Zip archives of few small files. The same files make the same bytes. */
import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipFile {
  readonly name: string;
  readonly content: Buffer;
}

/** 1980-01-01, the first day that the format knows. */
const DATE = 33;
const DEFLATED = 8;
const VERSION = 20;
/** Names are UTF-8. */
const FLAGS = 0x0800;
/** Made on Unix, so that the permissions count. */
const MADE_BY = (3 << 8) | VERSION;
const PERMISSIONS = 0o100_644;

/** Returns the bytes of an archive of the files, in their order. */
export function zip(files: readonly ZipFile[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content } of files) {
    const packed = deflateRawSync(content, { level: 9 });
    const encoded = Buffer.from(name);
    const common = commonFields({ packed, content, nameLength: encoded.length });
    const local = Buffer.concat([signature('PK\u0003\u0004'), common, encoded, packed]);
    const more = Buffer.alloc(14);
    // Comment, disk and inner attributes are 0.
    more.writeUInt32LE(PERMISSIONS * 0x1_0000, 6);
    more.writeUInt32LE(offset, 10);
    const made = Buffer.alloc(2);
    made.writeUInt16LE(MADE_BY);
    directory.push(signature('PK\u0001\u0002'), made, common, more, encoded);
    parts.push(local);
    offset += local.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.length, 4);
  end.writeUInt16LE(files.length, 6);
  end.writeUInt32LE(listed.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, listed, signature('PK\u0005\u0006'), end]);
}

function commonFields(of: { packed: Buffer; content: Buffer; nameLength: number }): Buffer {
  const fields = Buffer.alloc(26);
  fields.writeUInt16LE(VERSION, 0);
  fields.writeUInt16LE(FLAGS, 2);
  fields.writeUInt16LE(DEFLATED, 4);
  fields.writeUInt16LE(0, 6);
  fields.writeUInt16LE(DATE, 8);
  fields.writeUInt32LE(crc32(of.content), 10);
  fields.writeUInt32LE(of.packed.length, 14);
  fields.writeUInt32LE(of.content.length, 18);
  fields.writeUInt16LE(of.nameLength, 22);
  return fields;
}

function signature(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}
