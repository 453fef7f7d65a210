import type { Access } from './access.ts';
import type { Scope } from './scopes.ts';

/** Who acts. Procedures check the actor, never the API through which the call came. */
export type Actor = ApiKeyActor | UserActor | PlatformActor;

declare const current: unique symbol;

/**
 * Marks an actor whose role and rights were read under the locks of the change. Only
 * `db/change-context.ts` makes one. Before, the actor is as authentication found it, and may have
 * lost a role, a right or its key while the transaction waited. Nothing is recorded for such a one.
 */
export interface Current {
  readonly [current]: true;
}

/** Who acts, as of now. A decision about roles takes this type, so it cannot be made too early. */
export type CurrentActor = Actor & Current;

/** Who may have acted, as the audit log knows. `system`: the service itself. */
export const ACTOR_KINDS = ['api_key', 'user', 'platform', 'system'] as const;

export const ROLES = ['owner', 'admin', 'member'] as const;
export type Role = (typeof ROLES)[number];

/** A membership that has not ended. */
export const LIVE_STATUSES = ['active', 'invited'] as const;
export const MEMBER_STATUSES = [...LIVE_STATUSES, 'ended'] as const;
export type MemberStatus = (typeof MEMBER_STATUSES)[number];

export interface ApiKeyActor {
  readonly kind: 'api_key';
  readonly id: string;
  readonly scopes: readonly Scope[];
  /**
   * The member who created the key, with the current role and status. Some rights of the key
   * depend on them.
   */
  readonly creator: { readonly id: string; readonly role: Role; readonly status: MemberStatus };
}

/** A member of the team who uses the app. */
export interface UserActor {
  readonly kind: 'user';
  readonly id: string;
  /** Who makes the call. In a sandbox, where `id` is its owner's, a member of the live team. */
  readonly memberId: string;
  readonly role: Role;
  readonly rights: readonly string[];
  /** What the procedure requires of the member; null: no procedure has admitted the call yet. */
  readonly access: Access | null;
}

/** A service of the host application. */
export interface PlatformActor {
  readonly kind: 'platform';
  readonly id: string;
}

/** Jobs of this service that do what the host application could have done. */
export const JOB_ACTORS = {
  crmSync: { kind: 'platform', id: 'crm_sync' },
  invitationExpiry: { kind: 'platform', id: 'invitation_expiry' },
} as const satisfies Record<string, PlatformActor>;

/** The service itself, because it is time. It calls no procedure. */
export interface SystemActor {
  readonly kind: 'system';
  readonly id: string;
}

/**
 * Whether the actor may grant or take away the role `admin`. A key may do so while its creator is
 * an active admin or the owner.
 */
export function mayChangeAdmins(actor: CurrentActor): boolean {
  switch (actor.kind) {
    case 'api_key':
      return actor.creator.status === 'active' && actor.creator.role !== 'member';
    case 'user':
      return actor.role !== 'member';
    case 'platform':
      return true;
  }
}

/** The key, service or member that makes the call. */
export function callerIdOf(actor: Actor): string {
  return actor.kind === 'user' ? actor.memberId : actor.id;
}
