import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { invalidInput, ProblemError } from '../../core/problem.ts';

/** The largest accepted body, in both APIs. */
export const BODY_MAX_BYTES = 1024 * 1024;
const SMALL_BYTES = 16 * 1024;

/** Whether the body is known to be short, or there is none. */
export function isBodySmall({ headers }: IncomingMessage): boolean {
  if (headers['transfer-encoding'] !== undefined) return false;
  return Number(headers['content-length'] ?? 0) <= SMALL_BYTES;
}

/**
 * Resolves with the parsed JSON body, or with undefined if there is none. Unlike the usual parsers,
 * it refuses malformed UTF-8 instead of repairing it, so that what is stored is what was sent.
 *
 * Throws `bad_request` (400, 413 or 415), or a `ZodError` for a body that cannot be parsed.
 */
export async function readJsonBody(request: IncomingMessage): Promise<unknown> {
  const text = await readText(request);
  return text === undefined ? undefined : parseJson(text);
}

/**
 * Resolves with the text of a JSON body before it is parsed, or with undefined if there is none.
 * Throws the same errors as `readJsonBody`, except those of its syntax.
 */
export async function readText(request: IncomingMessage): Promise<string | undefined> {
  const { headers } = request;
  const isEmpty =
    headers['content-length'] === '0' ||
    (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined);
  if (isEmpty) return undefined;
  requireJson(headers['content-type'], headers['content-encoding']);
  const bytes = await readBytes(request);
  return bytes.length === 0 ? undefined : decode(bytes);
}

function requireJson(contentType: string | undefined, contentEncoding: string | undefined): void {
  const [type, ...parameters] = (contentType ?? '').toLowerCase().split(';');
  const charset = parameters
    .map((text) => /^\s*charset\s*=\s*"?([^"\s]*)"?\s*$/.exec(text)?.[1])
    .find((name) => name !== undefined);
  if (type?.trim() !== 'application/json' || (charset ?? 'utf-8') !== 'utf-8') {
    throw new ProblemError('bad_request', {
      status: 415,
      detail: 'Send the body as application/json in UTF-8.',
    });
  }
  if (contentEncoding !== undefined && contentEncoding.toLowerCase() !== 'identity') {
    throw new ProblemError('bad_request', {
      status: 415,
      detail: 'Send the body without a content encoding.',
    });
  }
}

async function readBytes(request: IncomingMessage): Promise<Buffer> {
  const tooLarge = new ProblemError('bad_request', {
    status: 413,
    detail: `The body is larger than ${BODY_MAX_BYTES} bytes.`,
  });
  if (Number(request.headers['content-length'] ?? 0) > BODY_MAX_BYTES) throw tooLarge;
  const cutShort = new ProblemError('bad_request', {
    detail: 'The body ended before it was complete.',
  });
  // The caller hung up while the key was looked up. The events below have come already.
  if (request.destroyed) throw cutShort;
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= BODY_MAX_BYTES) chunks.push(chunk);
      else {
        request.pause();
        reject(tooLarge);
      }
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', reject);
    request.on('close', () => reject(cutShort));
  });
}

/** An integer with fewer digits fits into a 64-bit float exactly, so it needs no check. */
const LONG_DIGITS = /\d{16}/;

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    // TextDecoder throws nothing else.
    throw refusal('The body is not valid UTF-8.', 'invalid_json');
  }
}

function parseJson(text: string): unknown {
  try {
    return LONG_DIGITS.test(text) ? JSON.parse(text, requireExact) : JSON.parse(text);
  } catch (error) {
    if (error instanceof z.ZodError) throw error;
    if (error instanceof RangeError) throw refusal('The body is nested too deeply.', 'too_deep');
    throw refusal('The body is not valid JSON.', 'invalid_json');
  }
}

/**
 * A reviver. Throws for an integer that a 64-bit float would change, for instance a 64-bit id:
 * otherwise we would silently return another number than the client sent.
 */
function requireExact(
  _name: string,
  value: unknown,
  context?: { readonly source?: string },
): unknown {
  const source = context?.source ?? '';
  if (typeof value !== 'number' || !Number.isFinite(value) || !/^-?\d+$/.test(source)) return value;
  if (String(value) === source || BigInt(value) === BigInt(source)) return value;
  const integer = source.slice(0, 40);
  throw refusal(
    `The integer ${integer} has more digits than a 64-bit float holds; send it as text.`,
    'invalid_number',
  );
}

function refusal(message: string, code: string): z.ZodError {
  return invalidInput([], message, code);
}
