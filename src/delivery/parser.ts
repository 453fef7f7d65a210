/**
 * undici's parser of HTTP/1.1, made to take what `curl` takes: a receiver that has the event should
 * not get it again because of the form of its answer. undici has no options for these.
 */
import type { Socket } from 'node:net';
import { errors } from 'undici';

/** What is used here of undici's parser, and of llhttp below it. */
interface Parser {
  readonly ptr: number;
  readonly llhttp: Readonly<Record<string, (ptr: number, isOn: 1) => void>>;
  /** Called with the head of an answer. */
  onHeadersComplete(statusCode: number, upgrade: boolean, keepsAlive: boolean): number;
  /** Makes the error of a number of llhttp. */
  createError(fault: number): Error;
}

/**
 * Folded header lines and control characters in them; lines that end in LF alone; and what follows
 * a 1xx that announces the end of the connection.
 */
const ACCEPTED = ['headers', 'optional_cr_before_lf', 'keep_alive'];

/** llhttp's numbers of the faults that have a name of their own (`ERROR_NAMES`). */
const FAULTS: Readonly<Record<number, string>> = {
  4: 'HPE_UNEXPECTED_CONTENT_LENGTH',
  10: 'HPE_INVALID_HEADER_TOKEN',
  11: 'HPE_INVALID_CONTENT_LENGTH',
  14: 'HPE_INVALID_EOF_STATE',
};

/** Call it when undici has connected, before anything has come. */
export function acceptLikeCurl(socket: Socket): void {
  const parser = parserOf(socket);
  for (const form of ACCEPTED) parser.llhttp[`llhttp_set_lenient_${form}`]?.(parser.ptr, 1);
  const complete = parser.onHeadersComplete.bind(parser);
  // undici fails a request over a 100 that it has not asked for, and passes over a 102.
  parser.onHeadersComplete = (statusCode, _upgrade, keepsAlive) =>
    complete(statusCode === 100 ? 102 : statusCode, false, keepsAlive);
  parser.createError = (fault) =>
    Object.assign(new errors.HTTPParserError('no HTTP'), { code: FAULTS[fault] ?? 'HPE_OTHER' });
}

function parserOf(socket: Socket): Parser {
  const key = Object.getOwnPropertySymbols(socket).find((name) => name.description === 'parser');
  if (!key) throw new Error('this version of undici keeps its parser elsewhere');
  return (socket as unknown as Readonly<Record<symbol, Parser>>)[key] as Parser;
}
