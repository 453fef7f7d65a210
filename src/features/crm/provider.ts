/**
 * What the synchronization asks of a CRM, whichever it is. A round reads the provider's lists (`lists`) one after the other, page by page; each page names
 * the place after it, so that a round goes on where another process left it.
 */

/** A deal as the CRM has it, in our words. Text is what the CRM gave; money is exact decimal text. */
export interface ProviderDeal {
  readonly externalId: string;
  readonly outcome: 'open' | 'won' | 'lost';
  readonly title: string | null;
  readonly amount: string | null;
  readonly currency: string | null;
  readonly closeDate: string | null;
  /** Per cent. */
  readonly probability: number | null;
  readonly pipelineId: string | null;
  readonly stageId: string | null;
  readonly lostReason: string | null;
  /** The owner in the CRM; see `listOwners`. */
  readonly ownerId: string | null;
  readonly lastActivityAt: string | null;
}

export interface ProviderNote {
  readonly id: string;
  /** The deals (`externalId`) that the note stands at; empty for a deleted note. */
  readonly dealIds: readonly string[];
  /** HTML, as both CRMs keep it. */
  readonly html: string;
}

export interface ProviderPage {
  readonly deals: readonly ProviderDeal[];
  /** Deals (`externalId`) that are no more. */
  readonly deletedDealIds: readonly string[];
  readonly notes: readonly ProviderNote[];
  /** Where the page after this one begins; null after the last. */
  readonly next: string | null;
  /** The latest time of modification on the page, ISO; null where the list does not go by it. */
  readonly modifiedUntil: string | null;
}

export interface PagePlace {
  /** Only what was modified then or later; null: everything. */
  readonly since: string | null;
  /** `next` of the page before; null at the beginning. */
  readonly cursor: string | null;
}

/** A connection to a provider. Every call has a timeout, and throws a `ProviderError`. */
export interface Provider {
  readonly lists: readonly string[];
  /** Reads one entry of each list, which shows whether the credentials suffice. */
  check(): Promise<void>;
  /** The CRM's users: id → email. */
  listOwners(): Promise<ReadonlyMap<string, string>>;
  readPage(list: string, place: PagePlace): Promise<ProviderPage>;
  close(): void;
}

export interface ProviderOptions {
  readonly token: string;
  /** The provider's own address where it is null. */
  readonly baseUrl: string | null;
  readonly timeoutMs: number;
  readonly readsNotes: boolean;
}

/** Why an attempt failed: what `crm.sync.failed` and the admin page tell. */
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
  /** How long the provider asked to wait; null where it did not say. */
  readonly retryAfterMs: number | null;
  /** The place that was asked for is none that the provider knows (any more). */
  readonly refusedPlace: boolean;
}

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

export function isProviderError(error: unknown): error is ProviderError {
  return error instanceof Error && error.name === 'ProviderError';
}

/** What an HTTP status other than 2xx means. `waitMs` is for a 429 that names no time itself. */
export function errorOfStatus(
  status: number,
  headers: Readonly<Record<string, unknown>>,
  waitMs: number,
): ProviderError {
  const retryAfterMs = readRetryAfter(headers['retry-after']);
  if (status === 401) return providerError('unauthorized');
  if (status === 403) return providerError('forbidden');
  if (status === 429) return providerError('rate_limited', { retryAfterMs: retryAfterMs ?? waitMs });
  if (status >= 500) return providerError('provider_error', { retryAfterMs });
  return providerError('invalid_response', { refusedPlace: status === 400 || status === 410 });
}

/** What a failed exchange without an answer means. */
export function errorOfNetwork(error: unknown): ProviderError {
  const { code, name, message } = error as { code?: unknown; name?: unknown; message?: unknown };
  if (code === 'ECONNABORTED' || code === 'ETIMEDOUT' || name === 'TimeoutError') return providerError('timeout');
  if (error instanceof SyntaxError) return providerError('invalid_response');
  // Not the error itself: the packages keep the request in it, with the token.
  return providerError('unreachable', { cause: String(message) });
}

const RETRY_AFTER_MAX_MS = 24 * 3_600_000;

/** Seconds, or an HTTP date. */
function readRetryAfter(value: unknown): number | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const text = String(value).trim();
  const waitMs = /^\d+(\.\d+)?$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(waitMs) ? null : Math.min(Math.max(waitMs, 0), RETRY_AFTER_MAX_MS);
}

/** The text without what Postgres or UTF-8 cannot hold; null for none. */
export function textOf(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string') return null;
  const text = value.replaceAll('\0', '').toWellFormed();
  return text.trim() === '' ? null : text;
}

/** An instant of the database; null for text that is none. */
export function instantOf(value: unknown): string | null {
  const time = typeof value === 'string' && value !== '' ? Date.parse(value) : Number.NaN;
  const iso = Number.isNaN(time) ? '' : new Date(time).toISOString();
  return /^\d{4}-/.test(iso) && !iso.startsWith('0000') ? iso : null;
}

const NUMBER_FORM = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/;

/** A number's text as plain decimal text, digit for digit: never through a float. Null for what is no number. */
export function decimalOf(value: string | null | undefined): string | null {
  const [, sign, whole = '', fraction = '', exponent = '0'] = NUMBER_FORM.exec((value ?? '').trim()) ?? [];
  if (whole === '' && fraction === '') return null;
  const shift = Number(exponent);
  const digits = whole + fraction;
  const point = whole.length + shift;
  const padded = point <= 0 ? '0'.repeat(1 - point) + digits : digits.padEnd(point, '0');
  const split = Math.max(point, 1);
  const decimals = padded.slice(split);
  const units = padded.slice(0, split).replace(/^0+(?=\d)/, '');
  return `${sign === '-' ? '-' : ''}${units}${decimals === '' ? '' : `.${decimals}`}`;
}
