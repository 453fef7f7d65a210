import type { MemberStatus, Role } from '../../core/actor.ts';
import type { Language } from '../../core/language.ts';
import type { PLANS } from '../../core/plans.ts';
import { statement, type Tx } from '../../db/client.ts';
import { assigned, listed, parameters, valuesIn, type RowOf } from '../../db/rows.ts';
import type { TeamStatus } from './rules.ts';

const CHANGEABLE = ['name', 'plan', 'status', 'seats', 'language', 'rate_limit_per_min'] as const;

/** A team. */
export interface TeamRow extends RowOf<'Team', 'id' | (typeof CHANGEABLE)[number]> {
  readonly plan: (typeof PLANS)[number];
  readonly status: TeamStatus;
  readonly language: Language;
}

const INSERTED = ['id', ...CHANGEABLE, 'creation_hash', 'created_at'] as const;

/** A team to create. `creation_hash` identifies the input of the creation. */
export type NewTeam = TeamRow & RowOf<'Team', (typeof INSERTED)[number]>;

const INSERT = statement<{ id: string }>(
  'teams.insert',
  `insert into team (${listed(INSERTED)})
   values (${parameters(INSERTED, 1)})
   on conflict (id) do nothing
   returning id`,
);

/**
 * Inserts a team. Returns false if it exists. Waits for a concurrent insertion of the same team.
 */
export async function insertTeam(tx: Tx, team: NewTeam): Promise<boolean> {
  return (await tx.query(INSERT, valuesIn(INSERTED, team))).length > 0;
}

/** The first member of a team. */
export interface Owner {
  readonly memberId: string;
  readonly userId: string;
  readonly email: string;
}

// Person and member are one statement, because foreign keys are checked at its end.
const INSERT_OWNER = statement(
  'teams.insertOwner',
  `with person as (insert into person (team_id, id) values ($1, $3))
   insert into member (team_id, id, user_id, email, role, status, rights, joined_at, created_at)
   values ($1, $2, $3, $4, 'owner', 'active', array['schnittstellen'], $5, $5)`,
);

/** Inserts the owner as an active member with the right `schnittstellen`. */
export function insertOwner(
  tx: Tx,
  teamId: string,
  { memberId, userId, email }: Owner,
  at: Date,
): void {
  tx.send(INSERT_OWNER, [teamId, memberId, userId, email, at]);
}

const FIND_CREATION = statement<{ creation_hash: Buffer | null; owner_member_id: string | null }>(
  'teams.findCreation',
  `select creation_hash,
     (
       select m.id
       from member m
       where m.team_id = $1
       order by m.created_at, m.id
       limit 1
     ) as owner_member_id
   from team t
   where t.id = $1`,
);

/**
 * What the team was created with; `hash` is null if it was created in another way. Rows of members
 * are never deleted, so the first member is the owner that the team was created with.
 */
export async function findCreation(
  tx: Tx,
  teamId: string,
): Promise<{ hash: Buffer | null; ownerMemberId: string }> {
  const [row] = await tx.query(FIND_CREATION, [teamId]);
  return { hash: row?.creation_hash ?? null, ownerMemberId: row?.owner_member_id ?? '' };
}

const FIND_FOR_UPDATE = statement<TeamRow>(
  'teams.findForUpdate',
  `select id, ${listed(CHANGEABLE)}
   from team
   where id = $1 and erasing_since is null
   for no key update`,
);

/**
 * The team, or null; null also while it is being erased. Takes the lock that writers of memberships
 * take, so that the number of seats cannot change during an invitation.
 */
export function findTeamForUpdate(tx: Tx, teamId: string): Promise<TeamRow | null> {
  return tx.queryFirst(FIND_FOR_UPDATE, [teamId]);
}

const UPDATE = statement(
  'teams.update',
  `update team
   set ${assigned(CHANGEABLE, 2)}
   where id = $1`,
);

/** Writes all fields of a team. */
export function updateTeam(tx: Tx, team: TeamRow): void {
  tx.send(UPDATE, [team.id, ...valuesIn(CHANGEABLE, team)]);
}

/** A live member, of whom one is the owner. */
export interface OwnershipRow {
  readonly id: string;
  readonly role: Role;
  readonly status: MemberStatus;
}

const FIND_OWNER_AND_MEMBER = statement<OwnershipRow>(
  'teams.findOwnerAndMember',
  `select id, role, status
   from member
   where team_id = $1 and status <> 'ended' and (role = 'owner' or id = $2)`,
);

/** The owner and the live member, where there are such. Needs `lockTeam`. */
export function findOwnerAndMember(
  tx: Tx,
  teamId: string,
  memberId: string,
): Promise<OwnershipRow[]> {
  return tx.query(FIND_OWNER_AND_MEMBER, [teamId, memberId]);
}

const MAKE_ADMIN = statement(
  'teams.makeAdmin',
  `update member
   set role = 'admin', rights = '{}'
   where team_id = $1 and id = $2`,
);

/** Makes the owner an admin without rights. */
export function makeAdmin(tx: Tx, teamId: string, memberId: string): void {
  tx.send(MAKE_ADMIN, [teamId, memberId]);
}

const MAKE_OWNER = statement(
  'teams.makeOwner',
  `update member
   set role = 'owner', rights = array['schnittstellen']
   where team_id = $1 and id = $2`,
);

/** Makes a member the owner. There may be no other owner: a unique index sees to that. */
export function makeOwner(tx: Tx, teamId: string, memberId: string): void {
  tx.send(MAKE_OWNER, [teamId, memberId]);
}
