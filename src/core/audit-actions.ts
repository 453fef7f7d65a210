/**
 * Every action that the audit log knows, declared once with the details of its entries. What
 * `record` takes and stores (`db/outbox.ts`) and what the app shows (`features/audit-log`) derive
 * from here.
 *
 * What reveals something about a person is marked in the details (`core/private-fields.ts`). Like
 * the personal fields of an event it is withheld twice: by the privacy switch of the entry's time
 * and by that of now. An action with marks does not load without a decision. Which user a
 * membership has is shown: `GET /users` shows it whatever the switch says. What the person did is
 * not.
 */
import { z } from 'zod';
import { personal, privateFieldsOf, type HasPersonal } from './private-fields.ts';

/** `shows`: these marked parts are shown all the same; the others are withheld. */
type AuditPrivacy = 'redact' | { readonly shows: readonly string[] };

type Details = Readonly<Record<string, z.ZodType>>;

interface Declaration<D extends Details> {
  readonly details?: D;
  /** The shape of the target's id, if that is not an id of this service. */
  readonly target_id?: z.ZodType;
  readonly privacy?: AuditPrivacy;
}

/** The part of a declaration that says what becomes of the marks. */
type PrivacyOf<D extends Details> =
  HasPersonal<z.ZodObject<D>> extends true
    ? { readonly privacy: AuditPrivacy }
    : { readonly privacy?: AuditPrivacy };

/** Throws, while the module loads, unless the declaration decides about everything marked. */
export function auditAction<D extends Details = {}>(declaration: Declaration<D> & PrivacyOf<D>) {
  const { details = {} as D, target_id = z.string(), privacy } = declaration as Declaration<D>;
  const marked = privateFieldsOf(z.object({ ...details, target_id })).map(({ path }) => path);
  const fault = (paths: readonly string[], reason: string): void => {
    if (paths.length > 0) throw new Error(`an audit action ${reason}: ${paths.join(', ')}`);
  };
  if (!privacy) fault(marked, 'has personal parts and needs privacy');
  const shown = !privacy || privacy === 'redact' ? [] : privacy.shows;
  const withheld = marked.filter((path) => !shown.includes(path));
  const idle = shown.filter((path) => !marked.includes(path));
  fault(idle, 'shows what it would not withhold');
  fault(
    withheld.filter((path) => path === 'target_id'),
    'cannot withhold its target, by which entries are searched',
  );
  return {
    details,
    target_id,
    /** The names of what is shown while the details of persons are withheld. */
    open: Object.keys(details).filter(
      (name) => !withheld.some((path) => path === name || path.startsWith(`${name}.`)),
    ),
  };
}

const texts = z.array(z.string());
const userId = personal(z.string());
const noDetails = auditAction({});

