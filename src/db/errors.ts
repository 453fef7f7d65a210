import { ProblemError } from '../core/problem.ts';

/**
 * SQLSTATEs of temporary errors: the server is shutting down or starting, has too many connections
 * or is read-only after a failover; a deadlock or a serialization failure.
 */
const TRANSIENT_STATES = new Set(['57P01', '57P02', '57P03', '53300', '25006', '40001', '40P01']);
const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);
/**
 * Prisma's codes for the same errors: unreachable, too slow, closed, no free connection, deadlock,
 * too many connections.
 */
const PRISMA_CODES = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2034', 'P2037']);
/** Messages of pg and of our watchdog for errors without a code. */
const BROKEN_CONNECTION = new RegExp(
  [
    'Connection terminated',
    'connection error and is not queryable',
    'timeout exceeded when trying to connect',
    'Query read timeout',
    'Client was closed',
    'timeout expired',
  ].join('|'),
  'i',
);

/**
 * Whether the error means that the database cannot be reached or cannot work at the moment. False
 * for a statement that the database refused.
 */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (TRANSIENT_STATES.has(code) || NETWORK_CODES.has(code) || code.startsWith('08')) return true;
  if (error instanceof AggregateError) return error.errors.some(isUnavailable);
  if (PRISMA_CODES.has(code) || TRANSIENT_STATES.has(prismaState(error))) return true;
  return (
    BROKEN_CONNECTION.test(error.message) ||
    (error.cause !== undefined && isUnavailable(error.cause))
  );
}

/** Returns the SQLSTATE of the database error inside an error of Prisma, or an empty text. */
function prismaState(error: object): string {
  const { meta } = error as {
    meta?: { driverAdapterError?: { cause?: { originalCode?: unknown } } };
  };
  const state = meta?.driverAdapterError?.cause?.originalCode;
  return typeof state === 'string' ? state : '';
}

/** Makes a problem `unavailable`. Its cause is for the log. */
export function unavailable(cause: unknown): ProblemError {
  return Object.assign(new ProblemError('unavailable'), { cause });
}

/** Throws the error again, as `unavailable` if the database could not be reached. */
export function rethrow(error: unknown): never {
  throw isUnavailable(error) ? unavailable(error) : error;
}
