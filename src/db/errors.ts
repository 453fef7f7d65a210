import { ProblemError } from '../core/problem.ts';

/**
 * SQLSTATEs of errors that say nothing against the statement: the same one may succeed later.
 *
 * - 08: the connection failed.
 * - 28, 3D: the server refuses the login or the database, for instance because a password was
 *   changed while the process runs.
 * - 53: no disk space, no memory, too many connections.
 * - 57: an operator or a limit intervened. The server shuts down or starts, or it cancelled the
 *   statement (57014), for instance because of a `statement_timeout` that an operator has set. To a
 *   caller this is the same as our own limit on the time of an answer.
 * - 58: the server's own system failed, for instance a disk.
 * - 25006: the server is read-only after a failover.
 * - 25P03, 25P04: the server has ended a transaction that waited for this process for too long, or
 *   that took longer than an operator's `transaction_timeout`.
 * - 26000, 42P05: a pooler does not follow prepared statements (`poolers.ts`).
 * - 40001, 40P01: a serialization failure, a deadlock.
 * - 55P03: a lock was not free in time, for instance because of an operator's `lock_timeout`. Where
 *   the code itself sets one, it catches this first (`isLockTimeout`).
 */
const UNAVAILABLE_STATE =
  /^(?:(?:08|28|3D|53|57|58)[0-9A-Z]{3}|25006|25P03|25P04|26000|40001|40P01|42P05|55P03)$/;
/**
 * Those after which the connection is of no use: it failed, the server has ended it (57P, 25P03,
 * 25P04), it leads to a server that cannot write, or its prepared statements are lost. After all
 * others it can go on.
 */
const BROKEN_STATE = /^(?:08[0-9A-Z]{3}|57P[0-9A-Z]{2}|25006|25P03|25P04|26000|42P05)$/;
/** Our own code for a connection that leads to a node in recovery. */
const STANDBY = 'ERR_DATABASE_STANDBY';
/**
 * What a node in recovery says about a statement that it cannot run, besides 25006. These states
 * have other meanings, too, so the text must tell: nothing like it is supported there (0A000), now
 * (55000), or at all (XX000).
 */
const RECOVERY_STATES = new Set(['0A000', '55000', 'XX000']);
const IN_RECOVERY = /\bduring recovery\b|\brecovery is in progress\b|\bin a hot standby\b/;
/**
 * The function of Postgres that refuses to read an unlogged table in recovery, and nothing else.
 * The text of the error may be in another language.
 */
const REFUSES_UNLOGGED = 'get_relation_info';
/**
 * The function of Postgres that refuses a prepared statement whose result has other columns or
 * types than when it was planned (0A000). Planned again it works.
 */
const REFUSES_STALE_PLAN = 'RevalidateCachedQuery';
/**
 * What Citus says, as an internal error, when a shard is split or a kept connection to a node has
 * broken. The next attempt finds the new shard, or makes a new connection.
 */
const INTERNAL_STATE = 'XX000';
const SHARD_HAS_CHANGED =
  /could not find valid entry for shard \d|failure on connection marked as essential/;
/**
 * What Postgres says, as an internal error, to who has looked up a function that a migration then
 * replaces by one with other columns. The next attempt finds the new one.
 */
const FUNCTION_IS_REPLACED = /cache lookup failed for function \d/;
const HAS_MOVED = [SHARD_HAS_CHANGED, FUNCTION_IS_REPLACED];
/**
 * What Citus says of a statement that it cannot plan because only some of its tables are
 * distributed yet, while `npm run migrate -- --distribute` runs. Each of our statements has been
 * planned on plain Postgres and on Citus by our tests, so nothing else makes Citus say it. The
 * texts speak of how tables are placed, but for one, which Citus gets for a text of its own.
 */
const UNPLANNED_STATES = new Set(['0A000', 'XX000', '42601']);
const HALF_DISTRIBUTED =
  /\bdistributed\b|\bco-?locat|\breference tables?\b|a column definition list is required/;
