import type { Language } from '../../core/language.ts';
import { SANDBOX_END } from '../../core/sandbox.ts';
import { statement, type Db, type Tx } from '../../db/client.ts';
import { holdRow } from '../../db/row-lock.ts';

/** A member to be mailed, with what the mail says. */
export interface RecipientRow {
  readonly team_id: string;
  readonly member_id: string;
  readonly email: string;
  readonly language: Language;
  readonly team_name: string;
  /** Names of the keys that the mail is about. */
  readonly keys: string[];
}

// Each live key of some teams with the member to notify: its creator `c`, or the owner `o` if the
// creator is no admin. Either is looked up in an index of its own. A join by the id of whoever it
// is reads the whole team once for each key.
const ADDRESSEES = `from api_key k
   join team t on t.id = k.team_id
   left join member c on c.team_id = k.team_id
     and c.id = k.created_by
     and c.status = 'active'
     and c.role in ('owner', 'admin')
   left join member o on o.team_id = k.team_id
     and o.role = 'owner'
     and o.status = 'active'
     and c.id is null`;
/** SQL: a column of the member to notify. */
const ofAddressee = (column: string): string => `coalesce(c.${column}, o.${column})`;
const MEMBER_ID = ofAddressee('id');
const IS_ADDRESSED = `t.id = any ($2::text[])
     and (k.revoked_at is null or k.revoked_at > $3)
     and (k.expires_at is null or k.expires_at > $3)
     and t.status <> 'ended'
     and t.id not like '%${SANDBOX_END}'
     and ${ofAddressee('email')} is not null`;

/** Planned with its teams: how many they are decides how their keys are looked up. */
const PLANNED = { isSearch: true } as const;

const LIST = statement<RecipientRow>(
  'announcements.list',
  `select k.team_id, ${MEMBER_ID} as member_id, ${ofAddressee('email')} as email,
     coalesce(c.language, o.language, t.language) as language,
     t.name as team_name, array_agg(k.name order by k.name) as keys
   ${ADDRESSEES}
   where ${IS_ADDRESSED}
     and not exists (
       select from announcement_mail s
       where s.team_id = k.team_id
         and s.announcement = $1
         and s.member_id = ${MEMBER_ID}
     )
   group by 1, 2, 3, 4, 5
   order by 1, 2`,
  PLANNED,
);

/** Some teams, and the time by which a key is live. A team has 50 live keys at most. */
export interface AnnouncedTeams {
  readonly teamIds: readonly string[];
  readonly now: Date;
}

/** The members of these teams who were not mailed yet, by team and member id. */
export function listRecipients(
  db: Db,
  announcement: string,
  { teamIds, now }: AnnouncedTeams,
): Promise<RecipientRow[]> {
  return db.query(LIST, [announcement, teamIds, now]);
}

const COUNT = statement<{ team_id: string; waiting: number; sent: number }>(
  'announcements.count',
  `select k.team_id,
     count(distinct ${MEMBER_ID}) filter (where s.member_id is null)::int as waiting,
     count(distinct s.member_id)::int as sent
   ${ADDRESSEES}
   left join announcement_mail s
     on s.team_id = k.team_id and s.announcement = $1 and s.member_id = ${MEMBER_ID}
   where ${IS_ADDRESSED}
   group by k.team_id
   order by k.team_id`,
  PLANNED,
);

/** For each of these teams with some, how many members are to be mailed, and how many were. */
export function countRecipients(
  db: Db,
  announcement: string,
  { teamIds, now }: AnnouncedTeams,
): Promise<{ team_id: string; waiting: number; sent: number }[]> {
  return db.query(COUNT, [announcement, teamIds, now]);
}

/**
 * Records that the member was mailed, unless the team was erased meanwhile. Not by INSERT … SELECT,
 * for which Citus would lock all shards.
 */
export async function insertSent(
  tx: Tx,
  announcement: string,
  sent: { teamId: string; memberId: string; at: Date },
): Promise<void> {
  const { teamId, memberId, at: sentAt } = sent;
  if (!(await holdRow(tx, 'member', { teamId, id: memberId }))) return;
  await tx.prisma.announcementMail.createMany({
    data: [{ teamId, announcement, memberId, sentAt }],
    skipDuplicates: true,
  });
}
