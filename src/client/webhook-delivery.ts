/**
 * What verifying a delivery needs besides an HMAC: the types of events, and reading the headers and
 * the body. Here it has no HMAC, because Node has a synchronous one and browsers have not.
 */

import type { WebhookEventData } from './webhook-events.ts';

export type { WebhookEventData };

/** The data of the assignment events. */
export type AssignmentData = WebhookEventData['assignment.created'];

/** The data of the member events. */
export type MemberData = WebhookEventData['member.joined'];

export type WebhookEventType = keyof WebhookEventData;

/**
 * An event. Narrow it by `type`. Fields that this version does not know are present as `unknown`.
 * An endpoint may also subscribe to types that this version does not know: give a `switch` over
 * `type` a `default` that ignores them.
 */
export type WebhookEvent = {
  [T in WebhookEventType]: {
    /** The same in every attempt. Skip an id that you have seen before. */
    id: string;
    type: T;
    /** ISO 8601, UTC. */
    created_at: string;
    /** Year and month. */
    api_version: string;
    tenant_id: string;
    /** Only in a test: an example, which did not happen. Its ids belong to nothing. */
    test?: true;
    data: WebhookEventData[T] & Record<string, unknown>;
  };
}[WebhookEventType];

/**
 * `Headers` of fetch, `headers`, `headersDistinct` or `rawHeaders` of a Node request, a list of
 * pairs, or a plain object. Names are case-insensitive.
 */
export type WebhookHeaders =
  | Iterable<readonly [string, string]>
  | FetchHeaders
  | readonly string[]
  | Readonly<Record<string, string | readonly string[] | undefined>>;

/** `Headers` of fetch to a compiler whose library does not know that they are iterable. */
interface FetchHeaders {
  forEach(callback: (value: string, name: string) => void): void;
}

export interface WebhookVerificationOptions {
  /** How many seconds the delivery's time may be before or after now. Default: 300. */
  readonly toleranceS?: number;
  /** The current time, for tests. */
  readonly now?: Date;
}

/** These values are stable: your code may depend on them. */
export type WebhookVerificationReason =
  /** `Svc-Signature` is missing. */
  | 'signature_missing'
  /** `Svc-Signature` is not `t=<unix time>,v1=<hex>`. */
  | 'signature_malformed'
  /** The signature does not match the body, the time and the secret. */
  | 'signature_mismatch'
  /** Genuine, but older than the tolerance. It may be a replay of a recorded delivery. */
  | 'timestamp_too_old'
  /** Genuine, but from the future. One of the two clocks is wrong. */
  | 'timestamp_in_future'
  /** Genuine, but the body is not an event. */
  | 'body_malformed';

/** Do not trust the delivery. Respond with 400. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
  readonly reason: WebhookVerificationReason;

  constructor(reason: WebhookVerificationReason) {
    super(MESSAGES[reason]);
    this.reason = reason;
  }
}

const SIGNATURE_HEADER = 'svc-signature';
const TOLERANCE_S = 300;

const MESSAGES: Readonly<Record<WebhookVerificationReason, string>> = {
  signature_missing: 'The delivery has no Svc-Signature.',
  signature_malformed: 'Svc-Signature is not t=<unix time>,v1=<hex>.',
  signature_mismatch: 'The signature does not fit the body and the secret.',
  timestamp_too_old: 'The delivery is too old.',
  timestamp_in_future: 'The delivery is from the future.',
  body_malformed: 'The body is not an event.',
};

/** What a delivery says about itself, not yet verified. */
export interface ClaimedDelivery {
  /** When it was signed, in seconds since 1970. */
  readonly t: string;
  /** In lowercase hex. One must match. */
  readonly candidates: readonly string[];
}

/** Reads the signature. Throws if there is none, and a `TypeError` for a wrong call. */
export function readDelivery(
  rawBody: unknown,
  headers: WebhookHeaders,
  secret: unknown,
): ClaimedDelivery {
  requireUsable(rawBody, secret);
  return parseSignature(findHeaders(headers, SIGNATURE_HEADER));
}

/** Returns the event of a genuine delivery. Throws if it is not fresh, or no event. */
export function acceptDelivery(
  t: string,
  rawBody: string | Uint8Array,
  options: WebhookVerificationOptions,
): WebhookEvent {
  requireFresh(Number(t), options);
  return parseEvent(rawBody);
}

/** An empty secret, for instance of a missing setting, is refused: anybody can sign with it. */
function requireUsable(rawBody: unknown, secret: unknown): void {
  if (typeof rawBody !== 'string' && !(rawBody instanceof Uint8Array))
    throw new TypeError('verifyWebhook needs the raw body, text or bytes, before it is parsed.');
  if (typeof secret !== 'string' || secret === '')
    throw new TypeError('verifyWebhook needs the secret of the endpoint.');
}

function findHeaders(headers: WebhookHeaders, name: string): string[] {
  return toPairs(headers).flatMap(([key, value]) => {
    if (key.toLowerCase() !== name || value === undefined) return [];
    return typeof value === 'string' ? [value] : [...value];
  });
}

function toPairs(
  headers: WebhookHeaders,
): (readonly [string, string | readonly string[] | undefined])[] {
  if (!(Symbol.iterator in headers)) return Object.entries(headers);
  const items = [...(headers as Iterable<string | readonly [string, string]>)];
  // In `rawHeaders`, names and values alternate.
  return items.flatMap((item, index) => {
    if (typeof item !== 'string') return [item];
    return index % 2 === 0 ? [[item, items[index + 1] as string] as const] : [];
  });
}

/**
 * Ignores parts other than `t` and `v1`: a later signature scheme may add some. Refuses a second
 * `t`, because it would be unclear which one was signed.
 */
function parseSignature(values: readonly string[]): { t: string; candidates: string[] } {
  if (values.length === 0) throw new WebhookVerificationError('signature_missing');
  const parts = values.flatMap((value) => value.split(','));
  // Only the spaces that HTTP knows: languages differ about what else is one.
  const times = parts.filter((part) => /^[ \t]*t=/.test(part));
  const t = /^[ \t]*t=(\d{1,15})[ \t]*$/.exec(times[0] ?? '')?.[1];
  const candidates = parts.flatMap(
    (part) => /^[ \t]*v1=([0-9a-f]{64})[ \t]*$/.exec(part)?.[1] ?? [],
  );
  if (t === undefined || times.length > 1 || candidates.length === 0)
    throw new WebhookVerificationError('signature_malformed');
  return { t, candidates };
}

/** The comparison is `<=` so that NaN, for instance from an invalid `now`, is refused. */
function requireFresh(
  t: number,
  { toleranceS = TOLERANCE_S, now = new Date() }: WebhookVerificationOptions,
): void {
  const ageS = now.getTime() / 1000 - t;
  if (Math.abs(ageS) <= toleranceS) return;
  throw new WebhookVerificationError(ageS < 0 ? 'timestamp_in_future' : 'timestamp_too_old');
}

function parseEvent(rawBody: string | Uint8Array): WebhookEvent {
  const event = parseJson(
    typeof rawBody === 'string' ? rawBody : new TextDecoder().decode(rawBody),
  );
  if (
    isObject(event) &&
    typeof event['id'] === 'string' &&
    typeof event['type'] === 'string' &&
    isObject(event['data'])
  )
    return event as WebhookEvent;
  throw new WebhookVerificationError('body_malformed');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
