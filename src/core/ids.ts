import { randomBytes } from 'node:crypto';
import { typeid } from 'typeid-js';
import { v7 } from 'uuid';

/** What the service makes ids for, and the prefix that tells the kind to a reader. */
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
  auditEntry: 'aud',
} as const;

export type IdKind = keyof typeof PREFIXES;

/** A new id: prefix and UUIDv7, so ids of one kind sort by the time they were made. */
export function newId(kind: IdKind): string {
  return typeid(PREFIXES[kind]).toString();
}

/** A request id: a bare UUIDv7, always the service's own. */
export function newRequestId(): string {
  return v7();
}

/** A webhook signing secret; the whole text, prefix included, is the HMAC key. */
export function makeWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64url')}`;
}
