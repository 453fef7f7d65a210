import { EVENTS, type EventType } from '../core/events.ts';
import { redactEventData, type Privacy } from '../core/privacy.ts';
import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';

/** The parts of a delivery's body. */
export interface EnvelopeParts {
  readonly id: string;
  readonly type: string;
  /** ISO, UTC, milliseconds. */
  readonly createdAt: string;
  readonly apiVersion: string;
  readonly teamId: string;
  /** JSON text. It goes into the body unchanged, so scheduled attempts send the same bytes. */
  readonly data: string;
}

/** Returns the body of a delivery: the envelope with the data of the event. */
export function envelopeText({
  id,
  type,
  createdAt,
  apiVersion,
  teamId,
  data,
}: EnvelopeParts): string {
  const test = type === 'ping' ? readTestData(data) : null;
  const head = JSON.stringify({
    id,
    type: test?.type ?? type,
    created_at: createdAt,
    api_version: apiVersion,
    tenant_id: teamId,
    ...(test && { test: true }),
  });
  return `${head.slice(0, -1)},"data":${test?.data ?? data}}`;
}

/**
 * A secret, ready to sign in both schemes. With the same bytes in a Buffer, Node would make a key
 * anew for each signature, which takes five times as long as the signature.
 */
export interface SigningKey {
  readonly ours: KeyObject;
  readonly standard: KeyObject;
}

export function signingKeyOf(secret: string): SigningKey {
  return {
    ours: createSecretKey(secret, 'utf8'),
    standard: createSecretKey(secret.replace(/^whsec_/, ''), 'base64'),
  };
}

/** What is signed, and with what. */
export interface Signing {
  /** Of the endpoint's secret, and then of earlier ones that are still valid. */
  readonly keys: readonly SigningKey[];
  readonly eventId: string;
  /** The time of the attempt. */
  readonly at: Date;
}

/**
 * Returns the headers of an attempt. It is signed in two schemes, each time with every key.
 *  * Ours, which Stripe's tools verify: the hex HMAC-SHA256 of `<t>.<body>`; the key is the text of
 *    the secret.
 *  * Standard Webhooks: the base64 HMAC-SHA256 of `<id>.<t>.<body>`; the key is the bytes that the
 *    secret encodes.
 */
export function deliveryHeaders(
  body: string,
  { keys, eventId, at }: Signing,
): Record<string, string> {
  const t = Math.floor(at.getTime() / 1000);
  const signed = `${t}.${body}`;
  const v1 = keys.map(({ ours }) => `v1=${hmac(ours, signed, 'hex')}`);
  const standard = keys.map((key) => `v1,${hmac(key.standard, `${eventId}.${signed}`, 'base64')}`);
  return {
    // Some firewalls refuse a request without it.
    accept: '*/*',
    'content-type': 'application/json',
    'user-agent': 'TeamCustomerApi-Webhooks/1',
    'svc-signature': [`t=${t}`, ...v1].join(','),
    'svc-event-id': eventId,
    'webhook-id': eventId,
    'webhook-timestamp': String(t),
    'webhook-signature': standard.join(' '),
  };
}

function hmac(key: KeyObject, text: string, encoding: 'hex' | 'base64'): string {
  return createHmac('sha256', key).update(text).digest(encoding);
}

//  * A test of an endpoint is a `ping` everywhere in this service: in lists, in what pauses an
// endpoint, in what is sent again. Its receiver can get the example of another type instead, marked
// as a test. The event of the `ping` then holds what is sent, so that every attempt sends the same.
interface TestedEvent {
  readonly teamId: string;
  readonly endpointId: string;
  readonly type: EventType;
}

/** The data of an example, as the team's receivers would get it. */
export function exampleData(
  privacy: Privacy,
  type: EventType,
  teamId: string,
): Record<string, unknown> {
  return { team_id: teamId, ...redactEventData(privacy, type, EVENTS[type].example) };
}

/** The stored data of the `ping` that is sent as an event of the type. */
export function testData(privacy: Privacy, { teamId, endpointId, type }: TestedEvent): string {
  const ping = { team_id: teamId, endpoint_id: endpointId };
  if (type === 'ping') return JSON.stringify(ping);
  const sent = JSON.stringify(exampleData(privacy, type, teamId));
  return JSON.stringify({ ...ping, sent_as: type, sent_data: sent });
}

/** What a `ping` with this stored data is sent as; null: as a `ping`. */
export function readTestData(stored: string): { type: string; data: string } | null {
  const { sent_as: type, sent_data: data } = JSON.parse(stored) as Record<string, unknown>;
  return typeof type === 'string' && typeof data === 'string' ? { type, data } : null;
}
