import { statement, type Tx } from '../../db/client.ts';
import type { RowOf } from '../../db/rows.ts';
import { lowered } from '../../db/lowered.ts';

/** The membership that an invitation created. */
export interface InvitedRow extends RowOf<
  'Member',
  'id' | 'user_id' | 'role' | 'status' | 'joined_at'
> {
  /** Whether the person who accepts has a live membership already, this one or another. */
  readonly is_live_already: boolean;
}

const FIND_INVITED = statement<InvitedRow>(
  'members.findInvited',
  `select id, user_id, role, status, joined_at,
     exists (
       select
       from member o
       where o.team_id = $1 and o.user_id = $4 and o.status <> 'ended'
     ) as is_live_already
   from member
   where team_id = $1
     and (id = $2 or ${lowered('email')} = ${lowered('$3')})
     and status <> 'ended'`,
);

/** The live membership by its id or its email, or null. Needs `lockTeam`. */
export function findInvited(
  tx: Tx,
  teamId: string,
  invitation: {
    readonly memberId: string | null;
    readonly email: string | null;
    readonly userId: string;
  },
): Promise<InvitedRow | null> {
  return tx.queryFirst(FIND_INVITED, [
    teamId,
    invitation.memberId,
    invitation.email,
    invitation.userId,
  ]);
}

/** Makes an invited membership active and links the person. */
export async function activate(
  tx: Tx,
  teamId: string,
  memberId: string,
  { userId, at }: { userId: string; at: Date },
): Promise<void> {
  await tx.prisma.person.createMany({ data: [{ teamId, id: userId }], skipDuplicates: true });
  await tx.prisma.member.updateMany({
    where: { teamId, id: memberId },
    data: { userId, status: 'active', joinedAt: at },
  });
}

/** A membership of a person to delete. */
export interface MembershipRow extends RowOf<
  'Member',
  'id' | 'user_id' | 'role' | 'status' | 'email'
> {
  readonly team_has_ended: boolean;
}

// Each part reads an index of its own. An invitation that has ended has no address. One live
// membership at most has an address: it is looked up, and only then asked whether it is open.
// Otherwise a prepared plan reads all open invitations.
/**
 * Lists the person's memberships of any status, and the open invitations to an email of theirs.
 * Needs `lockTeam`.
 */
export const listMembershipsOfPerson = statement<MembershipRow>(
  'members.listMembershipsOfPerson',
  `with own as (
     select id, user_id, role, status, email, created_at
     from member
     where team_id = $1 and user_id = $2
   ),
   invited as (
     select live.*
     from (select distinct ${lowered('email')} as address from own) a
     cross join lateral (
       select id, user_id, role, status, email, created_at
       from member
       where team_id = $1 and ${lowered('email')} = a.address and status <> 'ended'
       limit 1
     ) live
     where live.user_id is null
   )
   select m.id, m.user_id, m.role, m.status, m.email,
     t.status = 'ended' as team_has_ended
   from (
     select * from own
     union all
     select * from invited
   ) m
   join team t on t.id = $1
   order by m.created_at, m.id`,
).lists<[tx: Tx, teamId: string, userId: string]>();

/**
 * Lists the memberships of any status with one of these addresses, but for the owner's. There are
 * none if the team does not exist or is being erased. Needs `lockTeam`.
 */
export const listByAddresses = statement<Omit<MembershipRow, 'team_has_ended'>>(
  'members.listByAddresses',
  `select m.id, m.user_id, m.role, m.status, m.email
   from member m
   join team t on t.id = m.team_id and t.erasing_since is null
   where m.team_id = $1
     and ${lowered('m.email')} in (
       select ${lowered('address')}
       from unnest($2::text[]) address
     )
     and m.role <> 'owner'
   order by m.created_at, m.id`,
).lists<[tx: Tx, teamId: string, addresses: readonly string[]]>();

/**
 * Removes the hash of what the team was created with, if that was with one of these members: who is
 * as old as the team. Whoever guesses the address could compare it with the hash.
 */
export const forgetCreation = statement(
  'members.forgetCreation',
  `update team t
   set creation_hash = null
   where t.id = $1
     and t.creation_hash is not null
     and exists (
       select
       from member m
       where m.team_id = $1 and m.id = any ($2) and m.created_at = t.created_at
     )`,
  { isSearch: true },
).sends<[tx: Tx, teamId: string, memberIds: readonly string[]]>();
