import { randomBytes } from 'node:crypto';
import { fromString, toUUID, typeid } from 'typeid-js';
import { v7 } from 'uuid';

/** The kinds of ids that the service makes. The prefix tells a reader the kind. */
const PREFIXES = {
  team: 'team',
  user: 'usr',
  member: 'mem',
  training: 'trn',
  assignment: 'asg',
  case: 'cas',
  crmConnection: 'crm',
  crmDeal: 'deal',
  crmObjection: 'obj',
  catalogRule: 'rule',
  apiKey: 'key',
  webhookEndpoint: 'whe',
  webhookDelivery: 'whd',
  webhookResend: 'whr',
  invitationResend: 'inv',
  event: 'evt',
  job: 'job',
  auditEntry: 'aud',
  sandboxMail: 'mail',
} as const;

export type IdKind = keyof typeof PREFIXES;

/** Makes an id of a prefix and a UUIDv7, so that ids of one kind sort by creation time. */
export function newId(kind: IdKind): string {
  return typeid(PREFIXES[kind]).toString();
}

/**
 * Returns when an id was made by {@link newId}, in milliseconds since 1970: the first 48 bits of a
 * UUIDv7. null: it is not one of ours.
 */
export function madeAtMs(id: string): number | null {
  if (!/^[a-z]+_[0-7][0-9a-hjkmnp-tv-z]{25}$/.test(id)) return null;
  return Number.parseInt(toUUID(fromString(id)).replace('-', '').slice(0, 12), 16);
}

/**
 * Makes a request id, a UUIDv7 without a prefix. Ids that a client sends are not used. It has the
 * time of the clock, which the request log reads from it. Without `msecs`, `v7()` never goes back:
 * after a clock was ahead for a moment, all ids would have that moment. Ids of one millisecond are
 * in no order.
 */
export function newRequestId(): string {
  return v7({ msecs: Date.now() });
}

const SECRET_BYTES = 33;

/**
 * Makes a signing secret for webhooks. It is the key of two schemes: of ours as the whole text, and
 * of Standard Webhooks as the bytes that the text after `whsec_` encodes. Their tools decode it as
 * base64 or base64url, with padding or without. So it has a multiple of three bytes, and none of
 * the characters in which the encodings differ: a quarter of all texts, which costs two bits.
 * Rejected: 32 bytes in 43 characters of base64url. The libraries for Python and Go refuse every
 * such secret for its missing padding, and those for JavaScript three of four for `-` or `_`.
 */
export function makeWebhookSecret(): string {
  for (;;) {
    const text = randomBytes(SECRET_BYTES).toString('base64');
    if (!/[+/]/.test(text)) return `whsec_${text}`;
  }
}
