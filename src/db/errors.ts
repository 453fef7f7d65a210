import { ProblemError } from '../core/problem.ts';

/** SQLSTATEs that say "not now": shutting down or starting, too many connections, read-only after a failover, deadlock or serialization. */
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
/** What Prisma makes of the same: unreachable, too slow, closed, no free connection, deadlock, too many connections. */
const PRISMA_CODES = new Set(['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2034', 'P2037']);
const BROKEN_CONNECTION =
  /Connection terminated|connection error and is not queryable|timeout exceeded when trying to connect|Query read timeout|Client was closed|timeout expired/i;

/** Whether the database could not be reached or asked us to come back, in contrast to a statement that it refused. */
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

/** The SQLSTATE that Prisma's error keeps of the database's own, or nothing. */
function prismaState(error: object): string {
  const { meta } = error as {
    meta?: { driverAdapterError?: { cause?: { originalCode?: unknown } } };
  };
  const state = meta?.driverAdapterError?.cause?.originalCode;
  return typeof state === 'string' ? state : '';
}

/** `unavailable`, with what happened as its cause for the log. */
export function unavailable(cause: unknown): ProblemError {
  return Object.assign(new ProblemError('unavailable'), { cause });
}
