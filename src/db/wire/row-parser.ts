import type { BackendMessage } from 'pg-protocol/dist/messages.js';
import { privateFiles, type PrivateConnection } from './undocumented.ts';

/**
 * Makes the connection decode a row at once instead of each of its values. A value of ASCII is then
 * a part of the row's text, which is made without a copy; only the others are decoded by
 * themselves. Reading the rows of a list costs a third less.
 */
export function parseRowsAtOnce(connection: PrivateConnection): void {
  connection.attachListeners = (stream) => {
    const parser = new RowParser();
    const emit = (message: BackendMessage): void => {
      connection.emit(message.name === 'error' ? 'errorMessage' : message.name, message);
    };
    stream.on('data', (chunk: Buffer) => parser.parse(chunk, emit));
  };
}

const { DataRowMessage, Parser } = privateFiles;
const DATA_ROW = 'D'.charCodeAt(0);
const ROW_DESCRIPTION = 'T'.charCodeAt(0);
/** More than there are statements; a process for tests or for a moved shard may see others. */
const MAX_DESCRIPTIONS = 2_000;
/** `length` counts itself. */
const LENGTH_BYTES = 4;
/** A longer row has few values for its size: to look through it would cost more than it saves. */
const ROW_MAX_BYTES = 4_096;

/** Message → what it says. Nobody changes that. */
const descriptions = new Map<string, BackendMessage>();

class RowParser extends Parser {
  override handlePacket(
    offset: number,
    code: number,
    length: number,
    bytes: Buffer,
  ): BackendMessage {
    if (code === ROW_DESCRIPTION)
      return sameAsBefore(bytes.toString('latin1', offset, offset + length - LENGTH_BYTES), () =>
        super.handlePacket(offset, code, length, bytes),
      );
    if (code !== DATA_ROW || length > ROW_MAX_BYTES)
      return super.handlePacket(offset, code, length, bytes);
    const end = offset + length - LENGTH_BYTES;
    return new DataRowMessage(length, readTexts(bytes, offset, end) as string[]);
  }
}

/** Reads a description of columns once: behind a pooler one comes with each result. */
function sameAsBefore(bytes: string, read: () => BackendMessage): BackendMessage {
  const known = descriptions.get(bytes);
  if (known) return known;
  if (descriptions.size >= MAX_DESCRIPTIONS) descriptions.clear();
  const made = read();
  descriptions.set(bytes, made);
  return made;
}

/**
 * Bytes of texts beyond ASCII, as Latin-1. UTF-8 has no 0xff, so the length of a null (-1) is not
 * among them. Another length may be; then a value is decoded by itself without need.
 */
const BEYOND_ASCII = /[\x80-\xfe]/g;

/** Reads the number of values, and each of them: its length, or -1 for null, and its text. */
function readTexts(bytes: Buffer, start: number, end: number): (string | null)[] {
  const row = bytes.toString('latin1', start, end);
  const texts: (string | null)[] = [];
  let beyond = indexFrom(row, 0);
  let place = 2;
  for (let count = bytes.readInt16BE(start); count > 0; count -= 1) {
    const length = bytes.readInt32BE(start + place);
    place += LENGTH_BYTES;
    if (length < 0) {
      texts.push(null);
      continue;
    }
    const next = place + length;
    if (beyond < next) {
      texts.push(bytes.toString('utf8', start + place, start + next));
      beyond = indexFrom(row, next);
    } else texts.push(row.slice(place, next));
    place = next;
  }
  return texts;
}

/** Where the next byte beyond ASCII is. */
function indexFrom(row: string, place: number): number {
  BEYOND_ASCII.lastIndex = place;
  return BEYOND_ASCII.test(row) ? BEYOND_ASCII.lastIndex - 1 : Infinity;
}
