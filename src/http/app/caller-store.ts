import type { Role } from '../../core/actor.ts';
import type { Language } from '../../core/language.ts';
import { statement, type Db } from '../../db/client.ts';

/** An active member with the facts of the team. */
interface MemberRow {
  readonly member_id: string;
  readonly role: Role;
  readonly rights: string[];
  readonly plan: string;
  readonly status: string;
  readonly language: Language;
  readonly rate_limit_per_min: number;
  readonly member_detail_enabled: boolean;
  readonly leaderboard_enabled: boolean;
}

const FIND = statement<MemberRow>(
  'http.findCaller',
  `select m.id as member_id, m.role, m.rights, t.plan, t.status, t.language, t.rate_limit_per_min,
     t.member_detail_enabled, t.leaderboard_enabled
   from member m
   join team t on t.id = m.team_id
   where m.team_id = $1 and m.user_id = $2 and m.status = 'active'`,
);

/** Returns undefined if the person is not an active member of the team. */
export async function findActiveMember(
  db: Db,
  teamId: string,
  userId: string,
): Promise<MemberRow | undefined> {
  const [row] = await db.query(FIND, [teamId, userId]);
  return row;
}