export const AUDIT_ACTIONS = {
  'api_key.created': auditAction({
    details: { scopes: texts, expires_at: z.string().nullable(), ip_restricted: z.boolean() },
  }),
  'api_key.revoked': noDetails,
  'api_key.stored': noDetails,
  'api_key.rotated': auditAction({
    details: {
      successor_id: z.string(),
      grace_s: z.int(),
      expires_at: z.string().nullable(),
    },
  }),
  'assignment.created': noDetails,
  'assignment.deleted': noDetails,
  'assignment.updated': auditAction({ details: { fields: texts, status: z.string() } }),
  'case.created': auditAction({
    details: { user_id: userId, private: z.boolean() },
    privacy: 'redact',
  }),
  'case.deleted': noDetails,
  'case.updated': auditAction({ details: { fields: texts } }),
  'catalog.saved': auditAction({ details: { entry_ids: texts } }),
  'crm_connection.connected': auditAction({ details: { provider: z.string() } }),
  'crm_connection.credentials_replaced': auditAction({ details: { provider: z.string() } }),
  'crm_connection.disconnected': auditAction({ details: { provider: z.string() } }),
  'crm_connection.paused': noDetails,
  'crm_connection.resumed': noDetails,
  'crm_connection.sync_failed': auditAction({ details: { reason: z.string() } }),
  'crm_connection.sync_requested': noDetails,
  'evaluation.saved': noDetails,
  'member.accepted': auditAction({
    details: { user_id: userId },
    privacy: { shows: ['user_id'] },
  }),
  'member.invitation_expired': auditAction({ details: { role: z.string() } }),
  'member.invitation_resent': noDetails,
  'member.invitation_withdrawn': auditAction({ details: { role: z.string() } }),
  'member.invited': auditAction({ details: { role: z.string() } }),
  'member.policy_changed': auditAction({ details: { added: texts, removed: texts } }),
  'member.removed': auditAction({ details: { role: z.string() } }),
  'member.role_changed': auditAction({ details: { from: z.string(), to: z.string() } }),
  'person.deleted': auditAction({
    target_id: userId,
    details: { member_ids: texts },
    privacy: { shows: ['target_id'] },
  }),
  'sandbox.created': auditAction({ details: { scenario: z.string() } }),
  'sandbox.played': auditAction({ details: { play: z.string() } }),
  'sandbox.removed': noDetails,
  'sandbox.reset': auditAction({ details: { scenario: z.string() } }),
  'sandbox.updated': auditAction({ details: { speed: z.int() } }),
  'team.created': auditAction({ details: { owner_member_id: z.string() } }),
  'team.erasure_requested': noDetails,
  'team.ownership_transferred': auditAction({ details: { from: z.string().nullable() } }),
  'team.policy_changed': auditAction({ details: { added: texts, removed: texts } }),
  'team.privacy_changed': auditAction({
    details: {
      member_detail_enabled: z.boolean().optional(),
      leaderboard_enabled: z.boolean().optional(),
    },
  }),
  'team.release_changed': auditAction({
    details: { all: z.boolean(), added: texts, removed: texts },
  }),
  'team.right_granted': auditAction({ details: { right: z.string() } }),
  'team.right_withdrawn': auditAction({ details: { right: z.string() } }),
  /** The old and the new values of the fields that were changed. */
  'team.updated': auditAction({
    details: {
      from: z.record(z.string(), z.unknown()),
      to: z.record(z.string(), z.unknown()),
    },
  }),
  'training.aborted': noDetails,
  'training.ended': noDetails,
  'training.started': noDetails,
  'webhook_delivery.retried': noDetails,
  'webhook_endpoint.created': auditAction({ details: { host: z.string(), events: texts } }),
  'webhook_endpoint.deleted': noDetails,
  /** Written by the worker (`features/webhook-endpoints/pause.ts`). */
  'webhook_endpoint.paused': noDetails,
  'webhook_endpoint.resend_cancelled': auditAction({
    details: { resend_id: z.string(), sent: z.int() },
  }),
  'webhook_endpoint.resend_started': auditAction({
    details: {
      resend_id: z.string(),
      since: z.string(),
      until: z.string().nullable(),
      event_type: z.string().nullable(),
      status: z.string().nullable(),
      total: z.int(),
    },
  }),
  'webhook_endpoint.secret_rotated': auditAction({ details: { grace_s: z.int() } }),
  'webhook_endpoint.secret_stored': noDetails,
  'webhook_endpoint.tested': auditAction({ details: { delivery_id: z.string() } }),
  'webhook_endpoint.updated': auditAction({
    details: {
      fields: texts,
      host: z.string().optional(),
      events: texts.optional(),
      status: z.string().optional(),
    },
  }),
} as const;

export type AuditAction = keyof typeof AUDIT_ACTIONS;

type Loose<T> = T extends readonly (infer Item)[] ? readonly Item[] : T;

/**
 * Details as services give them. Each one is given: an optional one may be undefined, but cannot be
 * forgotten. A personal one is always there, because `record` alone withholds it.
 */
type GivenDetails<D extends Details> = {
  readonly [Name in keyof D]: HasPersonal<D[Name]> extends true
    ? Loose<Exclude<z.input<D[Name]>, undefined>>
    : Loose<z.input<D[Name]>>;
};

type DetailsOf<A extends AuditAction> = (typeof AUDIT_ACTIONS)[A]['details'];

/** An entry as services write it: what was done, to what, and the details of it. */
export type NewAuditEntry = {
  [A in AuditAction]: {
    readonly action: A;
    readonly targetId: string;
  } & (keyof DetailsOf<A> extends never
    ? { readonly details?: never }
    : { readonly details: GivenDetails<DetailsOf<A>> });
}[AuditAction];

/**
 * Returns the details of an entry without what is withheld about persons. Only what the action
 * declares is left, so nothing of an action that this version does not know.
 */
export function withholdAuditDetails<T extends object>(name: string, details: T): Partial<T> {
  if (!Object.hasOwn(AUDIT_ACTIONS, name)) return {};
  const { open } = AUDIT_ACTIONS[name as AuditAction];
  return Object.fromEntries(
    Object.entries(details).filter(([field]) => open.includes(field)),
  ) as Partial<T>;
}
