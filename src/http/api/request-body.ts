/** The parts of reading a JSON body. `bodies.ts` puts them together. */
import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { placeOfFault } from '../../core/json-syntax.ts';
import { invalidInput, overLimit, ProblemError } from '../../core/problem.ts';
import type { BodyRoom } from './body-room.ts';

/** The largest accepted body, in both APIs. */
export const BODY_MAX_BYTES = 1024 * 1024;
/** The first bytes of each body take no room (`body-room.ts`). */
export const SMALL_BYTES = 16 * 1024;

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** The length that the headers announce; null if they announce none. */
export function lengthOf({ headers }: IncomingMessage): number | null {
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : null;
}

/**
 * Whether the body must be what its headers say. Without a type and a length it may be empty:
 * clients that read a body from a stream send an empty one like this, in chunks.
 */
export function isTyped(request: IncomingMessage): boolean {
  return request.headers['content-type'] !== undefined || lengthOf(request) !== null;
}

/** Whether the body is known to be short, or there is none. */
export function isBodySmall(request: IncomingMessage): boolean {
  return (lengthOf(request) ?? Infinity) <= SMALL_BYTES;
}

/** Throws `bad_request` (413 or 415) for a body that is not announced as JSON, or as too long. */
export function requireJson(request: IncomingMessage): void {
  const { headers } = request;
  const [type, ...parameters] = (headers['content-type'] ?? '').toLowerCase().split(';');
  const charset = parameters
    .map((text) => /^charset\s*=\s*"?([^"\s]*)"?$/.exec(text.trim())?.[1])
    .find((name) => name !== undefined);
  if (type?.trim() !== 'application/json' || (charset ?? 'utf-8') !== 'utf-8') {
    throw new ProblemError('bad_request', {
      status: 415,
      detail: 'Send the body as application/json in UTF-8.',
    });
  }
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    throw new ProblemError('bad_request', {
      status: 415,
      detail: 'Send the body without a content encoding.',
    });
  }
  if ((lengthOf(request) ?? 0) > BODY_MAX_BYTES) throw tooLarge();
}

/**
 * Reads the whole body, in the room of its owner, into one buffer. A list of chunks would take a
 * hundred times their size if each had one byte. `bytes` rejects with `bad_request` (400 or 413) or
 * with the room's refusal. Always call `end`: it gives the room back.
 */
export function readBytes(
  request: IncomingMessage,
  owner: string,
  enter: BodyRoom,
): { readonly bytes: Promise<Buffer>; readonly end: () => void } {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const lengthMax = lengthOf(request) ?? BODY_MAX_BYTES;
  let bytes = Buffer.allocUnsafe(Math.min(lengthMax, SMALL_BYTES));
  let size = 0;
  let hasRoom = false;
  const stop = (error: Error): void => {
    request.pause();
    request.off('data', receive);
    reject(error);
  };
  const place = enter({ owner, received: () => size, refuse: stop });
  const receive = (chunk: Buffer): void => {
    const needed = size + chunk.length;
    if (needed > BODY_MAX_BYTES) {
      stop(tooLarge());
      return;
    }
    const append = (): void => {
      size += chunk.copy(bytes, size);
    };
    if (needed <= bytes.length) {
      append();
      return;
    }
    const capacity = Math.max(needed, Math.min(2 * bytes.length, lengthMax));
    const grow = (): void => {
      const larger = Buffer.allocUnsafe(capacity);
      bytes.copy(larger, 0, 0, size);
      bytes = larger;
      append();
    };
    if (hasRoom) {
      grow();
      return;
    }
    place.enter(lengthMax - SMALL_BYTES, () => {
      hasRoom = true;
      grow();
      if (request.isPaused()) request.resume();
    });
    if (!hasRoom) request.pause();
  };
  request.on('data', receive);
  request.on('end', () => resolve(bytes.subarray(0, size)));
  request.on('error', reject);
  request.on('close', () => {
    if (!request.readableEnded) reject(incompleteBody());
  });
  if (request.destroyed) reject(incompleteBody());
  return { bytes: promise, end: place.leave };
}

/** Throws a `ZodError` if the bytes are not UTF-8. */
export function decodeText(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // TextDecoder throws nothing else.
    throw refuseBody('The body is not valid UTF-8.', 'invalid_json');
  }
}

/** Throws a `ZodError` if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof RangeError) throw refuseBody('The body is nested too deeply.', 'too_deep');
    const { line, column } = placeOfFault(text);
    const place = `line ${line}, column ${column}`;
    throw refuseBody(`The body is not valid JSON: the fault is at ${place}.`, 'invalid_json');
  }
}

export function refuseBody(message: string, code: string): z.ZodError {
  return invalidInput([], message, code);
}

export function incompleteBody(): ProblemError {
  return new ProblemError('bad_request', { detail: 'The body ended before it was complete.' });
}

function tooLarge(): ProblemError {
  const detail = `The body is larger than ${BODY_MAX_BYTES} bytes.`;
  return overLimit('body_size', new ProblemError('bad_request', { status: 413, detail }));
}
