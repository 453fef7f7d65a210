/** Why a call to a CRM failed. */
import { parseHttpDate } from '../../../core/http-date.ts';

/** Sent in `crm.sync.failed`, and shown to admins as `last_error`. */
export type FailureReason =
  | 'unauthorized'
  | 'forbidden'
  | 'rate_limited'
  | 'provider_error'
  | 'timeout'
  | 'unreachable'
  | 'invalid_response'
  | 'credentials_unreadable'
  | 'internal';

export interface ProviderError extends Error {
  readonly name: 'ProviderError';
  readonly reason: FailureReason;
  /** How long the provider asked us to wait; null if it did not say. */
  readonly retryAfterMs: number | null;
  /** The provider does not know the cursor, or no longer does. */
  readonly refusedPlace: boolean;
}

/** `cause` must not contain the credentials. Packages keep the whole request in their errors. */
export function providerError(
  reason: FailureReason,
  details: { retryAfterMs?: number | null; refusedPlace?: boolean; cause?: unknown } = {},
): ProviderError {
  const { retryAfterMs = null, refusedPlace = false, cause } = details;
  return Object.assign(new Error(`the CRM could not be read: ${reason}`, { cause }), {
    name: 'ProviderError' as const,
    reason,
    retryAfterMs,
    refusedPlace,
  });
}

/** Whether the error was made by `providerError`. */
export function isProviderError(error: unknown): error is ProviderError {
  return error instanceof Error && error.name === 'ProviderError';
}

/** No CRM puts a connection off for longer. */
const WAIT_MAX_MS = 24 * 3_600_000;

/** For how long HubSpot locks what is being written. */
const LOCK_MS = 2_000;

/**
 * The error for an HTTP status other than 2xx. `waitMs` is for a 429 without a `Retry-After`. A 402
 * is a closed account, a 423 a lock, and HubSpot's 477 an account that is being migrated, for up to
 * a day.
 */
export function errorOfStatus(
  status: number,
  headers: Readonly<Record<string, unknown>>,
  waitMs: number,
): ProviderError {
  const unsaidMs = status === 429 ? waitMs : status === 423 ? LOCK_MS : null;
  const askedMs = readRetryAfter(headers['retry-after']) ?? unsaidMs;
  const retryAfterMs = askedMs && Math.min(askedMs, WAIT_MAX_MS);
  if (status === 401) return providerError('unauthorized');
  if (status === 402 || status === 403) return providerError('forbidden');
  if (status === 423 || status === 429) return providerError('rate_limited', { retryAfterMs });
  if (status === 477 || status >= 500) return providerError('provider_error', { retryAfterMs });
  return providerError('invalid_response', { refusedPlace: status === 400 || status === 410 });
}

/** The error for an exchange that ended without a complete answer. */
export function errorOfNetwork(error: unknown): ProviderError {
  const { code, name, message } = error as { code?: unknown; name?: unknown; message?: unknown };
  const isTimeout = code === 'ECONNABORTED' || code === 'ETIMEDOUT' || name === 'TimeoutError';
  if (isTimeout) return providerError('timeout');
  if (error instanceof SyntaxError) return providerError('invalid_response');
  return providerError('unreachable', { cause: String(message) });
}

/** Seconds, or an HTTP date. */
function readRetryAfter(value: unknown): number | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const text = String(value).trim();
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const at = parseHttpDate(text);
  return at === null ? null : Math.max(at - Date.now(), 0);
}
