import type { PageSlice } from '../../core/page.ts';
import { statement, type Db, type Tx } from '../../db/client.ts';
import { forgetKeptDetails } from '../../db/kept-responses.ts';
import { BY_CREATION, isAfter, newestFirst, positionValues } from '../../db/keyset.ts';
import { listed, type LiveMember } from '../../db/rows.ts';
import { lowered } from '../../db/lowered.ts';
import type { AssignableRole } from './rules.ts';

export const SHOWN = [
  'id',
  'user_id',
  'email',
  'role',
  'status',
  'joined_at',
  'created_at',
] as const;
/** SQL: the columns of a `MemberRow`. */
export const COLUMNS = listed(SHOWN);

/** A membership. */
export type MemberRow = LiveMember<(typeof SHOWN)[number]>;

const LIST = statement<MemberRow>(
  'members.list',
  `select ${COLUMNS}
   from member
   where team_id = $1
     and status <> 'ended'
     and ${isAfter(BY_CREATION, ['$3', '$4'])}
   ${newestFirst(BY_CREATION, '$2')}`,
);

/** Lists live members, newest first, from the position `after` on. */
export function listMembers(
  db: Db,
  teamId: string,
  { limit, after }: PageSlice,
): Promise<MemberRow[]> {
  return db.query(LIST, [teamId, limit, ...positionValues(after)]);
}

const FIND = statement<MemberRow>(
  'members.find',
  `select ${COLUMNS}
   from member
   where team_id = $1 and id = $2 and status <> 'ended'`,
);

/** A live member, or null. */
export function findMember(db: Db, teamId: string, memberId: string): Promise<MemberRow | null> {
  return db.queryFirst(FIND, [teamId, memberId]);
}

/** A member to change. */
export interface TargetRow extends MemberRow {
  readonly has_another_admin: boolean;
}

const FIND_TARGET = statement<TargetRow>(
  'members.findTarget',
  `select ${COLUMNS},
     exists (
       select from member o
       where o.team_id = $1 and o.role = 'admin' and o.status = 'active' and o.id <> $2
     ) as has_another_admin
   from member
   where team_id = $1 and id = $2 and status <> 'ended'`,
);

/** A live member, and whether another admin is active; or null. Needs `lockTeam`. */
export function findTarget(tx: Tx, teamId: string, memberId: string): Promise<TargetRow | null> {
  return tx.queryFirst(FIND_TARGET, [teamId, memberId]);
}

// Only admins hold rights. A member who loses the role loses them, and a promotion begins without
// rights.
const UPDATE_ROLE = statement(
  'members.updateRole',
  `update member
   set role = $3, rights = '{}'
   where team_id = $1 and id = $2`,
);

/** Sets the role of a member. */
export function updateRole(tx: Tx, teamId: string, memberId: string, role: AssignableRole): void {
  tx.send(UPDATE_ROLE, [teamId, memberId, role]);
}

const END_MEMBERSHIP = statement(
  'members.end',
  `update member
   set status = 'ended', ended_at = $3
   where team_id = $1 and id = $2`,
);

/** Ends a membership. Its row stays. */
export function endMembership(tx: Tx, teamId: string, memberId: string, at: Date): void {
  tx.send(END_MEMBERSHIP, [teamId, memberId, at]);
}

const FORGET_EMAILS = statement(
  'members.forgetEmails',
  `update member
   set email = null, language = null
   where team_id = $1 and id = any ($2)`,
  { isSearch: true },
);

/**
 * Removes the email and the language that was chosen for the invitation from ended memberships, and
 * the email from the responses that are kept for an `Idempotency-Key`.
 */
export function forgetEmails(tx: Tx, teamId: string, memberIds: readonly string[]): void {
  tx.send(FORGET_EMAILS, [teamId, memberIds]);
  forgetKeptDetails(tx, teamId, memberIds);
}

const FORGET_MAILS = statement(
  'members.forgetMails',
  `delete from sandbox_mail
   where team_id = $1
     and ${lowered('recipient')} in (
       select ${lowered('address')}
       from unnest($2::text[]) address
     )`,
);

/** Removes the mails to these addresses, which only a sandbox keeps. */
export function forgetMails(tx: Tx, teamId: string, addresses: readonly string[]): void {
  tx.send(FORGET_MAILS, [teamId, addresses]);
}
