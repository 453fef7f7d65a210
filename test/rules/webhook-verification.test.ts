import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import { EVENT_TYPES, EVENTS, type EventType } from '../../src/core/events.ts';
import { deliveryHeaders, envelopeText, signingKeyOf } from '../../src/delivery/envelope.ts';
import { eventExample } from '../../src/http/openapi/webhooks.ts';
import {
  verifyWebhook,
  WebhookVerificationError,
  type WebhookEvent,
  type WebhookEventData,
  type WebhookEventType,
  type WebhookHeaders,
  type WebhookVerificationOptions,
} from '../../src/client/webhook-verification.ts';

const SECRET = 'whsec_YmVpc3BpZWxnZWhlaW1uaXMtMzItYnl0ZXMtbGFuZyE';
const NOW = new Date('2026-11-20T10:00:00.000Z');
const T = NOW.getTime() / 1000;
const BODY = bodyOf('member.joined');
const HEADERS = headersOf(BODY);

/** Makes a body as the worker does. */
function bodyOf(type: EventType): string {
  const data = JSON.stringify({ team_id: 'team_01', ...EVENTS[type].example });
  return envelopeText({
    id: 'evt_01',
    type,
    createdAt: '2026-11-20T09:59:59.000Z',
    apiVersion: '2026-11',
    teamId: 'team_01',
    data,
  });
}

function headersOf(body: string, { secret = SECRET, at = NOW } = {}): Record<string, string> {
  return deliveryHeaders(body, { keys: [signingKeyOf(secret)], eventId: 'evt_01', at });
}

const sign = (t: string, body: string = BODY): string =>
  createHmac('sha256', SECRET).update(`${t}.${body}`).digest('hex');

const V1 = sign(String(T));

function verify(
  {
    body = BODY,
    headers = HEADERS,
    secret = SECRET,
  }: { body?: string | Uint8Array; headers?: WebhookHeaders; secret?: string } = {},
  options: WebhookVerificationOptions = { now: NOW },
): WebhookEvent {
  return verifyWebhook(body, headers, secret, options);
}

/** Returns the reason of the refusal, or `accepted`. Throws every other error. */
function reasonOf(...given: Parameters<typeof verify>): string {
  try {
    verify(...given);
    return 'accepted';
  } catch (error) {
    if (error instanceof WebhookVerificationError) return error.reason;
    throw error;
  }
}

const withSignature = (signature: string): { headers: WebhookHeaders } => ({
  headers: { 'svc-signature': signature },
});

