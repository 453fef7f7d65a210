import { SCHNITTSTELLEN } from '../../core/access.ts';
import type { MemberStatus, Role } from '../../core/actor.ts';
import type { Language } from '../../core/language.ts';
import type { PLANS } from '../../core/plans.ts';
import { statement, type Tx } from '../../db/client.ts';
import { listed, parameters, selectionOf, valuesIn, type RowOf } from '../../db/rows.ts';
import type { TeamStatus } from './rules.ts';

const CHANGEABLE = ['name', 'plan', 'status', 'seats', 'language', 'rate_limit_per_min'] as const;
const CHANGES = selectionOf('Team', CHANGEABLE);

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

/** Writes all fields of a team. */
export async function updateTeam(tx: Tx, team: TeamRow): Promise<void> {
  await tx.prisma.team.updateMany({ where: { id: team.id }, data: CHANGES.toData(team) });
}

/** A live member, of whom one is the owner. */
export interface OwnershipRow {
  readonly id: string;
  readonly role: Role;
  readonly status: MemberStatus;
}

/** The owner and the live member, where there are such. Needs `lockTeam`. */
export function findOwnerAndMember(
  tx: Tx,
  teamId: string,
  memberId: string,
): Promise<OwnershipRow[]> {
  return tx.prisma.member.findMany({
    where: { teamId, status: { not: 'ended' }, OR: [{ role: 'owner' }, { id: memberId }] },
    select: { id: true, role: true, status: true },
  }) as Promise<OwnershipRow[]>;
}

/** Makes the owner an admin without rights. */
export async function makeAdmin(tx: Tx, teamId: string, memberId: string): Promise<void> {
  await tx.prisma.member.updateMany({
    where: { teamId, id: memberId },
    data: { role: 'admin', rights: [] },
  });
}

/** Makes a member the owner. There may be no other owner: a unique index sees to that. */
export async function makeOwner(tx: Tx, teamId: string, memberId: string): Promise<void> {
  await tx.prisma.member.updateMany({
    where: { teamId, id: memberId },
    data: { role: 'owner', rights: [SCHNITTSTELLEN] },
  });
}
