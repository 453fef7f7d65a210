/**
 * For receivers of webhooks: is this delivery genuine and fresh, and what does it say? This file is what the package exports, and what a receiver without the
 * package may copy: it needs Node and nothing else, so it imports nothing of ours. Its types repeat `core/events.ts`;
 * test/rules/webhook-verification.test.ts fails when the two part.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';

/** What `data` holds, for each type of event. A later version of the API may add fields and types, and does not take any away. */
export interface WebhookEventData {
  'training.completed': {
    team_id: string;
    training_id: string;
    /** Absent while the team's switch `member_detail_enabled` is off, here and below. */
    user_id?: string | null;
    assignment_id: string | null;
    finished_at: string | null;
    duration_s: number | null;
  };
  'evaluation.completed': { team_id: string; training_id: string; user_id?: string | null; score?: number | null };
  'assignment.created': AssignmentData;
  'assignment.completed': AssignmentData;
  'member.joined': MemberData;
  'member.removed': MemberData;
  'crm.sync.failed': { team_id: string; connection_id: string; provider: string; reason: string };
  ping: { team_id: string; endpoint_id: string };
}

export interface AssignmentData {
  team_id: string;
  assignment_id: string;
  status: string;
  title: string | null;
  member_id: string;
  user_id?: string | null;
  due_date: string | null;
  completed_training_id: string | null;
}

export interface MemberData {
  team_id: string;
  member_id: string;
  role: string;
  user_id?: string | null;
}

export type WebhookEventType = keyof WebhookEventData;

/**
 * An event, told apart by `type`. Fields that this version does not know are there, as `unknown`. So are events of types that it does not know, once an endpoint
 * subscribes to one: give a `switch` over `type` a `default` that ignores them.
 */
export type WebhookEvent = {
  [T in WebhookEventType]: {
    /** The same in every attempt: skip an id that you have seen. */
    id: string;
    type: T;
    /** ISO 8601, UTC. */
    created_at: string;
    /** Year and month. */
    api_version: string;
    tenant_id: string;
    data: WebhookEventData[T] & Record<string, unknown>;
  };
}[WebhookEventType];

/** `Headers` of fetch, `headers`, `headersDistinct` or `rawHeaders` of a Node request, a list of pairs, or an object of your own; case does not matter. */
export type WebhookHeaders =
  | Iterable<readonly [string, string]>
  | readonly string[]
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface WebhookVerificationOptions {
  /** How far, in seconds, the delivery's time may be from now, either way: clocks differ. 300 by default. */
  readonly toleranceS?: number;
  /** The present, for tests. */
  readonly now?: Date;
}

/** Stable: code may depend on these words. */
export type WebhookVerificationReason =
  /** There is no `Svc-Signature`. */
  | 'signature_missing'
  /** It is not `t=<unix time>,v1=<hex>`. */
  | 'signature_malformed'
  /** The body, the time or the secret is another one. */
  | 'signature_mismatch'
  /** Genuine, but older than the tolerance: perhaps sent again by somebody who recorded it. */
  | 'timestamp_too_old'
  /** Genuine, but from the future: one of the two clocks is wrong. */
  | 'timestamp_in_future'
  /** Genuine, but no event. */
  | 'body_malformed';

/** The delivery is not to be trusted; answer 400. A class, against our habit, because receivers tell errors apart by `instanceof`. */
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

/**
 * The event, if the delivery is genuine and fresh.
 *
 * `rawBody` is the body as it came, before anything parsed it. `secret` is the endpoint's, `whsec_` included. The signature is compared in constant time, and
 * before anything of the body is believed; of several `v1` one must fit.
 *
 * Throws a {@link WebhookVerificationError}; and a `TypeError` when it was called wrongly (a parsed body, no secret), which no delivery can cause.
 */
export function verifyWebhook(
  rawBody: string | Uint8Array,
  headers: WebhookHeaders,
  secret: string,
  options: WebhookVerificationOptions = {},
): WebhookEvent {
  requireUsable(rawBody, secret);
  const { t, candidates } = parseSignature(findHeaders(headers, SIGNATURE_HEADER));
  const expected = createHmac('sha256', secret).update(`${t}.`).update(rawBody).digest();
  const isGenuine = candidates.some((candidate) => timingSafeEqual(candidate, expected));
  if (!isGenuine) throw new WebhookVerificationError('signature_mismatch');
  requireFresh(Number(t), options);
  return parseEvent(rawBody);
}

/** An HMAC with an empty key is one that anybody can make, so a forgotten setting must not pass for a secret. */
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

function toPairs(headers: WebhookHeaders): (readonly [string, string | readonly string[] | undefined])[] {
  if (!(Symbol.iterator in headers)) return Object.entries(headers);
  const items = [...(headers as Iterable<string | readonly [string, string]>)];
  // `rawHeaders`: names and values take turns.
  return items.flatMap((item, index) => {
    if (typeof item !== 'string') return [item];
    return index % 2 === 0 ? [[item, items[index + 1] as string] as const] : [];
  });
}

/** What is neither `t` nor `v1` is for a later scheme, and ignored. A second `t` is refused: it would be unclear which one was signed. */
function parseSignature(values: readonly string[]): { t: string; candidates: Buffer[] } {
  if (values.length === 0) throw new WebhookVerificationError('signature_missing');
  const parts = values.flatMap((value) => value.split(',')).map((part) => part.trim());
  const times = parts.flatMap((part) => /^t=(\d{1,15})$/.exec(part)?.[1] ?? []);
  const candidates = parts.flatMap((part) => {
    const hex = /^v1=([0-9a-f]{64})$/.exec(part)?.[1];
    return hex === undefined ? [] : [Buffer.from(hex, 'hex')];
  });
  const [t] = times;
  const isClear = times.length === 1 && parts.filter((part) => part.startsWith('t=')).length === 1;
  if (t === undefined || !isClear || candidates.length === 0) throw new WebhookVerificationError('signature_malformed');
  return { t, candidates };
}

/** Whether within the tolerance is asked, not whether beyond it: so NaN, of a bad date for instance, refuses. */
function requireFresh(t: number, { toleranceS = TOLERANCE_S, now = new Date() }: WebhookVerificationOptions): void {
  const ageS = now.getTime() / 1000 - t;
  if (Math.abs(ageS) <= toleranceS) return;
  throw new WebhookVerificationError(ageS < 0 ? 'timestamp_in_future' : 'timestamp_too_old');
}

function parseEvent(rawBody: string | Uint8Array): WebhookEvent {
  const event = parseJson(typeof rawBody === 'string' ? rawBody : new TextDecoder().decode(rawBody));
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
