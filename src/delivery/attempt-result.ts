/** The result of an attempt. A network error is a result too, not an exception. */
import { isIPv4 } from 'node:net';
import type { DeliveryError } from '../core/delivery-errors.ts';
import { parseHttpDate } from '../core/http-date.ts';
import type { HttpAnswer } from './request.ts';
import { parseRetryAfter } from './schedule.ts';

/** How one attempt ended. */
export interface AttemptResult {
  /** Whether the answer was a 2xx. */
  readonly ok: boolean;
  /** null if there was no complete answer. */
  readonly responseCode: number | null;
  /** The first 1000 characters of the answer's body. */
  readonly responseExcerpt: string | null;
  readonly responseMs: number;
  /** Why there was no complete answer; null if there was one. */
  readonly error: DeliveryError | null;
  /** From the `Retry-After` header of a 429 or 503; else null. */
  readonly retryAfterS: number | null;
}

/** The fields of an attempt without an answer. */
export const NO_ANSWER = {
  ok: false,
  responseCode: null,
  responseExcerpt: null,
  retryAfterS: null,
} as const;

export const EXCERPT_MAX_CHARACTERS = 1000;
const ENCODING_MAX_CHARACTERS = 50;
/** A character takes at most four bytes of UTF-8, and a byte order mark before them takes three. */
export const EXCERPT_MAX_BYTES = EXCERPT_MAX_CHARACTERS * 4 + 3;

/** Returns the result of an attempt that ends now. */
export function toResult(
  outcome: { readonly answer: HttpAnswer } | { readonly error: DeliveryError },
  responseMs: number,
): AttemptResult {
  if ('error' in outcome) return { ...NO_ANSWER, responseMs, error: outcome.error };
  const { statusCode, retryAfter, date } = outcome.answer;
  const mayRetryAfter = statusCode === 429 || statusCode === 503;
  return {
    ok: statusCode >= 200 && statusCode <= 299,
    responseCode: statusCode,
    responseExcerpt: excerptOf(outcome.answer),
    responseMs,
    error: null,
    retryAfterS: mayRetryAfter ? parseRetryAfter(retryAfter, timeOf(date)) : null,
  };
}

/** By the receiver's clock, if it tells the time: so does its `Retry-After`. */
function timeOf(date: HttpAnswer['date']): Date {
  return new Date((typeof date === 'string' && parseHttpDate(date)) || Date.now());
}

/**
 * Replaces the character 0, because Postgres cannot store it. A compressed body, for which nobody
 * has asked, is named instead.
 */
function excerptOf({ body, sizeBytes, encoding }: HttpAnswer): string {
  if (body === null) return '';
  const applied = [encoding ?? []].flat().join(', ').slice(0, ENCODING_MAX_CHARACTERS);
  const isReadable = applied === '' || applied === 'identity';
  const text = isReadable
    ? new TextDecoder().decode(body.subarray(0, sizeBytes))
    : `[content-encoding: ${applied}]`;
  const characters = Array.from(text).slice(0, EXCERPT_MAX_CHARACTERS);
  return characters.join('').replaceAll('\0', '\uFFFD');
}

const ERROR_NAMES: Readonly<Record<string, DeliveryError>> = {
  ECONNREFUSED: 'connection_refused',
  ECONNRESET: 'connection_closed',
  EPIPE: 'connection_closed',
  UND_ERR_SOCKET: 'connection_closed',
  UND_ERR_CONNECT_TIMEOUT: 'timeout',
  HPE_OTHER: 'invalid_response',
  HPE_INVALID_EOF_STATE: 'connection_closed',
  HPE_INVALID_HEADER_TOKEN: 'invalid_headers',
  HPE_INVALID_CONTENT_LENGTH: 'invalid_headers',
  HPE_UNEXPECTED_CONTENT_LENGTH: 'invalid_headers',
  // undici's, for a 101, which we never ask for, and for a status below 100.
  ERR_ASSERTION: 'invalid_response',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'invalid_response',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: 'invalid_response',
  UND_ERR_HEADERS_OVERFLOW: 'response_headers_too_large',
  ETIMEDOUT: 'timeout',
  EPROTO: 'tls_error',
  EHOSTUNREACH: 'host_unreachable',
  ENETUNREACH: 'host_unreachable',
};

/** Codes of Node and OpenSSL for the faults of a certificate, and of the versions of TLS. */
const TLS_NAMES: readonly (readonly [codes: RegExp, name: DeliveryError])[] = [
  [/^(UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_SELF_SIGNED_|CERT_UNTRUSTED)/, 'tls_unknown_issuer'],
  [/^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/, 'tls_certificate_expired'],
  [/^(ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH)$/, 'tls_wrong_name'],
  [/PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL|VERSION_TOO_LOW/, 'tls_version'],
];
const TLS_CODE = /CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_VERIFY|ALTNAME/i;

/** This machine has no file descriptor, buffer or memory left: nothing that a receiver causes. */
const OWN_FAULTS: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

/**
 * Whether a request failed by a fault of this machine. No free port for an IPv4 address is one. For
 * an IPv6 address, the same code says that this machine has no IPv6: that does not pass.
 */
export function isOwnFault(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.some(isOwnFault);
  const { code, address } = error as { readonly code?: unknown; readonly address?: unknown };
  if (code === 'EADDRNOTAVAIL') return typeof address === 'string' && isIPv4(address);
  return typeof code === 'string' && OWN_FAULTS.has(code);
}

/** Returns the name of a failed request's error, for `AttemptResult.error`. */
export function nameError(error: unknown): DeliveryError {
  const hasCode = error instanceof Error && 'code' in error && typeof error.code === 'string';
  const code = hasCode ? String(error.code) : '';
  const known = ERROR_NAMES[code] ?? TLS_NAMES.find(([codes]) => codes.test(code))?.[1];
  return known ?? (TLS_CODE.test(code) ? 'tls_error' : 'connection_failed');
}
