import type { MemberStatus, Role } from '../../core/actor.ts';
import type { PageSlice } from '../../core/page.ts';
import { statement, type Db, type Tx } from '../../db/client.ts';
import { BY_CREATION, isAfter, newestFirst, positionValues } from '../../db/keyset.ts';
import { assigned, listed, valuesIn, type RowOf } from '../../db/rows.ts';

const ADMIN = ['id', 'email', 'role', 'status', 'rights', 'created_at'] as const;
const ADMIN_COLUMNS = listed(ADMIN);

/** A membership with its rights. */
export interface AdminRow extends RowOf<'Member', (typeof ADMIN)[number]> {
  readonly email: string;
  readonly role: Role;
  readonly status: MemberStatus;
}

const LIST_ADMINS = statement<AdminRow>(
  'team.listAdmins',
  `select ${ADMIN_COLUMNS}
   from member
   where team_id = $1
     and status <> 'ended'
     and role = 'admin'
     and ${isAfter(BY_CREATION, ['$3', '$4'])}
   ${newestFirst(BY_CREATION, '$2')}`,
);

/** Lists live members with the role admin, newest first, from the position `after` on. */
export function listAdmins(
  db: Db,
  teamId: string,
  { limit, after }: PageSlice,
): Promise<AdminRow[]> {
  return db.query(LIST_ADMINS, [teamId, limit, ...positionValues(after)]);
}

const FIND_MEMBER = statement<AdminRow>(
  'team.findMember',
  `select ${ADMIN_COLUMNS}
   from member
   where team_id = $1 and id = $2 and status <> 'ended'`,
);

/** A live member with any role, or null. */
export function findMember(db: Db, teamId: string, memberId: string): Promise<AdminRow | null> {
  return db.queryFirst(FIND_MEMBER, [teamId, memberId]);
}

const SET_RIGHTS = statement(
  'team.setRights',
  'update member set rights = $3 where team_id = $1 and id = $2',
);

/** Replaces the rights of a member. */
export function setRights(
  tx: Tx,
  teamId: string,
  memberId: string,
  rights: readonly string[],
): void {
  tx.send(SET_RIGHTS, [teamId, memberId, rights]);
}

/** The privacy switches as they are set. `core/privacy.ts` decides what follows from them. */
export type Switches = RowOf<'Team', (typeof SWITCHES)[number]>;
const SWITCHES = ['member_detail_enabled', 'leaderboard_enabled'] as const;

const FIND_SWITCHES = statement<Switches>(
  'team.findSwitches',
  `select ${listed(SWITCHES)} from team where id = $1`,
);

/** The team's switches. */
export async function findSwitches(db: Db, teamId: string): Promise<Switches> {
  return onlyRow(await db.query(FIND_SWITCHES, [teamId]));
}

const SET_SWITCHES = statement(
  'team.setSwitches',
  `update team set ${assigned(SWITCHES, 2)} where id = $1`,
);

/** Sets both switches. */
export function setSwitches(tx: Tx, teamId: string, switches: Switches): void {
  tx.send(SET_SWITCHES, [teamId, ...valuesIn(SWITCHES, switches)]);
}

/** Returns the only row of a query for the request's team. */
export function onlyRow<Row>([row]: readonly Row[]): Row {
  if (!row) throw new Error('the team of the request does not exist');
  return row;
}