describe('the published types', () => {
  // This is only compiled. The check "types" of `npm test` fails here when core/events.ts and the
  // published types differ.
  /** A text with known values is any text to the service. */
  type Widened<T> = T extends string ? string : T;
  type Plain<O> = { [K in keyof O]-?: Widened<Exclude<O[K], undefined>> };
  type Optional<O> = {
    [K in keyof O]-?: Record<never, never> extends Pick<O, K> ? K : never;
  }[keyof O];
  type Same<A, B> =
    (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;
  type Inner<T extends EventType> = z.output<(typeof EVENTS)[T]['data']>;
  type Agrees<T extends EventType> = [
    Same<Plain<WebhookEventData[T]>, Plain<Inner<T>>>,
    Same<Optional<WebhookEventData[T]>, Optional<Inner<T>>>,
  ];
  /** The event types whose data differs; never if there are none. */
  type Disagreeing = { [T in EventType]: Agrees<T> extends [true, true] ? never : T }[EventType];

  it('agree with the table of events, type by type and field by field', () => {
    const sameTypes: Same<WebhookEventType, EventType> = true;
    const sameData: Same<Disagreeing, never> = true;
    expect([sameTypes, sameData]).toEqual([true, true]);
  });

  it('narrow the data by the type, and allow reading fields of a later version', () => {
    const event = verify();
    if (event.type !== 'member.joined') throw new Error(event.type);
    const role: string = event.data.role;
    const later: unknown = event.data['a_later_field'];
    // @ts-expect-error -- a field of another event type
    const foreign: string = event.data.endpoint_id;
    expect([role, later, foreign]).toEqual(['member', undefined, undefined]);
  });
});

describe('a genuine delivery', () => {
  it.each(EVENT_TYPES)('of %s comes out as the event that was sent', (type) => {
    const body = bodyOf(type);
    const event = verify({ body, headers: headersOf(body) });
    expect(event).toEqual(JSON.parse(body));
    expect(Object.keys(event)).toEqual(Object.keys(eventExample(type)));
    expect(EVENTS[type].data.parse(event.data)).toEqual(event.data);
  });

  it('of an unknown type, or with unknown fields, comes out unchanged', () => {
    const body = '{"id":"evt_1","type":"deal.won","more":1,"data":{"new":[2]}}';
    expect(verify({ body, headers: headersOf(body) })).toEqual({
      id: 'evt_1',
      type: 'deal.won',
      more: 1,
      data: { new: [2] },
    });
  });

  it('is accepted as text, as a Buffer and as plain bytes', () => {
    const body = BODY.replace('"member"', '"Mitglied für Außendienst 🎧"');
    const headers = headersOf(body);
    for (const given of [body, Buffer.from(body), new TextEncoder().encode(body)])
      expect(verify({ body: given, headers })).toEqual(JSON.parse(body));
  });

  it('is checked against the current time unless another one is given', () => {
    expect(verifyWebhook(BODY, headersOf(BODY, { at: new Date() }), SECRET).id).toBe('evt_01');
  });

  const value = HEADERS['svc-signature'] ?? '';
  it.each<[string, WebhookHeaders]>([
    ['Headers', new Headers({ 'Svc-Signature': value })],
    ['a Map', new Map([['Svc-Signature', value]])],
    ['an object in lower case', { 'svc-signature': value, host: 'x' }],
    ['an object in capitals', { HOST: undefined, 'SVC-SIGNATURE': value }],
    ['an object of lists', { 'svc-signature': [value], accept: ['a', 'b'] }],
    [
      'an object without prototype',
      Object.assign(Object.create(null) as Record<string, string>, { 'Svc-Signature': value }),
    ],
    [
      'a list of pairs',
      [
        ['Host', 'x'],
        ['Svc-Signature', value],
      ],
    ],
    ['raw headers', ['Host', 'Svc-Signature', 'Svc-Signature', value]],
  ])('is found in %s', (_name, headers) => {
    expect(verify({ headers }).id).toBe('evt_01');
  });

  it.each([
    ['several v1, of which the first fits', `t=${T},v1=${V1},v1=${'0'.repeat(64)}`],
    ['several v1, of which the last fits', `t=${T},v1=${'0'.repeat(64)},v1=${V1}`],
    ['a v1 before the time', `v1=${V1},t=${T}`],
    ['spaces and tabs around commas', ` t=${T} \t, \tv1=${V1} `],
    ['parts of a later scheme', `t=${T},v0=x,v2=${'f'.repeat(128)},v1=${V1},`],
  ])('may have %s', (_name, signature) => {
    expect(reasonOf(withSignature(signature))).toBe('accepted');
  });
});

describe('a delivery is refused', () => {
  it.each([
    ['with a body that differs in one character', { body: BODY.replace('evt_01', 'evt_02') }],
    [
      'with a body of the same meaning but other bytes',
      { body: JSON.stringify(JSON.parse(BODY), null, 1) },
    ],
    ['with an empty body', { body: '' }],
    ['with a body that goes on', { body: `${BODY}\n` }],
    ['with another endpoint’s secret', { secret: `${SECRET}x` }],
    ['with the secret without its prefix', { secret: SECRET.slice('whsec_'.length) }],
    ['with a time that was not signed', withSignature(`t=${T + 1},v1=${V1}`)],
    ['with a time that is written in another way', withSignature(`t=0${T},v1=${V1}`)],
  ])('%s', (_name, given) => {
    expect(reasonOf(given)).toBe('signature_mismatch');
  });

  it.each([
    [300, 'accepted'],
    [301, 'timestamp_too_old'],
    [10 * 365 * 86_400, 'timestamp_too_old'],
    [-300, 'accepted'],
    [-301, 'timestamp_in_future'],
  ])('when its time is %i s ago: %s', (ageS, reason) => {
    const headers = headersOf(BODY, { at: new Date(NOW.getTime() - ageS * 1000) });
    expect(reasonOf({ headers })).toBe(reason);
  });

  it.each([
    [0, 0, 'accepted'],
    [0, 1, 'timestamp_too_old'],
    [3600, 3600, 'accepted'],
    [3600, 3601, 'timestamp_too_old'],
    [NaN, 0, 'timestamp_too_old'],
    [-1, 0, 'timestamp_too_old'],
  ])(
    'beyond a tolerance of its receiver (%d s, at an age of %i s: %s)',
    (toleranceS, ageS, reason) => {
      expect(reasonOf({}, { toleranceS, now: new Date(NOW.getTime() + ageS * 1000) })).toBe(reason);
    },
  );

  it('when the given time is not a valid date', () => {
    expect(reasonOf({}, { now: new Date(NaN) })).toBe('timestamp_too_old');
  });

  it('as forged when it is both old and forged', () => {
    expect(reasonOf({ secret: 'whsec_other' }, { now: new Date(NOW.getTime() + 1e9) })).toBe(
      'signature_mismatch',
    );
  });

  it.each<[string, WebhookHeaders]>([
    ['no headers', {}],
    ['other headers', { 'svc-event-id': 'evt_01', 'x-svc-signature': 'x' }],
    ['an undefined one', { 'svc-signature': undefined }],
    ['an empty list', { 'svc-signature': [] }],
  ])('without a signature (%s)', (_name, headers) => {
    expect(reasonOf({ headers })).toBe('signature_missing');
  });

  it.each([
    '',
    ',',
    'nonsense',
    `t=${T}`,
    `v1=${V1}`,
    `t=,v1=${V1}`,
    `t=${T}.0,v1=${V1}`,
    `t=-${T},v1=${V1}`,
    `t=+${T},v1=${V1}`,
    `t=0x6a,v1=${V1}`,
    `t=1e9,v1=${V1}`,
    `t=${'9'.repeat(400)},v1=${V1}`,
    `t=${T};v1=${V1}`,
    `T=${T},V1=${V1}`,
    `t=${T},v1=${V1.toUpperCase()}`,
    `t=${T},v1=${V1.slice(1)}`,
    `t=${T},v1=${V1}0`,
    `t=${T},v1="${V1}"`,
    `t=${T},t=${T},v1=${V1}`,
    `t=${T},t=x,v1=${V1}`,
    `t=${T}, \tt=x,v1=${V1}`,
    ...['\n', '\u001C', '\u0085', '\u00A0', '\uFEFF'].map((space) => `t=${T},${space}v1=${V1}`),
  ])('with the malformed signature %j', (signature) => {
    expect(reasonOf(withSignature(signature))).toBe('signature_malformed');
  });

  it('with two signature headers, as a list or joined, because either could be meant', () => {
    const value = HEADERS['svc-signature'] ?? '';
    expect(reasonOf({ headers: { 'svc-signature': [value, value] } })).toBe('signature_malformed');
    expect(
      reasonOf({
        headers: [
          ['Svc-Signature', value],
          ['svc-signature', value],
        ],
      }),
    ).toBe('signature_malformed');
    expect(reasonOf(withSignature(`${value}, ${value}`))).toBe('signature_malformed');
  });

  it.each([
    'null',
    '[]',
    '1',
    '"evt_01"',
    '{}',
    '{"id":1,"type":"ping","data":{}}',
    '{"id":"e","type":"ping","data":null}',
    '{"id":',
    '\uFEFF{}',
  ])('with the signed body %s, which is no event', (body) => {
    expect(reasonOf({ body, headers: headersOf(body) })).toBe('body_malformed');
  });

  it('when any single bit of the body, signature, time or secret differs', () => {
    const bytes = Buffer.from(BODY);
    const signature = Buffer.from(HEADERS['svc-signature'] ?? '');
    const secret = Buffer.from(SECRET);
    const place = fc.tuple(
      fc.constantFrom('body' as const, 'signature' as const, 'secret' as const),
      fc.nat(),
      fc.nat(7),
    );
    const refuses = ([part, offset, bit]: [
      'body' | 'signature' | 'secret',
      number,
      number,
    ]): void => {
      const flipped = flip({ body: bytes, signature, secret }[part], offset, bit);
      const given = {
        body: { body: flipped },
        // Each character of a header is one byte.
        signature: withSignature(flipped.toString('latin1')),
        secret: { secret: flipped.toString('latin1') },
      }[part];
      expect(reasonOf(given)).toMatch(/^signature_m/);
    };
    fc.assert(fc.property(place, refuses), { numRuns: 2_000 });
    // The signature is short, so every bit is tried.
    for (let bit = 0; bit < signature.length * 8; bit += 1)
      refuses(['signature', bit >> 3, bit & 7]);
  });

  it('for any signature, with a reason and no other error', () => {
    const signatures = fc.oneof(
      fc.string(),
      fc.string().map((text) => `t=${T},v1=${text}`),
      fc.string().map((text) => `t=${text},v1=${V1}`),
    );
    const reasons = new Set<string>();
    fc.assert(
      fc.property(signatures, (signature) => void reasons.add(reasonOf(withSignature(signature)))),
    );
    expect([...reasons].filter((reason) => !reason.startsWith('signature_'))).toEqual([]);
  });
});

describe('a wrong call', () => {
  it.each([undefined, null, '', 7])(
    'without a secret (%j) is a TypeError, not a delivery that anybody could sign',
    (secret) => {
      const forged = headersOf(BODY, { secret: '' });
      expect(() => verifyWebhook(BODY, forged, secret as string, { now: NOW })).toThrow(TypeError);
    },
  );

  it('with a parsed body is a TypeError that says so', () => {
    expect(() => verifyWebhook(JSON.parse(BODY) as string, HEADERS, SECRET, { now: NOW })).toThrow(
      /raw body/,
    );
  });
});

function flip(bytes: Buffer, offset: number, bit: number): Buffer {
  const flipped = Buffer.from(bytes);
  const index = offset % bytes.length;
  flipped.writeUInt8(bytes.readUInt8(index) ^ (1 << bit), index);
  return flipped;
}
