import { randomBytes } from 'node:crypto';
import { typeid } from 'typeid-js';
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
} as const;

export type IdKind = keyof typeof PREFIXES;

/** Makes an id of a prefix and a UUIDv7, so that ids of one kind sort by creation time. */
export function newId(kind: IdKind): string {
  return typeid(PREFIXES[kind]).toString();
}

/** Makes a request id, a UUIDv7 without a prefix. Ids that a client sends are not used. */
export function newRequestId(): string {
  return v7();
}

/** Makes a signing secret for webhooks. The whole text is the HMAC key, including the prefix. */
export function makeWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64url')}`;
}