/**
 * Codes of Node's errors of the network, of TLS and of certificates, whatever the system calls them
 * (ECONNREFUSED, EHOSTDOWN, EMFILE …). Its own faults are other ERR_ codes.
 */
const NETWORK_CODE = /^E(?!RR_)[A-Z0-9_]+$|^ERR_(?:SSL|TLS|SOCKET)_|^UNABLE_TO_|CERT/;
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
  const code = codeOf(error);
  if (error instanceof ProblemError) return code === 'unavailable';
  if (UNAVAILABLE_STATE.test(code) || NETWORK_CODE.test(code) || isStandby(error)) return true;
  if (havePlacesChanged(error) || isStalePlan(error)) return true;
  if (error instanceof AggregateError) return error.errors.some(isUnavailable);
  return BROKEN_CONNECTION.test(error.message) || isUnavailable(error.cause);
}

/**
 * Whether pg's error of a statement, or the cause of a problem, means that its connection must not
 * be used again.
 */
export function isConnectionBroken(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  if (BROKEN_STATE.test(code) || NETWORK_CODE.test(code) || isStandby(error)) return true;
  if (isStalePlan(error)) return true;
  return BROKEN_CONNECTION.test(error.message) || isConnectionBroken(error.cause);
}

/** Whether the error, but not its cause, means that the database is in recovery. */
export function isStandby(error: Error): boolean {
  const code = codeOf(error);
  if (code === STANDBY) return true;
  if (!RECOVERY_STATES.has(code)) return false;
  const routine = 'routine' in error ? error.routine : null;
  return IN_RECOVERY.test(error.message) || routine === REFUSES_UNLOGGED;
}

/** Whether rows or functions are elsewhere than when the statement was planned. */
function havePlacesChanged(error: Error): boolean {
  const code = codeOf(error);
  const isSaid = (text: RegExp): boolean => text.test(error.message);
  if (code === INTERNAL_STATE && HAS_MOVED.some(isSaid)) return true;
  return UNPLANNED_STATES.has(code) && isSaid(HALF_DISTRIBUTED);
}

/** Whether a migration has changed what a statement returns since it was planned. */
export function isStalePlan(error: Error | null): boolean {
  if (error === null || !('routine' in error)) return false;
  return error.routine === REFUSES_STALE_PLAN && codeOf(error) === '0A000';
}

/** The error of a connection that leads to a node in recovery. */
export function standbyError(): Error {
  const message = 'the database is a standby (in recovery), and not the primary';
  return Object.assign(new Error(message), { code: STANDBY });
}

/** Whether the statement was refused because an earlier one of its transaction has failed. */
export function isFollowUp(error: unknown): boolean {
  return error instanceof Error && codeOf(error) === '25P02';
}

/** Whether the database refused a value: its form or size, or a constraint of a table. */
export function isValueRefused(error: unknown): boolean {
  return error instanceof Error && /^2[23]/.test(codeOf(error));
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

/** Makes a problem `unavailable`. Its cause is for the log. */
export function unavailable(cause: unknown): ProblemError {
  return Object.assign(new ProblemError('unavailable'), { cause });
}

/** Throws the error again, as `unavailable` if the database could not be reached. */
export function rethrow(error: unknown): never {
  throw isUnavailable(error) && !(error instanceof ProblemError) ? unavailable(error) : error;
}

/** Whether the statement waited for a transaction that waited for its own. */
export function isDeadlock(error: unknown): boolean {
  return error instanceof Error && codeOf(error) === '40P01';
}

/**
 * Whether the server has ended the statement (57014) or its transaction (25P04), usually because of
 * the limit on its time. What takes too long once may do so again.
 */
export function isCancelled(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return ['57014', '25P04'].includes(codeOf(error)) || isCancelled(error.cause);
}

/** Whether the transaction's `lock_timeout` was over before it got a lock. */
export function isLockTimeout(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return codeOf(error) === '55P03' || isLockTimeout(error.cause);
}
